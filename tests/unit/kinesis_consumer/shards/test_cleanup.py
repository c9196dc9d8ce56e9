"""Which leases are no longer needed."""

from __future__ import annotations

import pytest
from attrs import evolve

from kinesis_consumer.leases import new_item
from kinesis_consumer.shards import delete_finished, left_unfinished, needless_leases
from kinesis_consumer.stores import MemoryTable, Update
from kinesis_core.leases import Lease
from kinesis_core.model import Listing
from support.fake_stream import FakeStream
from support.lineages import forget, lease_of, listed, name, new_stream


@pytest.fixture
def split() -> FakeStream:
    stream = new_stream(1)
    stream.split(name(0))
    return stream


def finished(stream: FakeStream, number: int, *children: int) -> Lease:
    lease = lease_of(stream, number, "SHARD_END")
    return evolve(lease, owner="me", children=tuple(map(name, children)))


def needless(leases: list[Lease], listing: Listing | None = None) -> list[str]:
    found = needless_leases(leases, "me", {} if listing is None else {None: listing})
    return [lease.key for lease in found]


def test_finished_lease(split: FakeStream) -> None:
    """A finished lease is needless once all children are begun. LATEST counts as begun."""
    parent = finished(split, 0, 1, 2)
    assert needless([parent, lease_of(split, 1), lease_of(split, 2, "LATEST")]) == [name(0)]


@pytest.mark.parametrize("checkpoint", ["TRIM_HORIZON", "AT_TIMESTAMP"])
def test_child_that_is_not_begun(split: FakeStream, checkpoint: str) -> None:
    """The lease stays while a child is not begun."""
    assert needless([finished(split, 0, 1, 2), lease_of(split, 1), lease_of(split, 2, checkpoint)]) == []


def test_child_without_a_lease(split: FakeStream) -> None:
    """The lease stays while a child has none, whether the lease or the listing names it."""
    assert needless([finished(split, 0, 1, 2), lease_of(split, 1)]) == []
    assert needless([finished(split, 0, 1), lease_of(split, 1)], listed(split)) == []


def test_children_are_looked_up(split: FakeStream) -> None:
    """An old KCL's lease names no children. Then the listed ones count, and without a listing the lease stays."""
    leases = [finished(split, 0), lease_of(split, 1), lease_of(split, 2)]
    assert needless(leases) == []
    assert needless(leases, listed(split)) == [name(0)]


def test_lease_of_a_parent(split: FakeStream) -> None:
    """A lease stays while a parent has one."""
    split.split(name(1))
    leases = [finished(split, 0, 1, 2), finished(split, 1, 3, 4), *(lease_of(split, n) for n in (2, 3, 4))]
    assert needless(leases) == [name(0)]
    assert needless(leases[1:]) == [name(1)]


def test_leases_of_others(split: FakeStream) -> None:
    """A worker deletes what it holds and nobody is about to get."""
    parent, children = finished(split, 0, 1, 2), [lease_of(split, 1), lease_of(split, 2)]
    for owners in (("you", None), ("you", "me"), ("me", "you")):
        other = evolve(parent, owner=owners[0], checkpoint_owner=owners[1])
        assert needless([other, *children]) == []
    assert needless([evolve(parent, checkpoint=children[0].checkpoint), *children]) == []


def test_shard_that_left_the_stream(split: FakeStream) -> None:
    """Of a shard that has left the stream the children that are still listed need leases, begun or not."""
    parent = finished(split, 0, 1, 2)
    forget(split, 0)
    split.split(name(1))
    forget(split, 1)
    assert needless([parent], listed(split)) == []
    assert needless([parent, lease_of(split, 2, "TRIM_HORIZON")], listed(split)) == [name(0)]


def test_lease_newer_than_the_listing() -> None:
    """A shard whose parent is listed has not left the stream."""
    stream = new_stream(1)
    older = listed(stream)
    stream.split(name(0))
    assert needless([finished(stream, 1)], older) == []
    assert left_unfinished(older, [lease_of(stream, 1)]) == []


def test_streams_of_one_table(split: FakeStream) -> None:
    """A child in another stream does not count."""
    parent = evolve(finished(split, 0, 1, 2), stream_id="1:orders:2")
    children = [lease_of(split, 1), lease_of(split, 2)]
    assert needless([parent, *children]) == []
    assert needless([parent, *(evolve(c, stream_id="1:orders:2") for c in children)]) == [parent.key]


def test_deletion_expects_what_was_seen(split: FakeStream) -> None:
    """A lease is deleted if it is still finished and still held by this worker, without a hand-over."""
    lease = finished(split, 0, 1, 2)
    table = MemoryTable()
    table.create(lease.key, new_item(lease))
    for attributes in ({"leaseOwner": "you"}, {"leaseOwner": "me", "checkpointOwner": "you"}):
        table.update(Update(lease.key, {}, attributes))
        assert not delete_finished(table, lease, "me")
    table.update(Update(lease.key, {}, {"checkpoint": "49"}, ("checkpointOwner",)))
    assert not delete_finished(table, lease, "me")
    table.update(Update(lease.key, {}, {"checkpoint": "SHARD_END"}))
    assert delete_finished(table, lease, "me")
    assert table.scan() == []


def test_unread_shard_that_left(split: FakeStream) -> None:
    """An unfinished lease of a shard that has left the stream is found, because records may be lost. It is never needless."""
    lost, there = evolve(lease_of(split, 0), owner="me"), lease_of(split, 1)
    forget(split, 0)
    assert left_unfinished(listed(split), [lost, there, evolve(lost, stream_id="1:teas:2")]) == [lost]
    assert left_unfinished(listed(split), [finished(split, 0)]) == []
    assert needless([lost, there], listed(split)) == []
