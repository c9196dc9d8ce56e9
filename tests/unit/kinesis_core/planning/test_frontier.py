"""Which shards may be read next, as a plan learns which ones are finished."""

from __future__ import annotations

from kinesis_core.model import ShardOffset
from kinesis_core.planning.discovery import Discovery
from kinesis_core.planning.frontier import Frontier
from kinesis_core.planning.lineage import Known
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
    frontier = Frontier(listed(stream), set(parents), set())
    assert frontier.take(all_are_due) == parents
    frontier.move_on(parents[:1])
    assert frontier.take(all_are_due) == []
    frontier.move_on(parents[1:])
    assert frontier.take(all_are_due) == [child]
    frontier.move_on([])
    assert frontier.take(all_are_due) == []
