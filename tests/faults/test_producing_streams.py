"""
The producer against the emulator, over HTTP, while its stream is recreated, listed late, or distributes its records.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kinesis_core import KinesisError, Producer, ProducerSettings, PutError, Stream
from kinesis_core.aggregation import unpack
from kinesis_core.errors import UnavailableError
from kinesis_core.producing.shard_map import hash_of
from kinesis_credentials import StaticKeys
from kinesis_emulator import Emulator, Limits, Settings
from support.waiting import PATIENCE_S, wait_until

KEYS = StaticKeys("AKIAEXAMPLE", "example-secret")
ROWS = 3_000
NEVER_S = 1000.0
"""Longer than pytest lets a test run."""


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    with Emulator(settings=Settings(limits=Limits.unlimited())) as emulator:
        yield emulator


def open_producer(emulator: Emulator, **settings: Any) -> Producer:
    return Producer.open(
        "orders",
        region="us-east-1",
        endpoint_url=emulator.endpoint_url,
        credentials=KEYS,
        settings=ProducerSettings(**{"record_ttl_s": NEVER_S, **settings}),
    )


def stream_client(emulator: Emulator) -> Stream:
    return Stream.open("orders", region="us-east-1", endpoint_url=emulator.endpoint_url, credentials=KEYS)


def put(producer: Producer, start: int, stop: int, *, has_keys: bool = True) -> None:
    numbers = range(start, stop)
    keys = [f"key-{number}" for number in numbers]
    producer.put_columns([b"%d" % number for number in numbers], keys if has_keys else None)


def payloads(start: int, stop: int) -> Counter[bytes]:
    return Counter(b"%d" % number for number in range(start, stop))


def copies(emulator: Emulator) -> Counter[bytes]:
    return Counter(record.data for record in stream_client(emulator).read("TRIM_HORIZON").records())


def copies_for_the_kcl(emulator: Emulator) -> Counter[bytes]:
    """Return the user records in plain records, and in aggregates whose shard owns all their keys."""
    shards = {shard.shard_id: shard for shard in stream_client(emulator).shards()}
    found: Counter[bytes] = Counter()
    for record in emulator.records("orders"):
        aggregate, shard = unpack(record.data), shards[record.shard_id]
        if aggregate is None:
            found[record.data] += 1
        elif all(
            shard.hash_start <= hash_of(key or "") <= shard.hash_end for key in aggregate.partition_keys
        ):
            found.update(aggregate.data)
    return found


def aggregates(emulator: Emulator) -> int:
    return sum(unpack(record.data) is not None for record in emulator.records("orders"))


# Listings


def test_a_producer_opened_while_children_are_not_listed(emulator: Emulator) -> None:
    """
    A producer waits for the listing of the children: no aggregate mixes their rows with others, and the KCL delivers
    every row.
    """
    emulator.create_stream("orders", shards=2)
    emulator.settings.hide_children_s = 1.5
    emulator.split("orders", emulator.shard_ids("orders")[0])
    with open_producer(emulator) as producer:
        put(producer, 0, ROWS)
        assert producer.flush().misplaced == 0
    assert copies_for_the_kcl(emulator) == payloads(0, ROWS)


def test_a_split_whose_children_are_not_listed_yet(emulator: Emulator) -> None:
    """Rows wait until the listing covers all hash keys. No row is dropped."""
    emulator.create_stream("orders", shards=2)
    emulator.settings.hide_children_s = 1.5
    with open_producer(emulator, aggregation_max_size=1_000) as producer:
        put(producer, 0, 500)
        emulator.split("orders", emulator.shard_ids("orders")[0])
        put(producer, 500, ROWS)
        producer.flush()
    assert copies_for_the_kcl(emulator) == payloads(0, ROWS)


def test_children_that_are_never_listed(emulator: Emulator) -> None:
    """Opening is an error that names the stream and the missing hash keys. Writing is an error that counts its rows."""
    emulator.create_stream("orders", shards=1)
    with open_producer(emulator, record_ttl_s=2.0) as producer:
        emulator.settings.hide_children_s = 1e6
        emulator.split("orders", emulator.shard_ids("orders")[0])
        with pytest.raises(PutError) as caught:  # noqa: PT012 # a busy machine may be late with the first call
            put(producer, 0, 100)
            producer.flush()
    assert sum(caught.value.counts.values()) == 100
    with pytest.raises(UnavailableError, match=f"of stream orders for the hash keys 0 to {2**128 - 1}[.]"):
        open_producer(emulator, record_ttl_s=0.5)


# Deleted and recreated


def test_a_stream_recreated_under_an_idle_producer(emulator: Emulator) -> None:
    """A producer may outlive its stream: it routes the next rows by the new shards."""
    emulator.create_stream("orders", shards=2)
    with open_producer(emulator) as producer:
        put(producer, 0, 10)
        producer.flush()
        for shards in (3, 5, 2):
            emulator.delete_stream("orders")
            emulator.create_stream("orders", shards=shards)
            put(producer, 0, ROWS)
            totals = producer.flush()
            assert (totals.user_records, totals.misplaced) == (ROWS, 0)
            assert copies_for_the_kcl(emulator) == payloads(0, ROWS)
    assert (
        emulator.calls.count("DescribeStreamSummary") <= 1 + 2 * 3
    )  # each copies_for_the_kcl opens a stream


def test_a_stream_recreated_under_a_busy_producer(emulator: Emulator) -> None:
    """If the stream is recreated between two of many flushes, the KCL delivers every row flushed later once."""
    emulator.create_stream("orders", shards=2)
    with open_producer(emulator, aggregation_max_size=500) as producer:
        for start in range(0, 5_000, 250):
            if start == 1_000:
                emulator.delete_stream("orders")
                emulator.create_stream("orders", shards=3)
            put(producer, start, start + 250)
            producer.flush()
    assert copies_for_the_kcl(emulator) == payloads(1_000, 5_000)


def test_a_stream_recreated_before_a_flush(emulator: Emulator) -> None:
    """If the stream is recreated after a write and before its flush, the flush is an error that counts the rows."""
    emulator.create_stream("orders", shards=2)
    with open_producer(emulator, aggregation_max_size=500, record_max_buffered_time_s=0.01) as producer:
        put(producer, 0, 500)
        wait_until(lambda: sum(copies_for_the_kcl(emulator).values()) == 500)
        emulator.delete_stream("orders")
        emulator.create_stream("orders", shards=7)
        # A put fails as well, if the first rows were refused before the last ones are taken.
        with pytest.raises(PutError, match="deleted and recreated") as caught:  # noqa: PT012
            put(producer, 500, ROWS)
            producer.flush()
    assert caught.value.counts.keys() == {"StreamRecreated"}


def test_a_stream_that_is_deleted_before_rows_are_sent(emulator: Emulator) -> None:
    """Rows for a deleted stream fail at once, before their deadline."""
    emulator.create_stream("orders", shards=2)
    with open_producer(emulator, record_max_buffered_time_s=NEVER_S, record_ttl_s=4 * NEVER_S) as producer:
        put(producer, 0, 10)
        emulator.delete_stream("orders")
        with pytest.raises(PutError, match="ResourceNotFoundException 10"):
            producer.flush()


# Records that Kinesis distributes


@pytest.mark.parametrize("enabled", [True, False])
def test_a_stream_that_distributes_its_records(emulator: Emulator, enabled: bool) -> None:
    """Each row becomes a plain record, with or without a key, in any shard. A reader gets all rows unchanged."""
    emulator.create_stream("orders", shards=4, strategy="AUTO")
    with open_producer(emulator, aggregation_enabled=enabled) as producer:
        put(producer, 0, ROWS)
        put(producer, ROWS, 2 * ROWS, has_keys=False)
        totals = producer.flush()
    assert (totals.user_records, totals.records, totals.misplaced) == (2 * ROWS, 2 * ROWS, 0)
    assert copies(emulator) == payloads(0, 2 * ROWS)
    found = list(stream_client(emulator).read("TRIM_HORIZON").records())
    assert {record.data: record.partition_key for record in found} == {
        b"%d" % number: f"key-{number}" if number < ROWS else None for number in range(2 * ROWS)
    }
    sizes = Counter(record.shard_id for record in emulator.records("orders"))
    assert sorted(sizes.values()) == [2 * ROWS // 4] * 4


def in_threads(work: Callable[[int], object], count: int) -> list[KinesisError]:
    errors: list[KinesisError] = []

    def run(number: int) -> None:
        try:
            work(number)
        except KinesisError as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
    return errors


def test_the_strategy_is_switched_on_and_off_under_a_producer(emulator: Emulator) -> None:
    """
    The KCL delivers every row, and only rows in flight at a switch are repeated. Aggregates are written before the
    first switch and after each switch back.
    """
    emulator.create_stream("orders", shards=4, strategy="USER_PARTITION_KEY")
    flips = [("AUTO", 20), ("USER_PARTITION_KEY", 40), ("AUTO", 60), ("USER_PARTITION_KEY", 80)]
    misplaced = 0
    counts: list[int] = []
    with open_producer(emulator, aggregation_max_size=500, max_connections=2) as producer:
        for number in range(100):
            for strategy, when in flips:
                if number == when:
                    counts.append(aggregates(emulator))
                    emulator.distribute("orders", strategy)  # type: ignore[arg-type] # one of the two strategies
            put(producer, number * 50, number * 50 + 50, has_keys=number % 3 > 0)
            misplaced += producer.flush().misplaced
    assert set(copies_for_the_kcl(emulator)) == set(payloads(0, 5_000))
    found = copies(emulator)
    assert set(found) == set(payloads(0, 5_000))
    assert sum(found.values()) - 5_000 == misplaced <= 4 * 50
    assert max(found.values()) <= 3
    assert counts[0] > 0
    assert aggregates(emulator) > counts[-1]


def test_a_switch_under_many_writers(emulator: Emulator) -> None:
    """Threads share a producer while the strategy is switched: nothing is lost, and no flush blocks."""
    emulator.create_stream("orders", shards=4, strategy="USER_PARTITION_KEY")
    producer = open_producer(emulator, aggregation_max_size=500)

    def work(number: int) -> None:
        for start in range(number * 1_000, number * 1_000 + 1_000, 100):
            put(producer, start, start + 100, has_keys=number % 2 > 0)
            producer.flush()
            if number == 0 and start in (300, 600):
                emulator.distribute("orders", "AUTO" if start == 300 else "USER_PARTITION_KEY")

    assert in_threads(work, 4) == []
    producer.close()
    assert set(copies_for_the_kcl(emulator)) == set(payloads(0, 4_000))
    assert sum(copies(emulator).values()) - 4_000 < 4_000


def test_a_switch_while_rows_wait(emulator: Emulator) -> None:
    """Rows put before a switch and sent after it are written as the new strategy requires. A flush does not wait for more rows."""
    emulator.create_stream("orders", shards=4, strategy="AUTO")
    with open_producer(emulator, record_max_buffered_time_s=NEVER_S, record_ttl_s=4 * NEVER_S) as producer:
        put(producer, 0, 400, has_keys=False)
        emulator.distribute("orders", "USER_PARTITION_KEY")
        assert producer.flush().user_records == 400
    assert copies_for_the_kcl(emulator) == payloads(0, 400)
    assert all(record.partition_key for record in emulator.records("orders"))
