"""GetShardIterator and GetRecords."""

from __future__ import annotations

from typing import Any

import pytest

from kinesis_emulator import Emulator, ManualClock

SHARD = "shardId-000000000000"
START_S = 1_700_000_000.0


@pytest.fixture
def numbers(emulator: Emulator, clock: ManualClock) -> list[str]:
    """Put the records 0 to 4, one per second, and return their numbers. The clock is at second 5."""
    found = []
    for i in range(5):
        found.append(emulator.put("orders", str(i)).sequence_number)
        clock.advance(1)
    return found


def test_the_five_kinds_of_iterator(numbers: list[str], read_from: Any) -> None:
    """Each type of iterator begins where AWS documents it."""
    every = [b"0", b"1", b"2", b"3", b"4"]
    assert read_from("TRIM_HORIZON") == every
    assert read_from("LATEST") == []
    assert read_from("AT_SEQUENCE_NUMBER", StartingSequenceNumber=numbers[2]) == every[2:]
    assert read_from("AFTER_SEQUENCE_NUMBER", StartingSequenceNumber=numbers[2]) == every[3:]
    assert read_from("AT_TIMESTAMP", Timestamp=START_S + 2) == every[2:]
    assert read_from("AT_TIMESTAMP", Timestamp=START_S + 2.001) == every[3:]
    assert read_from("AT_TIMESTAMP", Timestamp=START_S - 1e6) == every
    assert read_from("AT_TIMESTAMP", Timestamp=START_S + 5) == []


def test_a_limit_cuts_pages_and_lag_says_that_more_is_there(
    numbers: list[str], client: Any, iterator_of: Any
) -> None:
    """Pages follow each other without gap. MillisBehindLatest is the age of the last record, 0 at the tip."""
    iterator, seen, lags = iterator_of(), [], []
    for _ in range(3):
        page = client.get_records(ShardIterator=iterator, Limit=2)
        seen += [record["SequenceNumber"] for record in page["Records"]]
        lags.append(page["MillisBehindLatest"])
        iterator = page["NextShardIterator"]
    assert seen == numbers
    assert lags == [4000, 2000, 0]


def test_lag_is_never_0_while_records_are_left(emulator: Emulator, client: Any, iterator_of: Any) -> None:
    """A page with records of the same millisecond left after it is at least 1 ms behind."""
    for _ in range(2):
        emulator.put("orders", b"x")
    assert client.get_records(ShardIterator=iterator_of(), Limit=1)["MillisBehindLatest"] == 1


def test_a_number_of_a_recreated_stream_is_refused(emulator: Emulator, client: Any, refusal: Any) -> None:
    """A stream that was deleted and created again, even in the same second, refuses the numbers of the deleted one."""
    number = emulator.put("orders", b"x").sequence_number
    emulator.delete_stream("orders")
    emulator.create_stream("orders")
    code, message = refusal(
        client.get_shard_iterator,
        StreamName="orders",
        ShardId=SHARD,
        ShardIteratorType="AT_SEQUENCE_NUMBER",
        StartingSequenceNumber=number,
    )
    assert code == "InvalidArgumentException"
    assert message.endswith("is invalid because it did not come from this stream.")


def test_an_iterator_expires_after_5_minutes(
    client: Any, iterator_of: Any, refusal: Any, clock: ManualClock
) -> None:
    """An iterator is valid for 5 minutes. The error has both times."""
    iterator = iterator_of()
    clock.advance(300)
    renewed = client.get_records(ShardIterator=iterator)["NextShardIterator"]
    clock.advance(0.001)
    code, message = refusal(client.get_records, ShardIterator=iterator)
    assert code == "ExpiredIteratorException"
    assert message.startswith(
        "Iterator expired. The iterator was created at time Tue Nov 14 22:13:20 UTC 2023 while right now it is "
        "Tue Nov 14 22:18:20 UTC 2023"
    )
    client.get_records(ShardIterator=renewed)


def test_iterators_of_a_deleted_stream_find_nothing(
    emulator: Emulator, client: Any, iterator_of: Any, refusal: Any
) -> None:
    """An iterator is not valid after its stream was deleted, not even for a new stream of that name."""
    iterator = iterator_of()
    emulator.delete_stream("orders")
    assert refusal(client.get_records, ShardIterator=iterator)[0] == "ResourceNotFoundException"
    emulator.create_stream("orders")
    assert refusal(client.get_records, ShardIterator=iterator)[0] == "InvalidArgumentException"


@pytest.mark.parametrize("age_s", [0, 3600])
@pytest.mark.parametrize("shards", [1, 4])
def test_iterators_of_a_deleted_stream_are_recognized(
    emulator: Emulator,
    client: Any,
    iterator_of: Any,
    refusal: Any,
    clock: ManualClock,
    age_s: int,
    shards: int,
) -> None:
    """An iterator of the deleted stream is refused with that reason, however old it is and whatever shards there are now."""
    children = emulator.split("orders", SHARD)
    old = [iterator_of(), *(iterator_of(shard_id=child) for child in children)]
    emulator.delete_stream("orders")
    emulator.create_stream("orders", shards=shards)
    emulator.put("orders", b"new")
    clock.advance(age_s)
    refused = ("InvalidArgumentException", "Invalid ShardIterator. It did not come from this stream.")
    for iterator in old:
        assert refusal(client.get_records, ShardIterator=iterator) == refused


def test_arrival_times_out_of_order_do_not_change_the_order(emulator: Emulator, read_from: Any) -> None:
    """Records come in sequence order, whatever their arrival times. AT_TIMESTAMP finds the first one that is late enough."""
    for name, arrived_s in (("a", 10), ("b", 5), ("c", 20), ("d", 1)):
        emulator.put("orders", name, arrived_s=START_S - 100 + arrived_s)
    assert read_from() == [b"a", b"b", b"c", b"d"]
    assert read_from("AT_TIMESTAMP", Timestamp=START_S - 100 + 5) == [b"a", b"b", b"c", b"d"]
    assert read_from("AT_TIMESTAMP", Timestamp=START_S - 100 + 11) == [b"c", b"d"]


def test_a_gap_gives_empty_pages_with_lag(
    emulator: Emulator, client: Any, iterator_of: Any, clock: ManualClock
) -> None:
    """With scan_ms a call searches only this range of arrival times: a gap is many empty pages, each with less lag."""
    emulator.settings.scan_ms = 600_000
    emulator.put("orders", b"first")
    clock.advance(3000)
    emulator.put("orders", b"second")
    iterator = iterator_of()
    pages: list[tuple[list[bytes], int]] = []
    while not pages or pages[-1][1]:
        page = client.get_records(ShardIterator=iterator)
        pages.append(([record["Data"] for record in page["Records"]], page["MillisBehindLatest"]))
        iterator = page["NextShardIterator"]
    lags = [2_400_000, 1_800_000, 1_200_000, 600_000, 1, 0]
    assert pages == [([b"first"], lags[0]), *(([], lag) for lag in lags[1:-1]), ([b"second"], 0)]
