"""What falls out of retention."""

from __future__ import annotations

from typing import Any

import pytest

from kinesis_emulator import Emulator, ManualClock

SHARD = "shardId-000000000000"
DAY_S = 24 * 3600


@pytest.fixture
def aged(emulator: Emulator, clock: ManualClock) -> Emulator:
    """Put `old`, and `new` 10 hours later; when the fixture returns, `old` has just been trimmed."""
    emulator.put("orders", b"old")
    clock.advance(10 * 3600)
    emulator.put("orders", b"new")
    clock.advance(DAY_S - 10 * 3600 + 1)
    return emulator


def test_records_older_than_retention_are_gone(aged: Emulator, read_from: Any) -> None:
    """TRIM_HORIZON and old timestamps begin at the oldest record within retention."""
    assert read_from() == [b"new"]
    assert read_from("AT_TIMESTAMP", Timestamp=0) == [b"new"]
    assert [record.data for record in aged.records("orders")] == [b"old", b"new"]


@pytest.mark.parametrize("kind", ["AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"])
def test_a_trimmed_number_goes_on_silently_at_the_oldest_record(
    aged: Emulator, read_from: Any, kind: str
) -> None:
    """A number that has been trimmed gives no error: reading goes on at the oldest record."""
    number = aged.records("orders")[0].sequence_number
    assert read_from(kind, StartingSequenceNumber=number) == [b"new"]


def test_an_iterator_at_a_trimmed_record_goes_on_at_the_oldest(
    emulator: Emulator, client: Any, iterator_of: Any, clock: ManualClock
) -> None:
    """Records that fall out between iterator and call are not returned."""
    emulator.put("orders", b"old")
    clock.advance(DAY_S)
    iterator = iterator_of()
    emulator.put("orders", b"new")
    clock.advance(1)
    page = client.get_records(ShardIterator=iterator)
    assert [record["Data"] for record in page["Records"]] == [b"new"]


def test_longer_retention_brings_nothing_back(aged: Emulator, client: Any, read_from: Any) -> None:
    """What has been trimmed stays away when retention is raised."""
    client.increase_stream_retention_period(StreamName="orders", RetentionPeriodHours=168)
    assert read_from() == [b"new"]
    assert len(aged.records("orders")) == 2


def test_shorter_retention_trims_at_once(
    emulator: Emulator, client: Any, read_from: Any, clock: ManualClock
) -> None:
    """Lowering retention trims what is older now."""
    client.increase_stream_retention_period(StreamName="orders", RetentionPeriodHours=168)
    emulator.put("orders", b"old")
    clock.advance(2 * DAY_S)
    assert read_from() == [b"old"]
    client.decrease_stream_retention_period(StreamName="orders", RetentionPeriodHours=24)
    assert read_from() == []


def test_a_closed_shard_past_retention_does_not_exist(
    emulator: Emulator, client: Any, iterator_of: Any, refusal: Any, clock: ManualClock
) -> None:
    """Once a closed shard's retention is over, iterators of it are refused, and old ones too."""
    emulator.split("orders", SHARD)
    clock.advance(DAY_S)
    iterator = iterator_of()
    clock.advance(1)
    missing = (
        "ResourceNotFoundException",
        f"Shard {SHARD} in stream orders under account 000000000000 does not exist",
    )
    params = {"StreamName": "orders", "ShardId": SHARD, "ShardIteratorType": "TRIM_HORIZON"}
    assert refusal(client.get_shard_iterator, **params) == missing
    assert refusal(client.get_records, ShardIterator=iterator) == missing
