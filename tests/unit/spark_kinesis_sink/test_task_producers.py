"""How the tasks of one worker share producers."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest

from kinesis_core import Producer
from kinesis_core.aws import StreamRef, find_session
from kinesis_core.errors import InvalidRecordError, PutError
from kinesis_core.producing import SenderGroup
from spark_kinesis_sink import task_producers
from spark_kinesis_sink.columns import Columns
from spark_kinesis_sink.options import SinkOptions
from spark_kinesis_sink.rows import Block, blocks_of_rows
from spark_kinesis_sink.task import check_written, put_blocks
from spark_kinesis_sink.task_producers import MOST_POOLS, ProducerPool, TaskProducers
from support.fake_puts import FakePuts
from support.fake_stream import FakeClock

ORDERS = StreamRef("orders")
ONE = SinkOptions.parse({"streamName": "orders", "region": "eu-west-1"})
MANY = SinkOptions.parse({"region": "eu-west-1"})
ROUTED = Columns(data=0, stream_name=1)


def block(*data: bytes) -> list[Block]:
    return list(blocks_of_rows([(payload,) for payload in data], Columns(0)))


class Worker:
    """A Python worker of Spark, which runs one task after another."""

    def __init__(self, made: Any, options: SinkOptions = ONE) -> None:
        self.made = made
        self.options = options
        self.idle: dict[Any, Any] = {}

    def run(self, blocks: list[Block]) -> int:
        """Run a task, and return the number of user records that it wrote."""
        with TaskProducers(self.options, self.made.open, self.idle) as producers:
            rows = put_blocks(blocks, producers, self.options.stream)
            check_written(rows, totals := producers.flush())
            return totals.user_records


def test_one_producer_for_all_tasks(made: Any) -> None:
    """Consecutive tasks of a worker share a producer. Each counts only its own records."""
    worker = Worker(made)
    assert [worker.run(block(b"1", b"2")), worker.run(block(b"3")), worker.run([])] == [2, 1, 0]
    [producer] = made.producers
    assert [data for data, _, _ in producer.put] == [b"1", b"2", b"3"]
    assert producer.state == "open"


def test_other_options(made: Any) -> None:
    """Tasks with other options use another producer."""
    worker = Worker(made)
    worker.run(block(b"1"))
    worker.options = SinkOptions.parse({"streamName": "orders", "region": "eu-west-1", "recordTtlMs": "1000"})
    worker.run(block(b"2"))
    assert len(made.producers) == 2


def test_other_keys(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task uses the keys of its own environment, not those of the task before it."""
    worker = Worker(made)
    for key_id in ("AKIAFIRST", "AKIAFIRST", "AKIASECOND"):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key_id)
        worker.run(block(b"1"))
    assert [len(producer.put) for producer in made.producers] == [2, 1]


@pytest.mark.parametrize(("data", "error"), [(b"bad", InvalidRecordError), (b"unwritable", PutError)])
def test_failed_task(made: Any, data: bytes, error: type[Exception]) -> None:
    """The producer of a failed task is aborted, and not used again."""
    worker = Worker(made)
    with pytest.raises(error):
        worker.run([*block(b"1"), *block(data)])
    assert [producer.state for producer in made.producers] == ["aborted"]
    assert worker.run(block(b"1")) == 1
    assert [producer.state for producer in made.producers] == ["aborted", "open"]


def test_unconfirmed_rows(made: Any) -> None:
    """A task fails if its producers count fewer rows than it put: the batch must not be committed."""
    with pytest.raises(PutError, match="put 3 rows, but 2 are confirmed as written") as caught:
        Worker(made).run([*block(b"1", b"2"), *block(b"forgotten")])
    assert caught.value.counts == {"Unaccounted": 1}


def test_which_row(made: Any) -> None:
    """The error for a bad row has its index in the task, whatever block and stream the row is in."""
    rows = [(b"1", "a"), (b"2", "b"), (b"3", "a"), (b"bad", "b")]
    with pytest.raises(
        InvalidRecordError, match=r"It is row 3 of the task, counted from 0\. \[stream=b\]$"
    ) as caught:
        Worker(made, MANY).run(list(blocks_of_rows(rows, ROUTED)))
    assert caught.value.row == 3


def test_by_stream(made: Any) -> None:
    """Each stream that rows name has a producer, which gets the rows in order."""
    rows = [(b"1", "a"), (b"2", "b"), (b"3", "a")]
    assert Worker(made, MANY).run(list(blocks_of_rows(rows, ROUTED))) == 3
    assert [data for data, _, _ in made.by_stream("a")[0].put] == [b"1", b"3"]
    assert [data for data, _, _ in made.by_stream("b")[0].put] == [b"2"]


def rows_of(names: list[str], times: int = 1) -> list[Block]:
    """Return blocks, in each of which every stream has a row."""
    rows = [(name.encode(), name) for name in names]
    return [found for _ in range(times) for found in blocks_of_rows(rows, ROUTED)]


def test_many_streams(made: Any) -> None:
    """Each of 200 streams is opened once in a worker, however rows of different streams are mixed."""
    names = [f"stream-{number}" for number in range(200)]
    worker = Worker(made, MANY)
    assert worker.run(rows_of(names, 20)) == 20 * len(names)
    assert worker.run(rows_of(names[::-1], 2)) == 2 * len(names)
    assert [producer.stream.name for producer in made.producers] == names
    assert all(len(producer.put) == producer.sealed == 22 for producer in made.producers)
    assert len(set(map(id, made.groups))) == 1


def test_more_streams_than_producers(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows may name any number of streams. The number of producers is bounded, and nothing is lost."""
    monkeypatch.setattr(task_producers, "MOST_STREAMS", 16)
    names = [f"stream-{number}" for number in range(48)]
    worker = Worker(made, MANY)
    assert worker.run(rows_of(names, 2)) == 2 * len(names)
    for name in names:
        put = [data for producer in made.by_stream(name) for data, _, _ in producer.put]
        assert put == [name.encode()] * 2
    assert Counter(producer.state for producer in made.producers) == {"open": 16, "closed": 80}


def test_more_pools_than_are_kept(made: Any) -> None:
    """A worker keeps the producers of the options that were used last."""
    worker = Worker(made)
    for ttl_ms in range(1_000, 1_000 + MOST_POOLS + 1):
        worker.options = SinkOptions.parse(
            {"streamName": "orders", "region": "eu-west-1", "recordTtlMs": str(ttl_ms)}
        )
        worker.run(block(b"1"))
    assert [producer.state for producer in made.producers] == ["closed", *["open"] * MOST_POOLS]


def test_a_failed_stream(made: Any) -> None:
    """A task of many streams fails if one of them does. Its producers are aborted, and the next task opens others."""
    worker = Worker(made, MANY)
    rows = [(b"1", "a"), (b"unwritable", "b"), (b"2", "c")]
    with pytest.raises(PutError):
        worker.run(list(blocks_of_rows(rows, ROUTED)))
    assert {producer.state for producer in made.producers} == {"aborted"}
    assert worker.run(rows_of(["a", "b", "c"])) == 3
    assert len(made.producers) == 6


def sending_threads() -> int:
    return sum(thread.name == "kinesis-put" for thread in threading.enumerate())


def test_shared_threads() -> None:
    """100 streams have the threads of one. Each is described once, and its listings do not grow with the rows."""
    streams: dict[str, FakePuts] = {}

    def open_fake(options: SinkOptions, stream: StreamRef, group: SenderGroup) -> Producer:
        puts = streams[stream.name] = FakePuts().create(2)
        return Producer(puts, options.producer, group=group, clock=clock)

    before = sending_threads()
    names = [f"stream-{number}" for number in range(100)]
    clock = FakeClock()  # the pauses between descriptions are not real
    idle: dict[Any, Any] = {(find_session(MANY.connection), MANY): ProducerPool(SenderGroup(8, clock))}
    for _ in range(2):
        with TaskProducers(MANY, open_fake, idle) as producers:
            rows = put_blocks(rows_of(names, 30), producers, None)
            assert sending_threads() - before <= MANY.producer.max_connections
            check_written(rows, producers.flush())
    assert {puts.descriptions for puts in streams.values()} == {1}
    listings = [puts.listings for puts in streams.values()]
    assert max(listings) <= 3, "when it is opened, after a silence of 5 s, and in the second task"
    assert sum(sum(puts.copies().values()) for puts in streams.values()) == 6_000
    for pool in idle.values():
        pool.close()
    assert sending_threads() == before
