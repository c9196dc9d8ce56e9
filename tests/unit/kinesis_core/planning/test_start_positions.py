"""Where reading begins and, for a batch, ends."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from kinesis_core.errors import InvalidRequestError, OptionError
from kinesis_core.model import (
    After,
    At,
    AtTimestamp,
    EndingPosition,
    Latest,
    Offset,
    PerShard,
    PerStream,
    ShardEnd,
    ShardOffset,
    StartingPosition,
    TrimHorizon,
)
from kinesis_core.planning.start_positions import LATEST_MARGIN_MS
from support.planned import Planned, everything
from support.scripted_stream import ScriptedStream, scripted_stream

A, B, C, D = (f"shardId-{i:012d}" for i in range(4))


def positions(offset: Offset) -> dict[str, ShardOffset]:
    return dict(offset.streams["orders"].shards)


def test_latest_skips_what_is_there() -> None:
    """LATEST begins after the last record of a busy shard, and at the margin before now in an idle one."""
    stream = scripted_stream(2)
    stream.put_many(B, 10)
    stream.clock.sleep(3600)
    last = stream.put_many(A, 100, 0.05)[-1]
    query = Planned([stream], Latest())
    started = positions(query.start)
    assert started[A] == ShardOffset(After(last.number), last.arrived_ms)
    assert isinstance(started[B].cut, AtTimestamp)
    fresh = [(s, stream.put(s, b"x").sequence_number) for s in (A, B)]
    assert sorted(query.batches(2)) == fresh


def test_latest_does_not_begin_with_closed_shards() -> None:
    """LATEST counts closed shards as finished, whatever they hold, and names none of them."""
    stream = scripted_stream(1)
    stream.put_many(A, 10)
    left, _ = stream.split(A)
    stream.clock.sleep(60)
    query = Planned([stream], Latest())
    assert A not in positions(query.start)
    record = stream.put(left, b"x")
    assert query.batch() == [(left, record.sequence_number)]


def test_latest_of_shards_resharded_meanwhile() -> None:
    """Shards that are split while LATEST is being looked for lose nothing that is put from then on."""
    stream = scripted_stream(1)
    stream.put_many(A, 10, 0.01)
    listed = stream.list_shards()
    children = stream.split(A)
    stream.stale_listings.append(listed)
    query = Planned([stream], Latest())
    fresh = [(s, stream.put(s, b"x").sequence_number) for s in children]
    assert query.batches(3) == fresh


def test_latest_skips_what_children_born_meanwhile_hold() -> None:
    """Children that LATEST finds while it looks for a parent's tip begin at their own tips."""
    stream = scripted_stream(1)
    stream.put_many(A, 10, 0.01)
    listed = stream.list_shards()
    children = stream.split(A)
    for child in children:
        stream.put_many(child, 3, 1.0)
    stream.clock.sleep(60)
    stream.stale_listings.append(listed)
    query = Planned([stream], Latest())
    fresh = [(s, stream.put(s, b"x").sequence_number) for s in children]
    assert query.batches(3) == fresh


def test_a_position_in_time_reads_parents_and_children_from_then_on() -> None:
    """AT_TIMESTAMP applies to every shard of now, closed ones included."""
    stream = scripted_stream(1)
    stream.put_many(A, 10, 1.0)
    left, _ = stream.split(A)
    stream.put_many(left, 3, 1.0)
    then = stream.shards[A].records[7].arrived_ms or 0
    query = Planned([stream], AtTimestamp(then))
    assert query.batches(3) == everything(stream, A)[7:] + everything(stream, left)


def test_a_position_in_the_future_is_refused() -> None:
    """A start in the future is refused with both times, before Kinesis refuses it without them."""
    stream = scripted_stream(1)
    future = stream.now_ms() + 60_000
    with pytest.raises(
        OptionError,
        match=r"'start'.* 14:14:20 UTC, .* 14:13:20 UTC\. Use a time in the past\. \[stream=orders",
    ):
        Planned([stream], AtTimestamp(future))


def test_a_position_per_shard() -> None:
    """Each named shard starts at its cut; an ancestor of a named one counts as read, and any other starts at its oldest record."""
    stream = scripted_stream(2)
    stream.put_many(A, 4)
    stream.put_many(B, 4)
    left, right = stream.split(A)
    stream.put_many(left, 4)
    stream.put_many(right, 4)
    second = stream.shards[left].records[1]
    query = Planned([stream], PerShard({left: After(second.number), right: Latest()}))
    assert stream.calls_of("GetRecords", B) == [], "its start needs no look"
    assert query.batches(3) == everything(stream, B) + everything(stream, left)[2:]


def test_a_position_of_an_unknown_shard_is_refused() -> None:
    """A shard that the stream does not have is refused by name, with those that it has."""
    with pytest.raises(OptionError, match=f"does not have: {D}. It has {A}, {B}"):
        Planned([scripted_stream(2)], PerShard({D: TrimHorizon()}))


def test_a_position_of_what_is_no_shard_id_is_refused() -> None:
    """A name that Kinesis does not take for a shard's is refused as one that the stream does not have."""
    stream = scripted_stream()
    stream.fail("GetShardIterator", "x!", [InvalidRequestError("1 validation error", "ValidationException")])
    with pytest.raises(OptionError, match="does not have: x!"):
        Planned([stream], PerShard({"x!": TrimHorizon()}))


def test_an_end_in_an_unknown_shard_is_refused() -> None:
    """A shard that the stream does not have is refused as an end as well."""
    query = Planned([scripted_stream(2)])
    with pytest.raises(OptionError, match=f"'end' names shards .* does not have: {D}"):
        query.planner.end_offset(query.start, PerShard({D: Latest()}))


@pytest.mark.parametrize(
    ("end", "count"),
    [
        (Latest(), 20),
        (AtTimestamp(1_790_000_000_000), 0),
        (AtTimestamp(1_790_000_004_000), 4),
        (AtTimestamp(1_790_000_014_000), 14),
        (PerShard({A: TrimHorizon()}), 0),
        (PerShard({A: Latest()}), 20),
        (PerShard({B: TrimHorizon()}), 10),
    ],
)
def test_the_end_of_a_batch_read(end: EndingPosition, count: int) -> None:
    """A batch ends at the named cuts over generations of shards, and at the tip of shards that have not reached them."""
    stream = scripted_stream(1)
    stream.put_many(A, 10, 1.0)
    left, _ = stream.split(A)
    stream.put_many(left, 10, 1.0)
    stream.clock.sleep(1)
    query = Planned([stream])
    assert query.read(query.start, query.planner.end_offset(query.start, end)) == everything(stream)[:count]


@pytest.mark.parametrize(("kind", "count"), [(At, 4), (After, 5)])
def test_the_end_of_a_batch_read_at_a_record(kind: type[At | After], count: int) -> None:
    """A batch may end before or after a record of each shard."""
    stream = scripted_stream(2)
    stream.put_many(A, 10)
    stream.put_many(B, 10)
    fourth = [stream.shards[s].records[4].number for s in (A, B)]
    query = Planned([stream])
    end = query.planner.end_offset(query.start, PerShard({A: kind(fourth[0]), B: kind(fourth[1])}))
    read = query.read(query.start, end)
    assert read == everything(stream, A)[:count] + everything(stream, B)[:count]


@pytest.mark.parametrize("end", [At, After])
def test_latest_after_an_end_at_a_record_is_refused(end: type[At | After]) -> None:
    """A read that starts at LATEST cannot end before the last record of a shard. The end of that record is the same point."""
    stream = scripted_stream(1)
    *_, other, last = stream.put_many(A, 10, 0.1)
    query = Planned([stream], Latest())
    expected = rf"LATEST \(AFTER {last.number}\), is after its end, .*{other.number}\..*shard={A}"
    with pytest.raises(OptionError, match=expected):
        query.planner.end_offset(query.start, PerShard({A: end(other.number)}), Latest())
    same = query.planner.end_offset(query.start, PerShard({A: After(last.number)}), PerShard({A: Latest()}))
    assert query.read(query.start, same) == []


def test_a_start_at_latest_may_end_now() -> None:
    """An end within the margin of LATEST is accepted: the time of the service is not known exactly."""
    stream = scripted_stream(1)
    query = Planned([stream], Latest())
    end = query.planner.end_offset(query.start, AtTimestamp(stream.now_ms() - LATEST_MARGIN_MS), Latest())
    assert query.read(query.start, end) == []


def test_a_slow_start_does_not_move_latest() -> None:
    """LATEST is the time when reading starts. An end after it is accepted, however long the search for the tips takes."""
    stream = scripted_stream(1)
    query = Planned([stream], Latest())
    end = AtTimestamp(stream.now_ms() + 1000)
    stream.clock.sleep(30)
    stream.put_many(A, 1, 0.1)
    assert query.read(query.start, query.planner.end_offset(query.start, end, Latest())) == []


def check(
    streams: list[ScriptedStream], start: StartingPosition, end: EndingPosition, *, accepted: bool
) -> None:
    """Check that a batch read is accepted, or refused because it starts after its end."""
    query = Planned([*streams], start)
    with nullcontext() if accepted else pytest.raises(OptionError, match="is after its end"):
        query.planner.end_offset(query.start, end, start)


def test_shards_that_all_start_after_their_end_are_refused() -> None:
    """A read is refused if no shard can have a record in it, whether times, records or whole shards are compared."""
    stream = scripted_stream(2)
    (a, *_), (b, *_) = stream.put_many(A, 3, 0.1), stream.put_many(B, 3, 0.1)
    first, now = PerShard({A: At(a.number), B: At(b.number)}), AtTimestamp(stream.now_ms())
    early = AtTimestamp(stream.now_ms() - 100_000)
    check([stream], PerShard({A: After(a.number), B: After(b.number)}), first, accepted=False)
    check([stream], PerShard({A: now, B: now}), early, accepted=False)
    check([stream], now, PerShard({A: early, B: early}), accepted=False)
    check([stream], first, first, accepted=True)
    check([stream], PerShard({A: ShardEnd(), B: ShardEnd()}), first, accepted=True)


def test_a_shard_that_is_not_named_is_read() -> None:
    """A read is accepted if a shard, named or not, or another stream, can have records in it."""
    stream = scripted_stream(2)
    other = scripted_stream(1, "teas", stream.clock)
    (a, *_), (b, *_) = stream.put_many(A, 3, 0.1), stream.put_many(B, 3, 0.1)
    now, early = AtTimestamp(stream.now_ms()), AtTimestamp(stream.now_ms() - 100_000)
    late = After(a.number)
    check([stream], PerShard({A: late}), PerShard({A: At(a.number)}), accepted=True)
    check([stream], PerShard({A: late, B: TrimHorizon()}), PerShard({A: At(a.number)}), accepted=True)
    check([stream], PerShard({A: late, B: After(b.number)}), PerShard({A: At(a.number)}), accepted=True)
    check([stream, other], PerStream({"orders": now, "teas": early}), early, accepted=True)
    check([stream, other], PerStream({"orders": now, "teas": now}), early, accepted=False)


def test_latest_after_a_split_is_refused_before_it() -> None:
    """Shards that count as read are left out: after a split LATEST is as late as before."""
    stream = scripted_stream(1)
    stream.put_many(A, 3, 0.1)
    left, right = stream.split(A)
    stream.clock.sleep(100)
    early = AtTimestamp(stream.now_ms() - 60_000)
    check([stream], PerShard({left: Latest(), right: Latest()}), early, accepted=False)
    check([stream], Latest(), early, accepted=False)


def test_one_shard_after_its_end_hides_no_other() -> None:
    """A shard whose LATEST is after its end is an empty range, and the others are read."""
    stream = scripted_stream(2)
    first, *_ = stream.put_many(A, 10, 0.1)
    query = Planned([stream], Latest())
    stream.put_many(B, 3, 0.1)
    end = query.planner.end_offset(query.start, PerShard({A: At(first.number)}), Latest())
    assert query.read(query.start, end) == everything(stream, B)


def test_only_shards_at_latest_are_checked() -> None:
    """A shard that starts elsewhere may end anywhere."""
    stream = scripted_stream(2)
    stream.put_many(A, 10, 1.0)
    query = Planned([stream], start := PerShard({B: Latest()}))
    third_ms = stream.shards[A].records[3].arrived_ms or 0
    end = query.planner.end_offset(query.start, PerShard({A: AtTimestamp(third_ms)}), start)
    assert query.read(query.start, end) == everything(stream, A)[:3]
