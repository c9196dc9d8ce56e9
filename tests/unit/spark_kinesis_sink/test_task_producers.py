"""How the tasks of one worker share producers."""

from __future__ import annotations

from typing import Any

import pytest

from kinesis_core.aws import StreamRef
from kinesis_core.errors import InvalidRecordError, PutError
from kinesis_core.producing import ProducerSettings
from spark_kinesis_sink.columns import Columns
from spark_kinesis_sink.options import SinkOptions
from spark_kinesis_sink.rows import Block, blocks_of_rows
from spark_kinesis_sink.task import check_written, put_blocks
from spark_kinesis_sink.task_producers import MOST_OPEN, TaskProducers

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


def test_more_streams_than_producers(made: Any) -> None:
    """Rows may name any number of streams. The number of open producers is bounded, and nothing is lost."""
    names = [f"stream-{number}" for number in range(3 * MOST_OPEN)]
    rows = [(name.encode(), name) for name in names] * 2
    blocks = [*blocks_of_rows(rows[: len(names)], ROUTED), *blocks_of_rows(rows[len(names) :], ROUTED)]
    worker = Worker(made, MANY)
    assert worker.run(blocks) == len(rows)
    for name in names:
        put = [data for producer in made.by_stream(name) for data, _, _ in producer.put]
        assert put == [name.encode()] * 2
    assert len(worker.idle) == MOST_OPEN
    assert sum(producer.state == "open" for producer in made.producers) == MOST_OPEN


def test_shared_memory() -> None:
    """Producers have small buffers if a task may have many of them."""
    assert ONE.producer.buffer_bytes == ProducerSettings().buffer_bytes
    assert MANY.producer.buffer_bytes * MOST_OPEN <= 2 * ONE.producer.buffer_bytes
