"""Whether the leases of a group name their stream, and that a group with leases of the other kind does not begin anew."""

from __future__ import annotations

import pytest

from kinesis_consumer import GroupStateError
from kinesis_consumer.leases import new_item
from kinesis_consumer.shards import names_streams
from kinesis_consumer.stores import MemoryTable
from kinesis_core.leases import OLDEST, Lease
from support.consumer_groups import leases_of, new_group, new_stream

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
