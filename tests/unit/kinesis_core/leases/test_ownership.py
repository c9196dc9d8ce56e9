"""Which leases a query may write beside a KCL that works on the same table."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from attrs import define, evolve, field

from kinesis_core.leases.lease import Lease, LeaseCheckpoint
from kinesis_core.leases.ownership import LeaseWriter, Refusal
from kinesis_core.model import Shard, by_id

PARENT, LEFT, RIGHT, GRANDCHILD = (f"shardId-{i:012d}" for i in range(4))
LISTING = by_id(
    [
        Shard(PARENT, None, None, 0, 2**128 - 1, 1, 2),
        Shard(LEFT, PARENT, None, 0, 2**127 - 1, 3, 4),
        Shard(RIGHT, PARENT, None, 2**127, 2**128 - 1, 3, None),
        Shard(GRANDCHILD, LEFT, None, 0, 2**127 - 1, 5, None),
    ]
)


def lease(shard_id: str, number: str = "7") -> Lease:
    return Lease(shard_id, LeaseCheckpoint(number), parents=LISTING[shard_id].parents)


@define
class FakeTable:
    """Leases by key, with the rules of the real table."""

    leases: dict[str, Lease] = field(factory=dict)
    asked: list[str] = field(factory=list)

    def write(self, lease: Lease, *, may_create: bool = True) -> bool:
        there = self.leases.get(lease.key)
        if (there is None and not may_create) or (there is not None and there.owner):
            return False
        self.leases[lease.key] = lease
        return True

    def has(self, key: str) -> bool:
        self.asked.append(key)
        return key in self.leases

    def own(self, shard_id: str, owner: str | None = "a KCL worker", number: str = "9") -> None:
        self.leases[shard_id] = evolve(lease(shard_id, number), owner=owner)

    def checkpoints(self) -> dict[str, str]:
        return {key: each.checkpoint.number for key, each in self.leases.items()}


@pytest.fixture
def table() -> FakeTable:
    return FakeTable()


@pytest.fixture
def writer(table: FakeTable) -> Iterator[LeaseWriter]:
    with ThreadPoolExecutor(4) as pool:
        yield LeaseWriter(table, pool)


def write(writer: LeaseWriter, *leases: Lease) -> dict[str, Refusal | None]:
    return {each.key: refusal for each, refusal in writer.write(leases, LISTING)}


def test_a_new_table(writer: LeaseWriter, table: FakeTable) -> None:
    """In a table without leases, those of closed shards and of their descendants are created."""
    all_of_them = [lease(shard_id) for shard_id in (RIGHT, GRANDCHILD, LEFT, PARENT)]
    assert write(writer, *all_of_them) == dict.fromkeys((PARENT, LEFT, RIGHT, GRANDCHILD))
    assert set(table.leases) == set(LISTING)


def test_the_usual_publication(writer: LeaseWriter, table: FakeTable) -> None:
    """Leases that were written before take one call each. So do those of open shards."""
    write(writer, lease(PARENT), lease(RIGHT))
    table.asked.clear()
    write(writer, lease(PARENT, "8"), lease(RIGHT, "8"))
    assert table.checkpoints() == {PARENT: "8", RIGHT: "8"}
    assert table.asked == []


def test_an_owned_lease(writer: LeaseWriter, table: FakeTable) -> None:
    """A lease with an owner is not written, and not tried again, also when it has no owner for a moment."""
    table.own(RIGHT)
    assert write(writer, lease(RIGHT)) == {RIGHT: Refusal.OWNED}
    table.own(RIGHT, owner=None)
    assert write(writer, lease(RIGHT, "8")) == {}
    assert table.checkpoints() == {RIGHT: "9"}


def test_children_of_an_owned_lease(writer: LeaseWriter, table: FakeTable) -> None:
    """
    The leases of its descendants are the owner's too. A KCL begins a child where it finds its lease, so it would skip what the query
    has read.
    """
    table.own(PARENT)
    table.own(LEFT, owner=None, number="TRIM_HORIZON")
    refused = write(writer, lease(PARENT, "SHARD_END"), lease(LEFT), lease(RIGHT), lease(GRANDCHILD))
    assert set(refused.values()) == {Refusal.OWNED}
    assert table.checkpoints() == {PARENT: "9", LEFT: "TRIM_HORIZON"}


@pytest.mark.parametrize("shard_id", [PARENT, RIGHT])
def test_a_lease_that_was_deleted_in_this_run(writer: LeaseWriter, table: FakeTable, shard_id: str) -> None:
    """A lease that the query has written and another consumer has deleted is not created again, also of an open shard."""
    write(writer, lease(shard_id))
    del table.leases[shard_id]
    assert write(writer, lease(shard_id, "8")) == {shard_id: Refusal.OWNED}
    assert table.leases == {}


@pytest.mark.parametrize("left", [LEFT, GRANDCHILD])
def test_a_lease_that_was_deleted_before_this_run(writer: LeaseWriter, table: FakeTable, left: str) -> None:
    """A closed shard that has no lease while a descendant has one was finished by a KCL. It is not created."""
    table.own(left)
    assert write(writer, lease(PARENT)) == {PARENT: Refusal.FINISHED}
    assert set(table.leases) == {left}


def test_descendants_of_a_finished_shard(writer: LeaseWriter, table: FakeTable) -> None:
    """Leases without an owner are written although that of an ancestor was deleted: the KCL may have been stopped."""
    table.own(LEFT, owner=None)
    assert write(writer, lease(PARENT), lease(LEFT)) == {PARENT: Refusal.FINISHED, LEFT: None}


def test_own_descendants_do_not_count(writer: LeaseWriter) -> None:
    """A closed shard whose children's leases the query itself has written gets its lease later than they."""
    write(writer, lease(LEFT), lease(RIGHT), lease(GRANDCHILD))
    assert write(writer, lease(PARENT)) == {PARENT: None}


def test_several_streams(writer: LeaseWriter, table: FakeTable) -> None:
    """In a table of several streams the relatives of a shard are looked for in its own stream."""
    table.own(LEFT)
    mine = evolve(lease(PARENT), stream_id="1:orders:1")
    assert write(writer, mine) == {mine.key: None}
    assert table.asked[-3:] == [f"1:orders:1:{shard_id}" for shard_id in (LEFT, RIGHT, GRANDCHILD)]
