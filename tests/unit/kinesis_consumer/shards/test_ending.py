"""The end of a shard, and the shards that wait for it."""

from __future__ import annotations

import pytest
from attrs import evolve

from kinesis_consumer.leases import new_item
from kinesis_consumer.shards import NotYet, create_children, unfinished_parents
from kinesis_consumer.stores import MemoryTable
from kinesis_core.errors import StreamNotFoundError, UnavailableError
from kinesis_core.leases import FINISHED, Lease, LeaseCheckpoint, read_lease
from kinesis_core.model import Shard
from support.fake_stream import FakeStream
from support.lineages import forget, lease_of, name, new_stream
from unit.kinesis_consumer.lease_faults import FaultyTable


def table_of(*leases: Lease) -> MemoryTable:
    table = MemoryTable()
    for lease in leases:
        assert table.create(lease.key, new_item(lease))
    return table


def leases_in(table: MemoryTable) -> dict[str, Lease]:
    return {lease.key: lease for lease in map(read_lease, table.scan())}


def end(table: MemoryTable, parent: Lease, stream: FakeStream) -> tuple[str, ...] | NotYet:
    """Make leases for the children, and return which ones the lease of the shard names then."""
    waits = create_children(table, parent, stream)
    return leases_in(table)[parent.key].children if waits is None else waits


@pytest.fixture
def split() -> FakeStream:
    stream = new_stream(1)
    stream.split(name(0))
    return stream


@pytest.fixture
def merged() -> FakeStream:
    stream = new_stream(2)
    stream.merge(name(0), name(1))
    return stream


def test_children_of_a_split(split: FakeStream) -> None:
    """Each child gets a lease that begins at its oldest record, and the shard's own lease names them. It is not finished yet."""
    parent = lease_of(split, 0)
    table = table_of(parent)
    assert end(table, parent, split) == (name(1), name(2))
    leases = leases_in(table)
    assert leases[name(1)] == lease_of(split, 1, "TRIM_HORIZON")
    assert leases[name(2)] == lease_of(split, 2, "TRIM_HORIZON")
    assert leases[name(0)] == evolve(parent, children=(name(1), name(2)))


def test_children_say_the_stream_of_their_parent(split: FakeStream) -> None:
    """A lease of a KCL does not say it, and neither do those of its children."""
    for identifier in ("1:orders:1780000000", None):
        parent = evolve(lease_of(split, 0), stream_identifier=identifier)
        table = table_of(parent)
        end(table, parent, split)
        assert {lease.stream for lease in leases_in(table).values()} == {identifier}


def test_repeated_end(split: FakeStream) -> None:
    """A child that has a lease already keeps it."""
    parent, child = lease_of(split, 0), lease_of(split, 1, "77")
    table = table_of(parent, child)
    for _ in range(2):
        assert end(table, parent, split) == (name(1), name(2))
    assert leases_in(table)[name(1)] == child


def test_children_are_looked_up(split: FakeStream) -> None:
    """All children get leases together. An incomplete listing counts for nothing."""
    parent = lease_of(split, 0)
    table = table_of(parent)
    second = split.shards.pop(name(2))
    assert isinstance(end(table, parent, split), NotYet)
    assert set(leases_in(table)) == {name(0)}
    split.shards[name(2)] = second
    assert end(table, parent, split) == (name(1), name(2))


def test_a_listing_from_before_the_end() -> None:
    """A listing in which the shard is still open says nothing of its children."""
    stream = new_stream(1)
    parent = lease_of(stream, 0)
    assert end(table_of(parent), parent, stream) == NotYet("its children are not listed yet")


def test_a_listing_without_the_shard_is_stale(split: FakeStream) -> None:
    """A listing without the shard says nothing of its children, as long as Kinesis knows the shard."""

    class LeavingOut(FakeStream):
        def list_shards(self) -> list[Shard]:
            return [shard for shard in super().list_shards() if shard.shard_id != name(0)]

    parent = lease_of(split, 0)
    stream = LeavingOut(split.clock, shards=split.shards)
    assert end(table_of(parent), parent, stream) == NotYet("the listing is stale")


def test_shard_that_left_the_stream(split: FakeStream) -> None:
    """If the shard has left the stream, its listed children get leases: all that are left."""
    parent = lease_of(split, 0)
    split.split(name(1))
    forget(split, 0, 1)
    assert end(table_of(parent), parent, split) == (name(2),)
    split.split(name(2))
    forget(split, 2)
    assert end(table_of(parent), parent, split) == ()


def test_listing_with_a_hole(split: FakeStream) -> None:
    """A listing that lacks other shards says nothing of the children, also if the shard has left the stream."""
    parent = lease_of(split, 0)
    forget(split, 0)
    del split.shards[name(2)]
    assert end(table_of(parent), parent, split) == NotYet("the listing is stale")


def test_deleted_stream(split: FakeStream) -> None:
    """A shard of a deleted stream has no children."""

    class Deleted(FakeStream):
        def list_shards(self) -> list[Shard]:
            raise StreamNotFoundError("it was deleted", "ResourceNotFoundException")

    parent = lease_of(split, 0)
    assert end(table_of(parent), parent, Deleted(split.clock)) == ()


def test_merge_waits_for_the_other_parent(merged: FakeStream) -> None:
    """A merged shard gets no lease before both parents have one. Otherwise it would be begun too early."""
    one, other = lease_of(merged, 0), lease_of(merged, 1)
    table = table_of(one)
    waits = end(table, one, merged)
    assert waits == NotYet(f"its child is merged from {name(1)}, too, which has no lease yet")
    assert set(leases_in(table)) == {name(0)}
    table.create(other.key, new_item(other))
    assert end(table, one, merged) == (name(2),)


def test_merge_with_a_parent_that_left(merged: FakeStream) -> None:
    """A merged shard does not wait for a parent that Kinesis does not know any more: that one gets no lease."""
    one = lease_of(merged, 0)
    forget(merged, 1)
    assert end(table_of(one), one, merged) == (name(2),)


def test_merge_whose_child_has_a_lease(merged: FakeStream) -> None:
    """The other parent does not count once the child has a lease. It was read, and its lease was deleted."""
    one = lease_of(merged, 0)
    table = table_of(one, lease_of(merged, 2))
    assert end(table, one, merged) == (name(2),)


def test_children_inherit_the_time(split: FakeStream) -> None:
    """A shard without a record since the group's time may have ended before it. Its children begin at that time, too."""
    parent = evolve(lease_of(split, 0, "AT_TIMESTAMP"), starting_ms=5)
    table = table_of(parent)
    end(table, parent, split)
    child = leases_in(table)[name(1)]
    assert (child.checkpoint, child.starting_ms) == (LeaseCheckpoint("AT_TIMESTAMP"), 5)


@pytest.mark.parametrize(("checkpoint", "starting_ms"), [("49", 5), ("AT_TIMESTAMP", None), ("LATEST", 5)])
def test_children_begin_at_their_oldest_record(
    split: FakeStream, checkpoint: str, starting_ms: int | None
) -> None:
    """Once a record was read all later ones are wanted. A KCL that begins at LATEST would miss records of a child."""
    parent = evolve(lease_of(split, 0, checkpoint), starting_ms=starting_ms)
    table = table_of(parent)
    end(table, parent, split)
    child = leases_in(table)[name(1)]
    assert (child.checkpoint, child.starting_ms) == (LeaseCheckpoint("TRIM_HORIZON"), None)


def test_streams_of_one_table(merged: FakeStream) -> None:
    """Leases of children and other parents are those of the same stream."""
    one, other = (evolve(lease_of(merged, n), stream_id="1:orders:2") for n in (0, 1))
    table = table_of(one, lease_of(merged, 1))
    assert isinstance(end(table, one, merged), NotYet)
    table.create(other.key, new_item(other))
    end(table, one, merged)
    assert leases_in(table)[f"1:orders:2:{name(2)}"].parents == (name(0), name(1))


def test_late_worker_brings_nothing_back(split: FakeStream) -> None:
    """A worker that slept while others read the shard and its children, and deleted their leases, leaves none behind."""
    parent, elsewhere = lease_of(split, 0), lease_of(split, 2, "88")
    table = table_of(elsewhere)
    assert end(table, parent, split) == NotYet("its lease was deleted")
    assert leases_in(table) == {name(2): elsewhere}


def test_late_worker_leaves_what_others_have_created(split: FakeStream) -> None:
    """A lease that was there before is not undone, also if nobody has it yet."""
    parent, child = lease_of(split, 0), lease_of(split, 1, "TRIM_HORIZON")
    table = table_of(child)
    assert end(table, parent, split) == NotYet("its lease was deleted")
    assert leases_in(table) == {name(1): child}


@pytest.mark.parametrize("fault", ["lose", "fail"])
@pytest.mark.parametrize("creation", [1, 2])
def test_late_worker_without_a_response_brings_nothing_back(
    split: FakeStream, fault: str, creation: int
) -> None:
    """A lease whose creation got no response may be there. It is left behind as little as the others."""
    inner = MemoryTable()

    def disturb() -> str:
        creations = [call for call, _ in table.calls if call == "create"]
        return fault if table.calls[-1][0] == "create" and len(creations) == creation else ""

    table = FaultyTable(inner, disturb)
    with pytest.raises(UnavailableError):
        create_children(table, lease_of(split, 0), split)
    assert leases_in(inner) == {}


@pytest.mark.parametrize("fault", ["lose", "fail"])
def test_a_creation_without_a_response_is_repeated(split: FakeStream, fault: str) -> None:
    """As long as the shard's own lease is there, the next attempt does the rest."""
    parent = lease_of(split, 0)
    inner = table_of(parent)
    table = FaultyTable(inner, lambda: fault if table.calls[-1][0] == "create" else "")
    with pytest.raises(UnavailableError):
        create_children(table, parent, split)
    assert (name(1) in leases_in(inner)) is (fault == "lose"), "nothing is undone without need"
    assert end(inner, parent, split) == (name(1), name(2))
    assert set(leases_in(inner)) == {name(0), name(1), name(2)}


CHILD = Lease("c", LeaseCheckpoint("TRIM_HORIZON"), "1:orders:2", parents=("a", "b"))
PARENT = Lease("a", LeaseCheckpoint("49"), "1:orders:2")


def test_unfinished_parent() -> None:
    """A child waits for each parent that is not finished."""
    other = evolve(PARENT, shard_id="b")
    leases = {lease.key: lease for lease in (PARENT, other)}
    assert unfinished_parents(CHILD, leases.get) == ["a", "b"]
    leases[PARENT.key] = evolve(PARENT, checkpoint=FINISHED)
    assert unfinished_parents(CHILD, leases.get) == ["b"]


def test_parents_without_a_lease() -> None:
    """A child does not wait for a parent without a lease, nor for a shard of that name in another stream."""
    assert unfinished_parents(CHILD, {"a": evolve(PARENT, stream_id=None)}.get) == []
