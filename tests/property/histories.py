"""Histories of a stream and of a query on it, to be generated, played, and checked for every record."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence, Set
from itertools import chain
from typing import Any

from attrs import define, evolve, field
from hypothesis import strategies as st

from kinesis_core.model import Offset, StartingPosition, TrimHorizon
from kinesis_core.planning import Limits, Planner, PlanSettings
from kinesis_core.reading import PollingRangeReader, ReadSettings
from support.fake_stream import FakeClock, FakeStream, Mood
from support.planned import read_and_check

LONGEST_SILENCE_S = 60
"""Throttles in a row hold a shard up for 5 s each; so many of them do not come in these histories."""

RETENTION_HOURS, HORIZON_MARGIN_S = 168, 5 * 86_400.0
"""
For a query that begins at TRIM_HORIZON. It begins five days after the oldest record that a stream may have, so nothing expires
while it waits: 25 steps wait for 28 hours at most.
"""

History = Sequence[tuple[Any, ...]]
"""What happens, step by step: the kind of step and its arguments."""
Read = list[tuple[str, str]]
"""Shard and sequence number of each record, in the order of reading."""

moods = st.builds(
    Mood,
    throttles=st.sampled_from([0, 0, 20]),
    empty_pages=st.sampled_from([0, 0, 40]),
    short_pages=st.sampled_from([0, 30]),
    expiries=st.sampled_from([0, 10]),
    end_page_of_its_own=st.booleans(),
    jitter_ms=st.sampled_from([0, 0, 50, 3000]),
    stale_listings=st.sampled_from([0, 0, 40, 90]),
)
limits = st.builds(
    Limits,
    max_records=st.sampled_from([1, 3, 10, 100, None]),
    max_bytes=st.sampled_from([None, None, 50, 2000]),
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 99), st.integers(1, 20)),
        st.tuples(st.just("burst"), st.integers(0, 99), st.integers(20, 60)),
        st.tuples(st.just("wait"), st.sampled_from([0.001, 0.3, 2.0, 40.0, 4000.0])),
        st.tuples(st.just("split"), st.integers(0, 99)),
        st.tuples(st.just("merge"), st.integers(0, 99)),
        st.tuples(st.just("batch")),
        st.tuples(st.just("batch")),
        st.tuples(st.just("crash before commit")),
        st.tuples(st.just("restart")),
    ),
    max_size=25,
)


@define
class Query:
    """What Spark does with a source: an offset log, a commit log, and readers that come and go."""

    stream: FakeStream
    settings: PlanSettings
    position: StartingPosition
    planner: Planner = field(init=False)
    log: list[str] = field(factory=list)
    batches: list[Read] = field(factory=list)
    is_logged: bool = False
    """Whether a batch was planned, which may be one without records. Spark asks for the initial offset before that."""
    start: Offset = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.stream.retention_hours = RETENTION_HOURS
        self.settings = evolve(self.settings, trim_horizon_margin_s=HORIZON_MARGIN_S)
        self.restart()
        self.start = self.planner.initial_offset(self.position)

    def restart(self) -> None:
        apis = {self.stream.name: self.stream}
        self.planner = Planner(apis, self.settings, threads=1, clock=self.stream.clock, rng=random.Random(1))
        if not self.is_logged and self.position == TrimHorizon():
            self.start = self.planner.initial_offset(self.position)

    def plan(self, *, bounded: bool = True) -> Offset | None:
        end = self.planner.next_offset(self.start, bounded=bounded)
        self.is_logged = True
        return None if end.to_json() == self.start.to_json() else end

    def read(self, start: Offset, end: Offset) -> Read:
        """Read a batch through offsets that went through text, as Spark hands them over."""
        started, ended = (Offset.from_json(json.loads(json.dumps(o.to_json()))) for o in (start, end))
        reader = PollingRangeReader(lambda _: self.stream, ReadSettings(), random.Random(2))
        return [
            (shard_range.shard_id, record.sequence_number)
            for shard_range in chain.from_iterable(self.planner.range_groups(started, ended))
            for page in read_and_check(shard_range, reader, self.stream.clock)
            for record in page.records
        ]

    def run_batch(self, *, crash: bool = False, bounded: bool = True) -> bool:
        end = self.plan(bounded=bounded)
        if end is None:
            return False
        read = self.read(self.start, end)
        if crash:
            self.restart()
            again = self.planner.initial_offset(self.position) if not self.batches else self.start
            assert sorted(self.read(again, end)) == sorted(read), "a replay gave other records"
        assert sorted(self.read(self.start, end)) == sorted(read), "a second reading gave other records"
        self.batches.append(read)
        self.start = end
        return True

    def drain(self) -> None:
        """Run until nothing is new any more, however unhelpful the service is."""
        rest(self.stream.clock, self.run_batch)


def rest(clock: FakeClock, run_batch: Callable[[], bool]) -> None:
    """Run batches until nothing has been new for so long that nothing can be left."""
    quiet_since = clock.now
    for _ in range(10_000):
        if run_batch():
            quiet_since = clock.now
        if clock.now - quiet_since > LONGEST_SILENCE_S:
            return
    raise AssertionError("the query never came to rest")


def play(stream: FakeStream, query: Query, history: History) -> None:
    for step in history:
        match step:
            case ("put" | "burst" as kind, where, count):
                put(stream, where, count, 0.0 if kind == "burst" else 0.01)
            case ("wait", seconds):
                stream.clock.sleep(seconds)
            case ("split" | "merge" as kind, where):
                reshard(stream, kind, where)
            case ("batch",):
                query.run_batch()
            case ("crash before commit",):
                query.run_batch(crash=True)
            case ("restart",):
                query.restart()


def put(stream: FakeStream, where: int, count: int, every_s: float) -> None:
    shards = stream.open_shards()
    for i in range(count):
        stream.put(shards[where % len(shards)], b"x" * (i % 50))
        stream.clock.sleep(every_s)


def reshard(stream: FakeStream, kind: str, where: int) -> None:
    """Split a shard, or merge two neighbours: Kinesis refuses others."""
    shards = sorted(stream.open_shards(), key=lambda shard_id: stream.shards[shard_id].hash_start)
    if kind == "split" and len(shards) < 8:
        stream.split(shards[where % len(shards)])
    elif kind == "merge" and len(shards) > 1:
        left = where % (len(shards) - 1)
        stream.merge(shards[left], shards[left + 1])


def assert_all_read(query: Query, before: Set[str] = frozenset()) -> None:
    """Assert that each record but those from *before* comes once and in order, children after their parents."""
    query.drain()
    assert_everything_once(query.stream, query.batches, everything(query.stream) - before)
    assert_children_after_parents(query.stream, query.batches)


def assert_everything_once(stream: FakeStream, batches: list[Read], expected: set[str]) -> None:
    read = [number for batch in batches for _, number in batch]
    assert len(read) == len(set(read)), "a record came twice"
    assert set(read) == expected, "records are missing, or came though they were put before the start"
    by_shard: dict[str, list[str]] = {}
    for shard_id, number in chain.from_iterable(batches):
        by_shard.setdefault(shard_id, []).append(number)
    for shard_id, shard in stream.shards.items():
        assert by_shard.get(shard_id, []) == [
            r.sequence_number for r in shard.records if r.sequence_number in expected
        ], "out of order"


def assert_children_after_parents(stream: FakeStream, batches: list[Read]) -> None:
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for i, (shard_id, _) in enumerate(pair for batch in batches for pair in batch):
        first.setdefault(shard_id, i)
        last[shard_id] = i
    for shard_id, started in first.items():
        for older in stream.ancestors(shard_id):  # those between may have no record
            assert last.get(older, -1) < started, f"{shard_id} was read before {older} was finished"


def everything(stream: FakeStream) -> set[str]:
    return {r.sequence_number for shard in stream.shards.values() for r in shard.records}
