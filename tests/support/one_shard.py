"""One shard of a scripted stream as the planner sees it, with what tests ask of it."""

from __future__ import annotations

import random

from attrs import define, field

from kinesis_core.aws import ReadRateLimiter
from kinesis_core.model import After, At, Cut, Record, ShardEnd, ShardOffset
from kinesis_core.planning.shard_state import ShardState
from kinesis_core.shards import ShardCalls
from support.fake_stream import FakeClock, Mood
from support.scripted_stream import ScriptedStream


@define
class OneShard:
    """A stream of one shard, its state, and the calls made since they were last checked."""

    mood: Mood = field(factory=Mood)
    stream_type: type[ScriptedStream] = ScriptedStream
    stream: ScriptedStream = field(init=False)
    state: ShardState = field(init=False)
    _seen: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        clock = FakeClock()
        self.stream = self.stream_type(clock, mood=self.mood)
        self.stream.create(1)
        limiter = ReadRateLimiter(0.2, 3)
        calls = ShardCalls(self.stream, self.shard_id, clock, limiter, random.Random(0), max_throttles=0)
        self.state = ShardState(calls)

    @property
    def shard_id(self) -> str:
        return next(iter(self.stream.shards))

    @property
    def records(self) -> list[Record]:
        return self.stream.shards[self.shard_id].records

    def put(self, count: int, every_s: float = 0.0, data: bytes = b"x") -> list[Record]:
        return self.stream.put_many(self.shard_id, count, every_s, data)

    def calls(self) -> list[str]:
        """Return the actions called since the last time this was asked."""
        fresh = self.stream.log[self._seen :]
        self._seen = len(self.stream.log)
        return [call.action for call in fresh]

    def between(self, start: Cut, end: ShardOffset) -> list[Record]:
        """Return the records of a batch that ends at *end*."""
        shard = self.stream.shards[self.shard_id]
        assert isinstance(end.cut, (At, After, ShardEnd))
        assert not isinstance(start, ShardEnd)
        first = shard.index_of(start) if isinstance(start, (At, After)) else 0
        after_last = len(shard.records) if isinstance(end.cut, ShardEnd) else shard.index_of(end.cut)
        return shard.records[first:after_last]


def end_after(record: Record, first: Record) -> ShardOffset:
    """Return the end after *record* of a batch that begins with *first*."""
    return ShardOffset(After(record.number), record.arrived_ms, first.number)
