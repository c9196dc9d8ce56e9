"""Fan-out and polling deliver the same rows, and a query by fan-out survives every end of a subscription."""

from __future__ import annotations

import random
from itertools import chain

from hypothesis import given, settings, strategies as st

from kinesis_core.model import After, At, Offset, Record, ShardEnd, ShardRange, TrimHorizon
from kinesis_core.model.cuts import EndCut
from kinesis_core.planning import Planner, PlanSettings
from kinesis_core.reading import FanOutSettings, PollingRangeReader, ReadSettings
from kinesis_core.reading.fan_out import FanOutRangeReader
from support.examples import examples
from support.fake_stream import FakeClock, FakeShard, FakeStream, Mood
from support.fake_subscriptions import Subscriptions

SOAK_S = 20 * 60


def ranges_by_both(
    stream: FakeStream, subscriptions: Subscriptions, settings: FanOutSettings
) -> tuple[FanOutRangeReader, PollingRangeReader]:
    polling = PollingRangeReader(lambda _: stream, ReadSettings(), random.Random(0))
    return FanOutRangeReader(lambda _: subscriptions, polling, settings, random.Random(0)), polling


def a_range(stream: FakeStream, shard: FakeShard, rng: random.Random) -> ShardRange:
    first, last = sorted(rng.sample(range(len(shard.records)), 2))
    numbers = shard.records[first].number, shard.records[last].number
    ends: list[EndCut] = [At(numbers[1]), After(numbers[1])]
    if shard.is_closed:
        ends.append(ShardEnd())
    starts: list[At | After] = [At(numbers[0]), After(numbers[0])]
    return ShardRange(stream.name, shard.shard_id, rng.choice(starts), rng.choice(ends))


@settings(max_examples=examples(300), deadline=None)
@given(
    st.integers(2, 40),
    st.integers(1, 7),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0, 30]),
    st.integers(),
)
def test_both_deliver_the_same(
    count: int,
    per_event: int,
    ends_on_its_own: bool,
    is_closed: bool,
    fallback_to_polling: bool,
    empty_pages: int,
    seed: int,
) -> None:
    """Any range of any shard gives the same records by subscription (with or without a polled rest) as by polling."""
    rng = random.Random(seed)
    stream = FakeStream(FakeClock(), rng, Mood(empty_pages=empty_pages)).create(1)
    shard = next(iter(stream.shards.values()))
    for i in range(count):
        stream.put(shard.shard_id, bytes(i), f"key-{i}")
    if is_closed:
        stream.split(shard.shard_id)
    subscriptions = Subscriptions(stream, per_event, ends_on_its_own, rng=rng)
    fanned, polling = ranges_by_both(
        stream, subscriptions, FanOutSettings(fallback_to_polling, timeout_s=3600, retries=100)
    )
    for _ in range(3):
        shard_range = a_range(stream, shard, rng)
        by_fan_out = [r for page in fanned.read(shard_range, stream.clock) for r in page.records]
        by_polling = [r for page in polling.read(shard_range, stream.clock) for r in page.records]
        assert by_fan_out == by_polling
        assert subscriptions.open == 0


class Soak:
    """A query that reads each batch by fan-out only, while records are put and shards reshard."""

    def __init__(self, seed: int, fallback_to_polling: bool) -> None:
        self.rng = random.Random(seed)
        self.clock = FakeClock()
        self.stream = FakeStream(self.clock, self.rng).create(2)
        self.subscriptions = Subscriptions(self.stream, rng=self.rng)
        self.ranges, _ = ranges_by_both(
            self.stream, self.subscriptions, FanOutSettings(fallback_to_polling, timeout_s=3600, retries=100)
        )
        self.read: dict[str, list[Record]] = {}

    def run(self) -> None:
        planner = Planner(
            {self.stream.name: self.stream}, PlanSettings(), threads=1, clock=self.clock, rng=self.rng
        )
        ends_s = self.clock.now + SOAK_S
        position = planner.initial_offset(TrimHorizon())
        while self.clock.now < ends_s:
            self._change()
            position = self._batch(planner, position)
        for _ in range(200):
            self.clock.sleep(1)
            position = self._batch(planner, position)

    def _batch(self, planner: Planner, start: Offset) -> Offset:
        end = planner.next_offset(start)
        for shard_range in chain.from_iterable(planner.range_groups(start, end)):
            for page in self.ranges.read(shard_range, self.clock):
                self.read.setdefault(shard_range.shard_id, []).extend(page.records)
        return end

    def _change(self) -> None:
        shards = self.stream.open_shards()
        for _ in range(self.rng.randint(0, 40)):
            self.stream.put(self.rng.choice(shards), b"x")
            self.clock.sleep(0.02)
        change = self.rng.random()
        if change < 0.04 and len(shards) < 8:
            self.stream.split(self.rng.choice(shards))
        elif change > 0.96 and len(shards) > 1:
            self.stream.merge(*self.rng.sample(shards, 2))
        self.clock.sleep(self.rng.choice([0.1, 1.0, 6.0]))


@settings(max_examples=examples(12), deadline=None)
@given(st.integers(), st.booleans())
def test_a_soak_of_twenty_minutes(seed: int, fallback_to_polling: bool) -> None:
    """With cut connections, silence, in-stream errors, splits and merges no record is lost or repeated, and order holds."""
    soak = Soak(seed, fallback_to_polling)
    soak.run()
    for shard_id, shard in soak.stream.shards.items():
        assert soak.read.get(shard_id, []) == shard.records
    assert len(soak.subscriptions.calls) > 100
    assert soak.subscriptions.open == 0
