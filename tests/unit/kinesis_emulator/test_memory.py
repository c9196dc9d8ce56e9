"""Expired records leave nothing in memory, so that an emulator can run for any time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from kinesis_emulator import Emulator, EmulatorProcess, Limits, ManualClock, Settings
from kinesis_emulator.records import RecordLog, write_record

DAY_S = 24 * 3600


@pytest.fixture
def emulator(clock: ManualClock) -> Iterator[Emulator]:
    """Yield an emulator that frees expired records, like the command."""
    settings = Settings(limits=Limits.unlimited(), keep_trimmed=False)
    with Emulator(settings=settings, clock=clock) as running:
        running.create_stream("orders")
        yield running


def size_of(log: RecordLog) -> int:
    """Return the bytes of all that the log holds."""
    lists = [held for held in vars(log).values() if isinstance(held, list)]
    return sum(sys.getsizeof(held) + sum(map(sys.getsizeof, held)) for held in lists)


def test_nothing_remains_of_freed_records() -> None:
    """A log that always has the newest 100 records is as big after 50,000 records as after 500."""
    log, sizes = RecordLog(), []
    record = write_record("1", 1, "dGVh", "key")
    for number in range(50_000):
        log.append(record, 3, arrived_ms=1_700_000_000_000 + number)
        log.free(log.end - 100)
        log.fragments(log.end - 1, log.end, "cbor")
        if number in {499, 49_999}:
            sizes.append(size_of(log))
    assert sizes[1] <= sizes[0]
    assert (log.first, log.end) == (49_900, 50_000)


def test_indexes_and_bytes_survive_freeing() -> None:
    """Indexes, times and bytes of the records that are left do not change."""
    whole, freed = RecordLog(), RecordLog()
    for log in (whole, freed):
        for number in range(10):
            log.append(("json", b"x" * number), number, arrived_ms=1000 * number)
    freed.free(4)
    assert [freed.fragments(index, 10) for index in range(4, 10)] == [
        whole.fragments(index, 10) for index in range(4, 10)
    ]
    assert freed.data_bytes(5, 9) == whole.data_bytes(5, 9) == 5 + 6 + 7 + 8
    assert freed.index_at_time(6500) == whole.index_at_time(6500) == 7
    assert freed.index_after_bytes(4, 9) == whole.index_after_bytes(4, 9) == 6
    assert (freed.fragment(3), freed.peak_ms(3), freed.index_at_time(0)) == (None, 0, 4)


def test_an_emptied_log_continues() -> None:
    """When all records were freed, the next one gets the next index, and peak times still increase."""
    log = RecordLog()
    log.append(("json", b"1"), 1, arrived_ms=5000)
    log.free(7)
    assert (log.first, log.end, log.data_bytes(1, 1)) == (1, 1, 0)
    log.append(("json", b"2"), 1, arrived_ms=4000)
    assert (log.fragments(1, 2), log.data_bytes(1, 2), log.peak_ms(1)) == ([b"2"], 1, 5000)


def test_reading_continues_where_records_were_freed(
    emulator: Emulator, client: Any, read_from: Callable[..., list[bytes]], clock: ManualClock
) -> None:
    """A position whose record was freed continues at the oldest record left."""
    number = emulator.put("orders", b"old").sequence_number
    clock.advance(DAY_S + 1)
    client.put_record(StreamName="orders", Data=b"new", PartitionKey="a")
    assert read_from("AFTER_SEQUENCE_NUMBER", StartingSequenceNumber=number) == [b"new"]
    assert [record.data for record in emulator.records("orders")] == [b"new"]


def test_a_full_shard_removes_its_oldest_records(
    emulator: Emulator, client: Any, read_from: Callable[..., list[bytes]]
) -> None:
    """A shard keeps at least its capacity of newest records, and never twice as many."""
    emulator.settings.shard_capacity_records = 50
    for first in range(0, 1000, 20):
        records = [{"Data": str(n), "PartitionKey": "a"} for n in range(first, first + 20)]
        client.put_records(StreamName="orders", Records=records)
        held = [int(data) for data in read_from()]
        assert held == list(range(first + 20))[-len(held) :]
        assert min(first + 20, 50) <= len(held) < 100


@pytest.mark.tests
def test_a_child_process_may_have_a_capacity(new_client: Callable[..., Any], read_all: Any) -> None:
    """The child's shards remove old records as configured."""
    with (
        EmulatorProcess({"orders": 1}, shard_capacity_records=10) as emulator,
        closing(new_client(emulator.endpoint_url)) as client,
    ):
        for number in range(20):
            client.put_record(StreamName="orders", Data=str(number), PartitionKey="a")
        records = read_all(client)
    assert [int(record["Data"]) for record in records] == list(range(10, 20))
