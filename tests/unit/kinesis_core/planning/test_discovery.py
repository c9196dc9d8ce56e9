"""What a query does while ListShards leaves out shards."""

from __future__ import annotations

import threading
from contextlib import closing
from itertools import pairwise

import pytest
from attrs import define, field

from kinesis_core.errors import DataLossError, StaleListingError
from kinesis_core.model import (
    After,
    AtTimestamp,
    Cut,
    ForeignCheckpoint,
    Latest,
    Offset,
    PerShard,
    ShardEnd,
    ShardOffset,
    StartingPosition,
    StreamOffset,
    TrimHorizon,
)
from kinesis_core.planning import Limits, Planner, PlanSettings
from kinesis_core.planning.discovery import PAUSES_S, Discovery, Known
from support.fake_stream import FakeClock, FakeStream
from support.planned import Planned, Read, everything, through_text
from support.scripted_stream import ScriptedStream, scripted_stream
from support.waiting import PATIENCE_S

A, B, C, D, E = (f"shardId-{i:012d}" for i in range(5))
FOR_EVER = 1000


def split_with_records(stream: ScriptedStream, shard_id: str) -> list[str]:
    children = stream.split(shard_id)
    for child in children:
        stream.put_many(child, 5)
    return children


def discovery_of(stream: ScriptedStream, lost: list[str]) -> Discovery:
    """Return a discovery that continues after losses, and adds the shards to *lost*."""
    return Discovery(
        "orders",
        stream,
        stream.clock,
        lambda shard_id, *_: lost.append(shard_id),
        lambda shard_id: shard_id in stream.shards,
        stream.describe,
    )


def drained(query: Planned, pause_s: float = 5.0) -> Read:
    """Return what comes in the next three minutes."""
    read: Read = []
    until_s = query.clock.now + 180
    while query.clock.now < until_s:
        read += query.batch()
        query.clock.sleep(pause_s)
    return read


def in_order(stream: ScriptedStream, read: Read) -> bool:
    """Return whether all that was read comes once, in order in its shard, and after its shard's ancestors."""
    index = {record: i for i, record in enumerate(read)}
    for shard in stream.shards.values():
        mine = [index[record] for record in everything(stream, shard.shard_id) if record in index]
        older = stream.ancestors(shard.shard_id)
        above = [index[record] for record in everything(stream, *older) if record in index]
        if mine != sorted(mine) or (older and mine and max(above, default=-1) > mine[0]):
            return False
    return len(index) == len(read)


def test_a_grandchild_without_its_parent() -> None:
    """A grandchild that is listed before its parent waits for it: every record comes, parents first."""
    stream = scripted_stream()
    query = Planned([stream])
    assert query.batch() == []
    split_with_records(stream, A)
    split_with_records(stream, B)
    stream.leave_out(B, responses=4)
    stream.clock.sleep(15)
    read = drained(query)
    assert sorted(read) == everything(stream)
    assert in_order(stream, read)


def test_children_without_their_parent_whose_rest_is_unread() -> None:
    """A closed shard that a listing lacks is read to its end before its children, as it can still be read."""
    stream = scripted_stream()
    stream.put_many(A, 30, 0.01)
    query = Planned([stream], settings=PlanSettings(Limits(max_records=5)))
    read = query.batches(2)
    split_with_records(stream, A)
    stream.leave_out(A, responses=4)
    stream.clock.sleep(15)
    read += drained(query, 1.0)
    assert sorted(read) == everything(stream)
    assert in_order(stream, read)


@pytest.mark.parametrize("is_bounded", [False, True])
def test_a_query_that_ends_waits_for_all_children(is_bounded: bool) -> None:
    """A batch read, Trigger.Once and AvailableNow do not end without the second child of a split."""
    stream = scripted_stream()
    query = Planned([stream])
    assert query.batch() == []
    stream.put_many(A, 3)
    split_with_records(stream, A)
    stream.leave_out(C, responses=3)
    if is_bounded:
        query.planner.fix_targets()
    read: Read = []
    while batch := query.batch(bounded=is_bounded):
        read += batch
    assert sorted(read) == everything(stream)


def test_a_query_that_ends_refuses_an_older_listing() -> None:
    """AvailableNow fixed its targets by a listing. An older one, whole in itself, must not hide the shards among them."""
    stream = scripted_stream()
    query = Planned([stream], settings=PlanSettings(Limits(max_records=1)))
    assert query.batch() == []
    before = stream.list_shards()
    stream.put_many(A, 3, every_s=60)
    split_with_records(stream, A)
    query.planner.fix_targets()
    read = query.batch()
    assert 0 < len(read) < 3
    stream.stale_listings = [before] * 3
    query.clock.sleep(3600)  # so that a new listing is due
    while batch := query.batch():
        read += batch
    assert not stream.stale_listings
    assert sorted(read) == everything(stream)


def test_an_awaited_shard_that_left_unread_is_reported() -> None:
    """A shard among the targets of a run may leave the stream before it is read. That is a loss like that of any other shard."""
    stream = scripted_stream()
    lost: list[str] = []
    left, right = stream.split(A)
    discovery = discovery_of(stream, lost)
    known = Known(named={right}, finished=set(), expected={right})
    discovery.refresh(known, patiently=True)
    discovery.awaited = frozenset({left, right})
    children = stream.split(left)
    del stream.shards[A], stream.shards[left]
    listing = discovery.refresh(known, patiently=True)
    assert lost == [left]
    assert sorted(listing) == sorted([right, *children])
    assert discovery.refresh(known, patiently=True) == listing
    assert lost == [left], "once"


def test_a_batch_without_a_bound_waits_for_children_of_a_finished_shard() -> None:
    """A shard that an earlier batch finished has children, and a batch without a bound does not end before they are listed."""
    stream = scripted_stream()
    query = Planned([stream])
    assert query.batch() == []
    stream.put_many(A, 3)
    split_with_records(stream, A)
    stream.leave_out(B, C, responses=3)
    assert query.batch() == everything(stream, A)
    assert stream.stale_listings
    assert sorted(query.batch(bounded=False)) == everything(stream, B, C)


@pytest.mark.parametrize("left_out", [(A, B), (B,), (C, D), (D,), (A, B, C, D)])
def test_a_query_that_begins_waits_for_a_whole_listing(left_out: tuple[str, ...]) -> None:
    """A first listing with a hole is not believed, whatever the position; the wait ends with the first whole one."""
    stream = scripted_stream(2)
    stream.put_many(A, 3)
    split_with_records(stream, A)
    stream.leave_out(*left_out, responses=3)
    query = Planned([stream])
    assert query.clock.now == stream.clock.now == 1_790_000_000 + sum(PAUSES_S[:3])
    assert sorted(query.batches(4)) == everything(stream)


def test_a_young_stream_lists_every_parent() -> None:
    """A listing without a closed parent is believed only where the parent can have left the stream."""
    stream = scripted_stream()
    stream.created_ms = stream.now_ms() - 22 * 3_600_000
    stream.put_many(A, 3)
    split_with_records(stream, A)
    stream.leave_out(A, responses=2)
    assert sorted(Planned([stream]).batches(3)) == everything(stream)


def test_an_older_stream_may_have_lost_a_parent() -> None:
    """A stream that is nearly a day old is believed without a parent that Kinesis does not know: it may have left."""
    stream = scripted_stream()
    stream.created_ms = stream.now_ms() - 23 * 3_600_000
    split_with_records(stream, A)
    del stream.shards[A]
    began_s = stream.clock.now
    assert sorted(Planned([stream]).batches(3)) == everything(stream)
    assert stream.clock.now - began_s < 5


def test_a_listing_that_no_offset_was_compared_with_is_refused_later() -> None:
    """A listing for a start or an end, which no offset confirms, is compared with the next offset before a plan uses it."""
    stream = scripted_stream()
    split_with_records(stream, A)
    split_with_records(stream, B)
    discovery = discovery_of(stream, [])
    stream.leave_out(A, B, responses=1)
    discovery.refresh(Known(), patiently=True)
    known = Known(named={A}, expected={A})
    assert not discovery.is_checked
    assert discovery.is_outdated(known, age_s=FOR_EVER)
    discovery.refresh(known, patiently=True)
    assert discovery.is_checked
    assert not discovery.is_outdated(known, age_s=FOR_EVER)


def test_a_restarted_query_waits_for_a_whole_listing() -> None:
    """A restarted query compares its first listing with its offset before it plans anything."""
    stream = scripted_stream()
    query = Planned([stream])
    split_with_records(stream, A)
    split_with_records(stream, B)
    stream.leave_out(B, responses=2)
    query.restart()
    read = drained(query)
    assert sorted(read) == everything(stream)
    assert in_order(stream, read)


@pytest.mark.parametrize("position", [TrimHorizon(), Latest()])
def test_a_listing_for_a_start_is_compared_with_the_offset(position: StartingPosition) -> None:
    """Spark asks for the start again when it replays the first batch; what was listed for that is checked before a plan."""
    stream = scripted_stream()
    query = Planned([stream], position, PlanSettings(Limits(max_records=5)))
    stream.put_many(A, 30, 0.01)
    read = query.batch()
    split_with_records(stream, A)
    stream.leave_out(A, responses=2)
    query.restart()
    query.planner.initial_offset(query.position)
    read += drained(query, 1.0)
    assert sorted(read) == everything(stream)
    assert in_order(stream, read)


def test_a_shard_that_only_the_offset_names_is_read() -> None:
    """At LATEST the start names the newest shards. One between them and the offset of a replay is not passed over."""
    stream = scripted_stream()
    query = Planned([stream], Latest())
    stream.put_many(A, 3, 0.01)
    read = query.batch()
    grandparent, _ = split_with_records(stream, A)
    split_with_records(stream, grandparent)
    stream.leave_out(A, grandparent, responses=1)
    query.restart()
    query.planner.initial_offset(query.position)
    read += drained(query, 1.0)
    assert sorted(read) == everything(stream)
    assert in_order(stream, read)


def test_children_of_a_shard_that_was_read_to_its_end_are_read_at_once() -> None:
    """Where a finished shard is not listed while its children are, nothing is missing: they are not waited for."""
    stream = scripted_stream()
    ended = stream.put(A, b"x")
    child, _ = stream.split(A)
    query = Planned([stream])
    shards = {A: ShardOffset(ShardEnd(), ended.arrived_ms)}
    query.start = Offset({"orders": StreamOffset(stream.created_ms, shards)})
    record = stream.put(child, b"y")
    stream.leave_out(A, responses=99)
    query.restart()
    began_s = stream.clock.now
    assert query.batch() == [(child, record.sequence_number)]
    assert stream.clock.now - began_s < 5


def test_a_replayed_batch_keeps_its_order() -> None:
    """A batch of three generations is replayed parents first, though the first listing lacks the oldest two."""
    stream = scripted_stream()
    query = Planned([stream])
    stream.put_many(A, 5)
    children = stream.split(A)
    for child in children:
        split_with_records(stream, child)
    start, end = query.start, query.planner.next_offset(through_text(query.start), bounded=False)
    stream.leave_out(A, B, responses=2)
    query.restart()
    read = query.read(start, end)
    assert sorted(read) == everything(stream)
    assert in_order(stream, read)
    assert len(query.planner.range_groups(start, end)) == 1


def test_other_shards_continue() -> None:
    """While listings are stale, known shards are read at their rate, and ListShards is called after growing pauses."""
    stream = scripted_stream(2)
    query = Planned([stream])
    assert query.batch() == []
    split_with_records(stream, A)
    stream.leave_out(C, D, responses=6)
    stream.clock.sleep(15)
    stream.log.clear()
    started_s = stream.clock.now
    read: Read = []
    while stream.stale_listings:
        record = stream.put(B, b"x")
        read += query.batches(2)
        assert (B, record.sequence_number) in read
        assert stream.clock.now - started_s < sum(PAUSES_S[:6])
    asked = [call.at_s for call in stream.calls_of("ListShards")]
    pauses = [later - earlier for earlier, later in pairwise(asked)]
    assert len(asked) == 6
    assert all(pause >= least for pause, least in zip(pauses, PAUSES_S, strict=False))
    assert sorted(read + drained(query)) == everything(stream)


def test_children_are_asked_for_until_they_are_there() -> None:
    """Children of a shard that ended are found after the next pause, whatever batches other shards have meanwhile."""
    stream = scripted_stream(2)
    stream.put(A, b"x")
    query = Planned([stream])
    assert query.batch() == everything(stream, A)
    split_with_records(stream, A)
    stream.leave_out(C, D, responses=3)
    started_s = stream.clock.now
    read: Read = []
    while len(read) < 10:
        stream.put(B, b"x")
        read += [record for record in query.batches(2) if record[0] in (C, D)]
    assert stream.clock.now - started_s < 5


@pytest.mark.parametrize("is_patient", [False, True])
def test_a_listing_that_stays_stale(is_patient: bool) -> None:
    """After two minutes of stale listings the query ends with an error that names stream and hole. No record is skipped."""
    stream = scripted_stream()
    query = Planned([stream])
    assert query.batch() == []
    split_with_records(stream, A)
    stream.leave_out(C, responses=FOR_EVER)
    stream.clock.sleep(15)
    stream.log.clear()
    started_s = stream.clock.now
    hole = rf"left out shards in each of 14 listings.*no child of the closed shard {A} has .*stream=orders"
    with pytest.raises(StaleListingError, match=hole):
        query.batches(FOR_EVER, bounded=not is_patient)
    assert len(stream.calls_of("ListShards")) == 14
    assert 120 < stream.clock.now - started_s < 125
    stream.stale_listings.clear()
    query.restart()
    assert sorted(query.batches(3)) == everything(stream)


def test_a_stale_response_now_and_then_is_no_error() -> None:
    """Only stale listings in a row count: a complete one resets the count."""
    stream = scripted_stream()
    query = Planned([stream])
    whole = FakeStream.list_shards(stream)
    for _ in range(10):
        stream.stale_listings = [*[[]] * 10, whole]
        while stream.stale_listings:
            stream.clock.sleep(12)
            assert query.batch() == []


def test_shards_that_left_between_the_offset_and_the_listing(caplog: pytest.LogCaptureFixture) -> None:
    """A shard that was born and left while the query was down is a loss, which the user may accept."""

    def come_back(*, fails: bool) -> tuple[ScriptedStream, Planned]:
        stream = scripted_stream()
        stream.put(A, b"x")
        query = Planned([stream], settings=PlanSettings(fail_on_data_loss=fails))
        split_with_records(stream, A)
        query.batch()
        assert query.start.streams["orders"].finished() == {A}
        split_with_records(stream, B)
        for gone in (A, B):
            del stream.shards[gone]
        query.restart()
        return stream, query

    _, query = come_back(fails=True)
    lost = f"{B}, the parent of {D}, is not listed and was never read, so .* may be lost.*fail_on_data_loss=False.*shard={B}"
    with pytest.raises(DataLossError, match=lost):
        query.batch()
    assert query.clock.now - 1_790_000_000 > 120, "it may be a stale listing"
    stream, query = come_back(fails=False)
    assert sorted(query.batches(5)) == everything(stream, C, D, E)
    assert caplog.text.count("data.lost") == 1


def test_a_loss_that_is_certain_is_not_waited_for() -> None:
    """Where an unfinished shard has left the stream, a listing without its child is no staleness."""
    stream = scripted_stream()
    stream.put_many(A, 5)
    query = Planned([stream], settings=PlanSettings(fail_on_data_loss=True))
    query.batch()
    split_with_records(stream, A)
    split_with_records(stream, B)
    for gone in (A, B):
        del stream.shards[gone]
    query.restart()
    with pytest.raises(DataLossError, match="may be lost"):
        query.batch()
    assert query.clock.now - 1_790_000_000 < 5


def test_a_shard_that_a_stale_listing_lacks_after_a_loss(caplog: pytest.LogCaptureFixture) -> None:
    """After a loss, a shard between the offset and a listing is asked for by its id: one that is there is not lost as well."""
    stream = scripted_stream()
    stream.put_many(A, 5)
    query = Planned([stream], settings=PlanSettings(fail_on_data_loss=False))
    query.batch()
    stream.put_many(A, 5)
    split_with_records(stream, A)
    split_with_records(stream, B)
    del stream.shards[A]
    stream.leave_out(B, responses=3)
    query.restart()
    read = drained(query)
    assert sorted(read) == everything(stream)
    assert in_order(stream, read)
    assert caplog.text.count("data.lost") == 1


def test_a_shard_that_no_listing_has_is_not_lost_while_it_is_there() -> None:
    """Where every listing lacks a shard that Kinesis knows, the query ends with an error of that, and not as after a loss."""
    stream = scripted_stream()
    stream.put(A, b"x")
    query = Planned([stream])
    split_with_records(stream, A)
    query.batch()
    split_with_records(stream, B)
    del stream.shards[A]
    stream.leave_out(B, responses=FOR_EVER)
    query.restart()
    with pytest.raises(StaleListingError, match=f"{B}, the parent of {D}, is not listed"):
        query.batches(FOR_EVER)
    stream.stale_listings.clear()
    query.restart()
    assert sorted(query.batches(4)) == everything(stream)


def test_an_older_snapshot_is_not_read_again() -> None:
    """A listing from before reshards that the offset knows does not bring back what was read."""
    stream = scripted_stream()
    query = Planned([stream])
    older = FakeStream.list_shards(stream)
    split_with_records(stream, A)
    split_with_records(stream, B)
    read = drained(query)
    assert A not in query.start.streams["orders"].shards
    stream.stale_listings = [older] * 3
    query.restart()
    assert query.batches(5) == []
    assert sorted(read) == everything(stream)


def test_an_older_snapshot_without_what_was_finished_last() -> None:
    """A listing from before shards that the offset calls finished shows their parent, and it is not read again."""
    stream = scripted_stream()
    split_with_records(stream, A)
    older = [shard for shard in FakeStream.list_shards(stream) if shard.shard_id != A]
    children = split_with_records(stream, B)
    for child in children:
        stream.split(child)
    last = {s: stream.shards[s].records[-1] for s in (C, *children)}
    shards = {s: ShardOffset(ShardEnd(), r.arrived_ms) for s, r in last.items() if s != C}
    shards[C] = ShardOffset(After(last[C].number), last[C].arrived_ms)
    query = Planned([stream])
    del stream.shards[A]
    query.start = Offset({"orders": StreamOffset(stream.created_ms, shards)})
    stream.stale_listings = [older] * 3
    query.restart()
    assert query.batches(5) == []
    assert stream.stale_listings == []


def test_a_clock_that_is_set_back() -> None:
    """After a clock was set back, the shards are listed again at once and not when it has caught up."""
    stream = scripted_stream()
    query = Planned([stream])
    assert query.batch() == []
    split_with_records(stream, A)
    stream.leave_out(C, responses=1)
    assert query.batch() == []
    stream.clock.now -= 3600
    assert sorted(query.batches(3)) == everything(stream)


def test_a_shard_of_a_checkpoint_that_is_not_listed() -> None:
    """A start that names a shard which Kinesis knows waits until it is listed, instead of counting it as gone."""
    stream = scripted_stream()
    records = stream.put_many(A, 5)
    split_with_records(stream, A)
    for position in (
        ForeignCheckpoint({A: After(records[1].number)}),
        PerShard({A: After(records[1].number)}),
    ):
        stream.leave_out(A, responses=2)
        assert sorted(Planned([stream], position).batches(3)) == everything(stream)[2:]


def test_a_shard_that_a_user_leaves_out() -> None:
    """An open shard that a user calls finished is left out without waiting for children that it cannot have."""
    stream = scripted_stream(2)
    stream.put_many(A, 5)
    query = Planned([stream], ForeignCheckpoint({A: ShardEnd(), B: Latest()}))
    stream.put_many(B, 5)
    assert query.batches(3) == everything(stream, B)
    assert stream.clock.now - 1_790_000_000 < 5
    stream.clock.sleep(15)
    split_with_records(stream, A)
    assert sorted(drained(query)) == everything(stream, C, D)


def test_offsets_that_name_every_closed_shard_shrink() -> None:
    """An offset of an older release names all closed shards; with the next batch it names those that are needed."""
    stream = scripted_stream()
    shard_id = A
    for _ in range(10):
        shard_id = stream.merge(*stream.split(shard_id))
    shards = {s: ShardOffset(ShardEnd()) for s in stream.shards if s != shard_id}
    first = stream.put(shard_id, b"x")
    query = Planned([stream], Latest())
    assert set(query.start.streams["orders"].shards) == {shard_id}
    started = ShardOffset(After(first.number), first.arrived_ms)
    query.start = Offset({"orders": StreamOffset(stream.created_ms, {**shards, shard_id: started})})
    stream.put(shard_id, b"x")
    assert query.batches(2) == everything(stream)[1:]
    assert set(query.start.streams["orders"].shards) == {shard_id}
    stream.clock.sleep(15)
    split_with_records(stream, shard_id)
    assert len(drained(query)) == 10


def test_generations_that_are_listed_are_not_listed_again() -> None:
    """An unbounded batch over many generations asks ListShards once for its start and once for nothing more."""
    stream = scripted_stream()
    shard_id = A
    for _ in range(20):
        stream.put(shard_id, b"x")
        shard_id = stream.merge(*stream.split(shard_id))
    query = Planned([stream])
    assert len(query.batch(bounded=False)) == 20
    assert len(stream.calls_of("ListShards")) == 1


@pytest.mark.parametrize("position", [TrimHorizon(), AtTimestamp(1_789_999_000_000)])
def test_a_closed_shard_that_the_first_listing_leaves_out(position: StartingPosition) -> None:
    """A start at old records asks for each parent that is not listed: one that Kinesis knows is waited for, and is read."""
    stream = scripted_stream()
    stream.put_many(A, 10)
    split_with_records(stream, A)
    stream.leave_out(A, responses=2)
    assert sorted(Planned([stream], position).batches(3)) == everything(stream)


@pytest.mark.parametrize("records", [0, 3])
def test_an_open_child_that_a_user_leaves_out(records: int) -> None:
    """A user may call a child finished whose parent is to be read: its siblings are read, and nobody waits for its children."""
    stream = scripted_stream()
    stream.put_many(A, records)
    left, right = stream.split(A)
    stream.put_many(left, 3)
    stream.put_many(right, 3)
    cuts: dict[str, Cut | Latest] = {A: TrimHorizon(), left: ShardEnd(), right: TrimHorizon()}
    query = Planned([stream], PerShard(cuts))
    read = []
    for _ in range(20):
        read += query.batch()
        stream.clock.sleep(15)
    assert read == everything(stream, A) + everything(stream, right)


@define
class MeetingStream(ScriptedStream):
    """A stream in which each call for an expired shard waits for others."""

    others: threading.Barrier = field(factory=lambda: threading.Barrier(4))

    def get_iterator(self, shard_id: str, cut: Cut) -> str:
        if shard_id in self.gone:
            self.others.wait(PATIENCE_S)
        return super().get_iterator(shard_id, cut)


def split_long_ago(count: int) -> MeetingStream:
    """Return a stream of shards that were split and have expired."""
    stream = MeetingStream(FakeClock())
    stream.create(count)
    for shard_id in list(stream.shards):
        stream.split(shard_id)
        stream.gone[shard_id] = stream.shards.pop(shard_id)
    stream.clock.sleep(7 * 86_400)
    return stream


def test_a_start_asks_for_unlisted_parents_at_once() -> None:
    """The threads of the planner ask for several parents at the same time, and for each of them once."""
    stream = split_long_ago(8)
    with closing(Planner({"orders": stream}, threads=4, clock=stream.clock)) as planner:
        start = planner.initial_offset(TrimHorizon())
    assert set(start.streams["orders"].shards) == set(stream.shards)
    assert sorted(c.shard_id for c in stream.calls_of("GetShardIterator")) == sorted(stream.gone)


def test_a_restart_asks_for_unlisted_shards_at_once() -> None:
    """A new planner asks at the same time for all shards that an offset names and no listing has."""
    stream = split_long_ago(8)
    unread = {shard_id: ShardOffset(TrimHorizon()) for shard_id in stream.gone}
    start = Offset({"orders": StreamOffset(stream.created_ms, unread)})
    settings = PlanSettings(fail_on_data_loss=False)
    with closing(Planner({"orders": stream}, settings, threads=4, clock=stream.clock)) as planner:
        planner.next_offset(start)
    asked = stream.calls_of("GetShardIterator")[:8]
    assert sorted(c.shard_id for c in asked) == sorted(stream.gone)
