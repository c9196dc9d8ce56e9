"""Which leases a stream lacks."""

from __future__ import annotations

import pytest

from kinesis_consumer.shards import InitialPosition, StaleListing, find_staleness, missing_leases
from kinesis_core.leases import Lease
from kinesis_core.model import AtTimestamp, Latest, Shard, TrimHorizon, by_id
from support.fake_stream import FakeStream
from support.lineages import family, forget, lease_of, listed, name, new_stream, numbers

NOW_MS = 1_790_000_000_000
AT = AtTimestamp(1_780_000_000_000)


def found(
    stream: FakeStream, leases: list[Lease], initial: InitialPosition, stream_id: str | None = None
) -> list[Lease]:
    missing = missing_leases(listed(stream), leases, initial, NOW_MS, stream_id)
    assert not isinstance(missing, StaleListing), missing
    return missing


def starts(leases: list[Lease]) -> dict[int, str]:
    """Return the checkpoints of new leases by the numbers of their shards, in the order of creation."""
    return dict(
        zip(
            numbers([lease.shard_id for lease in leases]),
            (lease.checkpoint.number for lease in leases),
            strict=True,
        )
    )


def stale_reason(stream: FakeStream, leases: list[Lease]) -> str:
    stale = find_staleness(listed(stream), {lease.shard_id: lease for lease in leases})
    assert stale is not None
    return stale.reason


def test_first_leases_at_the_oldest_record() -> None:
    """A group that begins at TRIM_HORIZON gets the oldest shards. The others get leases when their parents end."""
    assert starts(found(family(), [], TrimHorizon())) == dict.fromkeys(range(6), "TRIM_HORIZON")


def test_first_leases_at_the_tip() -> None:
    """A group that begins at LATEST gets the open shards, and the exact time."""
    leases = found(family(), [], Latest())
    assert starts(leases) == dict.fromkeys([4, 9, 10, 8], "LATEST")
    assert {lease.starting_ms for lease in leases} == {NOW_MS}


def test_first_leases_at_a_time() -> None:
    """
    A group that begins at a time gets all shards, so that none starts at its oldest record.

    Nobody knows which shards had ended before that time. At the end of a shard a KCL starts the children at their oldest record.
    """
    leases = found(family(), [], AT)
    assert starts(leases) == dict.fromkeys(range(11), "AT_TIMESTAMP")
    assert {lease.starting_ms for lease in leases} == {AT.epoch_ms}


def test_leases_say_where_their_shard_belongs() -> None:
    """A new lease has the parents and the hash keys of its shard, and no owner."""
    shard = listed(family())[name(8)]
    lease = found(family(), [], Latest())[-1]
    assert (lease.parents, lease.owner) == ((name(6), name(7)), None)
    assert lease.hash_range == (shard.hash_start, shard.hash_end)


def test_forgotten_parents() -> None:
    """The oldest shards that are still listed are the first ones."""
    stream = family()
    forget(stream, 0, 1, 2, 3)
    assert list(starts(found(stream, [], TrimHorizon()))) == [4, 5, 6, 7]


def test_one_parent_of_a_merge_is_forgotten() -> None:
    """A merged shard with one listed parent gets its lease at once: a KCL would make none at the end of that parent."""
    stream = new_stream(2)
    stream.merge(name(0), name(1))
    forget(stream, 1)
    assert list(starts(found(stream, [], TrimHorizon()))) == [0, 2]


@pytest.mark.parametrize(
    ("initial", "expected"),
    [
        (TrimHorizon(), dict.fromkeys([0, 1], "TRIM_HORIZON")),
        (Latest(), {6: "LATEST"}),
        (AT, dict.fromkeys([0, 1, 6], "AT_TIMESTAMP")),
    ],
    ids=str,
)
def test_later_leases(initial: InitialPosition, expected: dict[int, str]) -> None:
    """With leases of 4, 5 and 7 the same shards are missing as in the KCL; for a time, all that may begin before it."""
    stream = family()
    assert starts(found(stream, [lease_of(stream, n) for n in (4, 5, 7)], initial)) == expected


def test_shards_that_were_read_do_not_come_back() -> None:
    """The ancestors of a shard with a lease were read, although their leases are gone."""
    stream = family()
    leases = [lease_of(stream, n) for n in (4, 8, 9, 10)]
    for initial in (TrimHorizon(), Latest(), AT):
        assert found(stream, leases, initial) == []


def test_a_lost_lease_does_not_bring_back_its_parent() -> None:
    """A shard whose lease got lost is read again itself. Its parent was read: the other child has a lease."""
    stream = family()
    leases = [lease_of(stream, n) for n in (4, 8, 9)]
    assert starts(found(stream, leases, TrimHorizon())) == {10: "TRIM_HORIZON"}


def test_children_of_a_shard_that_is_being_read() -> None:
    """The children of an unfinished shard get their leases at its end, and not before."""
    stream = family()
    assert found(stream, [lease_of(stream, n) for n in (4, 5, 6, 7)], TrimHorizon()) == []


@pytest.mark.parametrize("initial", [TrimHorizon(), Latest()], ids=str)
def test_children_of_a_finished_shard(initial: InitialPosition) -> None:
    """A shard whose parent is finished is read from its oldest record, wherever the group began."""
    stream = family()
    leases = [lease_of(stream, 4), lease_of(stream, 8), lease_of(stream, 5, "SHARD_END")]
    assert starts(found(stream, leases, initial)) == {9: "TRIM_HORIZON", 10: "TRIM_HORIZON"}


def test_children_of_a_shard_that_left_the_stream() -> None:
    """A shard that left the stream unfinished makes no leases any more. Its children are read from their oldest record."""
    stream = family()
    leases = [lease_of(stream, n) for n in (4, 5, 8)]
    forget(stream, 5)
    assert starts(found(stream, leases, Latest())) == {9: "TRIM_HORIZON", 10: "TRIM_HORIZON"}


def test_grandchildren_of_a_shard_that_left_the_stream() -> None:
    """They are found by their hash keys, because the shards between have left as well."""
    stream = family()
    leases = [lease_of(stream, n) for n in (4, 0, 1, 2, 3, 9, 10)]
    forget(stream, 0, 1, 2, 3, 6, 7)
    assert starts(found(stream, leases, Latest())) == {8: "TRIM_HORIZON"}


def test_children_of_a_finished_shard_in_a_group_of_a_time() -> None:
    """A group that began at a time reads everything from that time on, as in the KCL."""
    stream = family()
    leases = [lease_of(stream, 4), lease_of(stream, 8), lease_of(stream, 5, "SHARD_END")]
    assert starts(found(stream, leases, AT)) == {9: "AT_TIMESTAMP", 10: "AT_TIMESTAMP"}


def test_stream_that_was_created_again() -> None:
    """A shard without parents descends from nothing, so a lease of an earlier stream says nothing of it."""
    stream = new_stream(2)
    old = Lease("shardId-000000000099", lease_of(stream, 0).checkpoint, hash_range=(0, 2**128 - 1))
    assert starts(found(stream, [old], Latest())) == {0: "LATEST", 1: "LATEST"}


def test_ids_say_nothing_of_age() -> None:
    """Parents come before their children, whatever their ids are."""
    whole = (0, 2**128 - 1)
    listing = by_id(
        [
            Shard("b", None, None, *whole, 1, 2),
            Shard("c", "b", None, *whole, 3, 4),
            Shard("a", "c", None, *whole, 5, None),
        ]
    )
    for initial, ids in ((TrimHorizon(), ["b"]), (AT, ["b", "c", "a"])):
        missing = missing_leases(listing, [], initial, NOW_MS)
        assert not isinstance(missing, StaleListing)
        assert [lease.shard_id for lease in missing] == ids


def test_a_group_that_began_at_the_tip_misses_nothing_later() -> None:
    """If not all first leases were made, the missing ones start when the group began, and so do their ancestors since then."""
    stream = new_stream(2)
    first = found(stream, [], Latest())[:1]
    stream.split(name(1))
    leases = found(
        stream, [Lease(name(0), first[0].checkpoint, hash_range=(0, 2**127 - 1), starting_ms=5)], Latest()
    )
    assert starts(leases) == dict.fromkeys([1, 2, 3], "LATEST")
    assert {lease.starting_ms for lease in leases} == {5}


def test_streams_of_one_table() -> None:
    """Leases of other streams do not count, and new ones have the id of the stream in their keys."""
    stream = new_stream(1)
    other = Lease(name(0), lease_of(stream, 0).checkpoint, "1:orders:2")
    leases = found(stream, [other], TrimHorizon(), "1:teas:2")
    assert [lease.key for lease in leases] == [f"1:teas:2:{name(0)}"]
    assert found(stream, [other], TrimHorizon(), "1:orders:2") == []


def test_listing_with_a_hole() -> None:
    """A listing is not believed if no open shard has some hash keys."""
    stream = family()
    del stream.shards[name(4)]
    assert "no shard has the hash keys" in stale_reason(stream, [])
    assert isinstance(missing_leases(listed(stream), [], TrimHorizon(), NOW_MS), StaleListing)


def test_listing_without_a_child() -> None:
    """A listing is not believed if a closed shard lacks a child, or a finished one any."""
    stream = family()
    del stream.shards[name(9)]
    assert "no child of the closed shard" in stale_reason(stream, [])
    stream = new_stream(1)
    assert "no child of the closed shard" in stale_reason(stream, [lease_of(stream, 0, "SHARD_END")])


def test_listing_older_than_the_leases() -> None:
    """A listing is not believed if it lacks a shard with a lease, and has its parent: shards outlive their parents."""
    stream = new_stream(1)
    older = listed(stream)
    stream.split(name(0))
    leases = [lease_of(stream, 1), lease_of(stream, 2)]
    assert missing_leases(older, leases, TrimHorizon(), NOW_MS) == StaleListing(
        f"{name(1)}, a child of {name(0)}, has a lease and is not listed"
    )
