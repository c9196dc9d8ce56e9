"""Records that can be read only some time after their acknowledgement."""

from __future__ import annotations

from typing import Any

import pytest

from kinesis_emulator import Emulator, ManualClock

SHARD = "shardId-000000000000"


@pytest.fixture
def slow(emulator: Emulator) -> Emulator:
    """Make each record readable 3 seconds after its acknowledgement."""
    emulator.settings.readable_after_s = 3
    return emulator


def put(client: Any, *data: str) -> None:
    response = client.put_records(
        StreamName="orders", Records=[{"Data": text, "PartitionKey": "k"} for text in data]
    )
    assert response["FailedRecordCount"] == 0


class Reader:
    """Follows one shard page by page."""

    def __init__(self, client: Any, iterator: str) -> None:
        self.client = client
        self.iterator = iterator

    def page(self) -> tuple[list[bytes], int]:
        """Return the data of the next page and its lag."""
        page = self.client.get_records(ShardIterator=self.iterator)
        self.iterator = page.get("NextShardIterator")
        return [record["Data"] for record in page["Records"]], page["MillisBehindLatest"]


@pytest.fixture
def reader(client: Any, iterator_of: Any) -> Reader:
    return Reader(client, iterator_of())


@pytest.mark.usefixtures("slow")
def test_an_acknowledged_record_is_read_later(client: Any, reader: Reader, clock: ManualClock) -> None:
    """A record is not returned before its time, and the pages until then have a lag."""
    put(client, "1", "2")
    assert reader.page() == ([], 1)
    clock.advance(2)
    assert reader.page() == ([], 2000)
    clock.advance(0.999)
    assert reader.page() == ([], 2999)
    clock.advance(0.001)
    assert reader.page() == ([b"1", b"2"], 0)
    assert reader.page() == ([], 0)


@pytest.mark.usefixtures("slow")
def test_records_become_readable_one_after_the_other(client: Any, reader: Reader, clock: ManualClock) -> None:
    """Each record has its own time. A page with some of them has a lag for the others."""
    client.put_record(StreamName="orders", Data=b"1", PartitionKey="k")
    clock.advance(1)
    put(client, "2")
    clock.advance(2)
    assert reader.page() == ([b"1"], 2000)
    assert reader.page() == ([], 2000)
    clock.advance(1)
    assert reader.page() == ([b"2"], 0)


@pytest.mark.parametrize(
    "kind", ["TRIM_HORIZON", "AT_TIMESTAMP", "AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"]
)
def test_every_start_waits_for_what_cannot_be_read_yet(
    slow: Emulator, client: Any, iterator_of: Any, clock: ManualClock, kind: str
) -> None:
    """Wherever reading begins, a record that is not readable yet is neither returned nor skipped."""
    first = slow.put("orders", b"0").sequence_number
    clock.advance(5)
    put(client, "1")
    started: dict[str, dict[str, Any]] = {
        "AT_TIMESTAMP": {"Timestamp": clock() - 0.5},
        "AT_SEQUENCE_NUMBER": {"StartingSequenceNumber": slow.records("orders")[1].sequence_number},
        "AFTER_SEQUENCE_NUMBER": {"StartingSequenceNumber": first},
    }
    reader = Reader(client, iterator_of(kind, **started.get(kind, {})))
    assert reader.page() == ([b"0"] if kind == "TRIM_HORIZON" else [], 1)
    clock.advance(3)
    assert reader.page() == ([b"1"], 0)


def test_order_is_kept_when_the_delay_gets_shorter(
    slow: Emulator, client: Any, reader: Reader, clock: ManualClock
) -> None:
    """No record is readable before the record before it, so that no reader misses one."""
    put(client, "1")
    slow.settings.readable_after_s = 0
    put(client, "2")
    assert reader.page() == ([], 1)
    clock.advance(3)
    assert reader.page() == ([b"1", b"2"], 0)


def test_the_delay_counts_from_the_acknowledgement(
    slow: Emulator, client: Any, reader: Reader, clock: ManualClock
) -> None:
    """An arrival time in the past does not make a record readable earlier."""
    slow.settings.arrival_jitter_ms = 60_000
    for i in range(5):
        put(client, str(i))
    clock.advance(2.999)
    data, behind_ms = reader.page()
    assert (data, behind_ms > 2999) == ([], True)
    clock.advance(0.001)
    assert len(reader.page()[0]) == 5


@pytest.mark.parametrize("shard_end", ["with_last_records", "page_of_its_own"])
def test_a_closed_shard_ends_with_its_last_record(
    slow: Emulator, client: Any, reader: Reader, clock: ManualClock, shard_end: Any
) -> None:
    """A shard that was closed with unreadable records ends after them."""
    slow.settings.shard_end = shard_end
    put(client, "1")
    slow.split("orders", SHARD)
    assert reader.page() == ([], 1)
    assert reader.iterator
    clock.advance(3)
    assert reader.page() == ([b"1"], 0)
    assert bool(reader.iterator) == (shard_end == "page_of_its_own")


def test_a_gap_before_what_cannot_be_read_yet(
    slow: Emulator, client: Any, reader: Reader, clock: ManualClock
) -> None:
    """Empty pages lead through a gap to the unreadable record, and stay there."""
    slow.settings.scan_ms, slow.settings.iterator_life_s = 600_000, 3600
    clock.advance(1500)
    put(client, "1")
    assert [reader.page() for _ in range(4)] == [([], 900_000), ([], 300_000), ([], 1), ([], 1)]
    clock.advance(3)
    assert reader.page() == ([b"1"], 0)


@pytest.mark.parametrize("keep", [True, False], ids=["kept", "freed"])
def test_what_is_trimmed_before_it_is_readable(
    slow: Emulator, client: Any, reader: Reader, clock: ManualClock, keep: bool
) -> None:
    """A record that is trimmed before it is readable is lost, and makes no other one readable earlier."""
    slow.settings.keep_trimmed = keep
    put(client, "1", "2")
    slow.trim("orders", SHARD, 1)
    assert reader.page() == ([], 1)
    clock.advance(3)
    assert reader.page() == ([b"2"], 0)
    put(client, "3")
    slow.trim("orders", SHARD, 3)
    assert reader.page() == ([], 0)


@pytest.mark.usefixtures("slow")
def test_a_subscription_gets_a_record_when_it_is_readable(
    client: Any, clock: ManualClock, subscribe: Any
) -> None:
    """Events without the record have a lag. The record comes at its time."""
    put(client, "1")
    events = subscribe()
    first = next(events)
    assert (first["Records"], first["MillisBehindLatest"]) == ([], 1)
    clock.advance(3)
    second = next(events)
    assert [record["Data"] for record in second["Records"]] == [b"1"]
    assert second["MillisBehindLatest"] == 0


def test_by_default_a_record_is_readable_at_once(emulator: Emulator, client: Any, reader: Reader) -> None:
    """Without a delay a record can be read once it is acknowledged, whatever its arrival time."""
    put(client, "1")
    emulator.put("orders", b"2", arrived_s=1_800_000_000)
    assert reader.page() == ([b"1", b"2"], 0)
