"""Records and shards that expire."""

from __future__ import annotations

from typing import Any

import pytest

from kinesis_emulator import Emulator, ManualClock

SHARD = "shardId-000000000000"
DAY_S = 24 * 3600


@pytest.fixture
def aged(emulator: Emulator, clock: ManualClock) -> Emulator:
    """Put `old`, and `new` 10 hours later. When the fixture returns, `old` has just expired."""
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
def test_a_trimmed_number_continues_silently_at_the_oldest_record(
    aged: Emulator, read_from: Any, kind: str
) -> None:
    """An expired number gives no error: reading continues at the oldest record."""
    number = aged.records("orders")[0].sequence_number
    assert read_from(kind, StartingSequenceNumber=number) == [b"new"]


def test_longer_retention_brings_nothing_back(aged: Emulator, client: Any, read_from: Any) -> None:
    """Expired records stay away when the retention is raised."""
    client.increase_stream_retention_period(StreamName="orders", RetentionPeriodHours=168)
    assert read_from() == [b"new"]
    assert len(aged.records("orders")) == 2


def test_a_closed_shard_past_retention_does_not_exist(
    emulator: Emulator, client: Any, iterator_of: Any, refusal: Any, clock: ManualClock
) -> None:
    """After a closed shard's retention, new and old iterators of it are refused."""
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


@pytest.mark.parametrize("keep", [True, False], ids=["kept", "freed"])
@pytest.mark.parametrize("how", ["by the clock", "by a shorter retention", "on demand"])
@pytest.mark.parametrize("leads_nowhere", [False, True], ids=["oldest_record", "empty_pages"])
def test_a_page_at_an_expired_position(
    emulator: Emulator,
    client: Any,
    iterator_of: Any,
    clock: ManualClock,
    keep: bool,
    how: str,
    leads_nowhere: bool,
) -> None:
    """An iterator from before the trim continues at the oldest record. On request its pages stay empty, a whole retention behind."""
    emulator.settings.keep_trimmed = keep
    if leads_nowhere:
        emulator.settings.trimmed_start = "empty_pages"
    client.increase_stream_retention_period(StreamName="orders", RetentionPeriodHours=48)
    for i in range(6):
        emulator.put("orders", str(i))
    clock.advance(10 * 3600)
    newer = emulator.put("orders", b"6")
    clock.advance(2 * DAY_S - 10 * 3600)
    page = client.get_records(ShardIterator=iterator_of(), Limit=2)
    assert [record["Data"] for record in page["Records"]] == [b"0", b"1"]
    if how == "by the clock":
        clock.advance(1)
    elif how == "on demand":
        emulator.trim("orders", SHARD, 6)
    else:
        emulator.put("orders", b"7")
        client.decrease_stream_retention_period(StreamName="orders", RetentionPeriodHours=24)
    left = [b"7"] if how == "by a shorter retention" else [newer.data]
    retention_s = DAY_S if how == "by a shorter retention" else 2 * DAY_S
    for _ in range(3):
        page = client.get_records(ShardIterator=page["NextShardIterator"])
        got = [record["Data"] for record in page["Records"]], page["MillisBehindLatest"]
        assert got == (([], retention_s * 1000) if leads_nowhere else (left, 0))
        left = []
    oldest = client.get_records(ShardIterator=iterator_of())["Records"]
    assert oldest[0]["Data"] in (b"6", b"7")


def test_a_position_at_the_horizon_is_not_lost(emulator: Emulator, client: Any, iterator_of: Any) -> None:
    """Reading up to the last expired record continues with the next one, whatever `trimmed_start` is."""
    emulator.settings.trimmed_start = "empty_pages"
    for i in range(4):
        emulator.put("orders", str(i))
    page = client.get_records(ShardIterator=iterator_of(), Limit=2)
    emulator.trim("orders", SHARD, 2)
    page = client.get_records(ShardIterator=page["NextShardIterator"])
    assert [record["Data"] for record in page["Records"]] == [b"2", b"3"]
