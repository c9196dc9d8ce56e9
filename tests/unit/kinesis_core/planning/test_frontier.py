"""Which shards may be read next, as a plan learns which ones are finished."""

from __future__ import annotations

from kinesis_core.model import ShardOffset
from kinesis_core.planning.discovery import Discovery, Known
from kinesis_core.planning.frontier import Frontier
from support.scripted_stream import ScriptedStream, scripted_stream


def all_are_due(_shard_id: str) -> bool:
    return True


def no_loss(shard_id: str, _started: ShardOffset, _what: str) -> None:
    raise AssertionError(f"{shard_id} was reported as lost")


def listed(stream: ScriptedStream) -> Discovery:
    """Return a discovery that has listed the shards of *stream*."""
    discovery = Discovery(
        "orders", stream, stream.clock, no_loss, stream.shards.__contains__, stream.describe
    )
    discovery.refresh(Known(), patiently=True)
    return discovery


def test_a_merged_shard_waits_for_both_parents() -> None:
    """A child is taken after the last of its parents was passed, and once."""
    stream = scripted_stream(2)
    parents = [*stream.shards]
    child = stream.merge(*parents)
    frontier = Frontier(listed(stream), set(parents), set(), set())
    assert frontier.take(all_are_due) == parents
    frontier.move_on(parents[:1])
    assert frontier.take(all_are_due) == []
    frontier.move_on(parents[1:])
    assert frontier.take(all_are_due) == [child]
    frontier.move_on([])
    assert frontier.take(all_are_due) == []


def test_an_ended_shard_counts_once_its_parent_does() -> None:
    """What a plan saw of a shard beyond an unread one does not let its children pass that one."""
    stream = scripted_stream(1)
    [oldest] = stream.shards
    empty, other = stream.split(oldest)
    children = stream.split(empty)
    frontier = Frontier(listed(stream), {oldest}, set(), {empty})
    assert frontier.take(all_are_due) == [oldest]
    assert frontier.finished == set()
    frontier.move_on([oldest])
    assert frontier.take(all_are_due) == [other, *children]
    assert frontier.finished == {oldest, empty}


def test_an_ended_shard_counts_at_once_after_finished_ones() -> None:
    """A shard that was found ended in an earlier plan is not planned once more."""
    stream = scripted_stream(1)
    [oldest] = stream.shards
    empty, other = stream.split(oldest)
    children = stream.split(empty)
    frontier = Frontier(listed(stream), {oldest}, {oldest}, {empty})
    assert frontier.take(all_are_due) == [other, *children]


def test_ended_shards_wait_in_a_row() -> None:
    """Several generations of ended shards count when all shards above them are finished, in a plan as between two."""
    stream = scripted_stream(2)
    one, two = stream.shards
    merged = stream.merge(one, two)
    halves = stream.split(merged)
    youngest = stream.merge(*halves)
    ended, discovery = {one, merged, *halves}, listed(stream)
    frontier = Frontier(discovery, {one, two}, set(), ended)
    assert frontier.finished == {one}
    assert frontier.take(all_are_due) == [two]
    frontier.move_on([two])
    assert frontier.take(all_are_due) == [youngest]
    assert Frontier(discovery, {one, two}, {two}, ended).shards == [youngest]


def test_a_shard_that_the_offset_passed_holds_no_ended_one_back() -> None:
    """An offset that names a shard says that its unnamed ancestors were read, or are to be skipped."""
    stream = scripted_stream(1)
    [oldest] = stream.shards
    named, _other = stream.split(oldest)
    children = stream.split(named)
    frontier = Frontier(listed(stream), {named}, set(), {named})
    assert set(children) <= set(frontier.shards)


def test_a_new_listing_shows_children_of_ended_shards() -> None:
    """A reshard that is found during a plan leaves ended shards as they were."""
    stream = scripted_stream(2)
    one, two = stream.shards
    empty, other = stream.split(one)
    children = stream.split(empty)
    discovery = listed(stream)
    frontier = Frontier(discovery, {one, two}, set(), {empty})
    assert frontier.take(all_are_due) == [one, two]
    youngest = stream.split(two)
    discovery.refresh(Known(), patiently=True)
    frontier.move_on([two])
    assert frontier.take(all_are_due) == youngest
    frontier.move_on([one])
    assert frontier.take(all_are_due) == [other, *children]
