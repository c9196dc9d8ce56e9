"""Whether leases are those of the group that is opened: of its streams, and with their names if it has several."""

from __future__ import annotations

import pytest

from kinesis_consumer import GroupStateError
from kinesis_consumer.leases import new_item
from kinesis_consumer.shards import names_streams, verify_stream
from kinesis_consumer.stores import MemoryTable
from kinesis_core import StreamRecreatedError
from kinesis_core.leases import OLDEST, Lease, LeaseCheckpoint
from support.consumer_groups import leases_of, new_group, new_stream

FIRST, SECOND = "shardId-000000000000", "shardId-000000000001"
EARLIER, NOW, TEAS = "1:orders:1780000000", "1:orders:1780000060", "1:teas:1780000000"
ALL, HALF = (0, 2**128 - 1), (0, 2**127 - 1)


def verify(*leases: Lease, shards: int = 1) -> int:
    """Verify that *leases* are those of a stream with so many shards. Returns how often the shards were listed."""
    stream = new_stream(shards)
    verify_stream(leases, NOW, stream.list_shards)
    return stream.calls.get("ListShards", 0)


@pytest.mark.parametrize("checkpoint", ["TRIM_HORIZON", "LATEST", "SHARD_END", "4966"])
def test_leases_of_an_earlier_stream(checkpoint: str) -> None:
    """No position in them is one of the stream of now. The error names both times, and what to do."""
    with pytest.raises(
        StreamRecreatedError,
        match=r"^Stream orders was deleted and created again\. .* stream created at 2026-05-28 20:26:40 UTC.*was created at 2026-05-28 20:27:40 UTC.*Start without the saved offset.*\[stream=orders\]$",
    ):
        verify(Lease(FIRST, LeaseCheckpoint(checkpoint), hash_range=ALL, stream_identifier=EARLIER))


def test_some_leases_of_an_earlier_stream() -> None:
    """One of them is enough: its shard would not be read where it should be."""
    with pytest.raises(StreamRecreatedError):
        verify(Lease(FIRST, OLDEST, stream_identifier=NOW), Lease(SECOND, OLDEST, stream_identifier=EARLIER))


def test_leases_of_several_streams() -> None:
    """Their keys have the time. Those of an earlier stream matter until the stream of now has leases: the group would begin anew."""
    earlier, now, teas = (Lease(FIRST, OLDEST, stream) for stream in (EARLIER, NOW, TEAS))
    with pytest.raises(StreamRecreatedError):
        verify(earlier, teas)
    assert verify(earlier, now, teas) == 0
    assert verify(teas) == 0


def test_leases_of_another_stream() -> None:
    """A group does not read one stream at the positions of another."""
    with pytest.raises(GroupStateError, match=f"of the stream {TEAS}, and this worker is opened with {NOW}"):
        verify(Lease(FIRST, OLDEST, stream_identifier=TEAS))


def test_leases_that_do_not_say_their_stream() -> None:
    """
    So are those of a KCL and of older versions. The hash keys of a shard never change: other ones show that the stream is another.
    Only then shards are listed.
    """
    assert verify(Lease(FIRST, OLDEST, stream_identifier=NOW, hash_range=HALF)) == 0
    assert verify(Lease(FIRST, OLDEST)) == 0
    assert verify(Lease(FIRST, OLDEST, hash_range=ALL)) == 1
    assert verify(Lease(FIRST, OLDEST, hash_range=HALF), shards=2) == 1
    assert verify(Lease("shardId-000000000009", LeaseCheckpoint("SHARD_END"), hash_range=HALF)) == 1
    with pytest.raises(
        StreamRecreatedError,
        match=f"lease of {FIRST} has other hash keys.*Start without the saved offset.*stream=orders",
    ):
        verify(Lease(FIRST, OLDEST, hash_range=ALL), shards=2)


SHARD = "shardId-000000000007"
PLAIN = Lease(SHARD, OLDEST)
OF_ORDERS = Lease(SHARD, OLDEST, "1:orders:1")


@pytest.mark.parametrize(
    ("leases", "streams", "named"),
    [
        ([], 1, False),
        ([], 2, True),
        ([PLAIN], 1, False),
        ([OF_ORDERS], 2, True),
        ([OF_ORDERS], 1, True),
    ],
)
def test_leases_stay_as_they_are(leases: list[Lease], streams: int, *, named: bool) -> None:
    """The number of streams decides it for a new group. Later the leases do: so a group may lose all streams but one."""
    assert names_streams(leases, streams) is named


def test_a_single_stream_gets_no_second_one() -> None:
    """Its leases would be taken for missing ones. The error says what there is, and what to do."""
    with pytest.raises(GroupStateError, match=r"such as shardId-000000000007.*another application name"):
        names_streams([PLAIN], 2)


@pytest.mark.parametrize("streams", [1, 2])
def test_leases_of_both_kinds(streams: int) -> None:
    """Nobody knows which of them count."""
    with pytest.raises(
        GroupStateError, match=r"such as 1:orders:1:shardId-000000000007 and shardId-000000000007\."
    ):
        names_streams([OF_ORDERS, PLAIN], streams)


@pytest.mark.parametrize("lease", [PLAIN, OF_ORDERS])
def test_workers_that_are_opened_at_once(lease: Lease) -> None:
    """A worker that was opened while the table was empty creates no leases beside those of the other kind."""
    table = MemoryTable()
    streams = {"1:orders:1": new_stream(), "1:teas:1": new_stream()}
    group = new_group(new_stream() if lease.stream_id else streams, table)
    table.create("Migration3.0", {"cv": "CLIENT_VERSION_3X", "entityType": "CLIENT_VERSION_MIGRATION"})
    table.create(lease.key, new_item(lease))
    with pytest.raises(GroupStateError, match=f"such as {lease.key}"):
        group._threads.coordinator.step()
    assert set(leases_of(table)) == {lease.key}
