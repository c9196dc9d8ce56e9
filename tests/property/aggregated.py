"""A stream of aggregates and plain records with a generated history, and a query that reads the user records of one."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, field
from hypothesis import strategies as st

from kinesis_core.model import Offset, StartingPosition
from kinesis_core.planning import Limits, PlanSettings
from kinesis_core.reading import user_records
from kinesis_core.reading.arrow import BatchBuilder
from property.histories import rest
from support.aggregates import aggregate
from support.fake_stream import FakeClock, FakeStream, Mood
from support.planned import Planned

BUILDER = BatchBuilder(["shardId", "sequenceNumber", "subSequenceNumber", "data"])

Row = tuple[str, str, int, bytes]
"""Shard, sequence number, sub-sequence number and payload of a user record."""
History = Sequence[tuple[Any, ...]]

moods = st.builds(
    Mood,
    throttles=st.sampled_from([0, 0, 20]),
    empty_pages=st.sampled_from([0, 0, 40]),
    short_pages=st.sampled_from([0, 30]),
    expiries=st.sampled_from([0, 10]),
    end_page_of_its_own=st.booleans(),
)
limits = st.builds(Limits, max_records=st.sampled_from([1, 3, 100, None]))
sizes = st.lists(st.sampled_from([0, 0, 1, 2, 3, 5, 40]), min_size=1, max_size=8)
"""How many user records each record aggregates; 0 for a record that is no aggregate."""
histories = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 99), sizes),
        st.tuples(st.just("put"), st.integers(0, 99), sizes),
        st.tuples(st.just("split"), st.integers(0, 99)),
        st.tuples(st.just("merge"), st.integers(0, 99)),
        st.tuples(st.just("wait"), st.sampled_from([0.3, 40.0, 4000.0])),
    ),
    max_size=10,
)


@define
class Written:
    """A stream, and what was put into it as the producer sees it."""

    stream: FakeStream
    rows: dict[str, list[Row]] = field(factory=dict)
    sizes: dict[str, int] = field(factory=dict)
    """How many user records there are in each record, by sequence number; 0 for one that is no aggregate."""

    def play(self, history: History) -> None:
        for step in history:
            shards = self.stream.open_shards()
            match step:
                case ("put", where, sizes):
                    for size in sizes:
                        self._put(shards[where % len(shards)], size)
                case ("wait", seconds):
                    self.stream.clock.sleep(seconds)
                case ("merge", where) if len(shards) > 1:
                    self.stream.merge(shards[where % len(shards)], shards[(where + 1) % len(shards)])
                case (_, where) if len(shards) < 6:
                    self.stream.split(shards[where % len(shards)])

    def _put(self, shard_id: str, size: int) -> None:
        payloads = [f"{len(self.sizes)}/{index}".encode() for index in range(max(1, size))]
        data = aggregate([("k", None, payload) for payload in payloads]) if size else payloads[0]
        number = self.stream.put(shard_id, data).sequence_number
        self.sizes[number] = size
        rows = [(shard_id, number, index, payload) for index, payload in enumerate(payloads)]
        self.rows[shard_id] = self.rows.get(shard_id, []) + rows
        self.stream.clock.sleep(0.01)

    def all_rows(self) -> dict[str, list[Row]]:
        """Return the user records of each shard, in order."""
        return {shard_id: self.rows.get(shard_id, []) for shard_id in self.stream.shards}


@define
class Case:
    """What was written before and after another reader stopped, and how a query reads on from there."""

    shards: int
    mood: Mood
    bounds: Limits
    before: History
    after: History
    bounded: bool
    seed: int
    written: Written = field(init=False)

    def __attrs_post_init__(self) -> None:
        stream = FakeStream(FakeClock(), random.Random(self.seed), self.mood)
        self.written = Written(stream.create(self.shards))
        self.written.play(self.before)

    def assert_rest_is_read(self, position: StartingPosition, read: Mapping[str, int]) -> None:
        """Assert that a query from *position* brings all but the first user records, of which *read* has the number by shard."""
        query = Query(Planned([self.written.stream], position, PlanSettings(self.bounds)))
        query.drain(bounded=self.bounded)
        self.written.play(self.after)
        query.drain(bounded=self.bounded)
        for shard_id, rows in self.written.all_rows().items():
            mine = [row for row in query.rows if row[0] == shard_id]
            assert mine == rows[read.get(shard_id, 0) :], f"{shard_id} is not what was left of it"


cases = st.builds(Case, st.integers(1, 3), moods, limits, histories, histories, st.booleans(), st.integers())


@define
class Query:
    """A query of this project."""

    planned: Planned
    rows: list[Row] = field(factory=list)

    def drain(self, *, bounded: bool) -> None:
        """Run until nothing is new any more, however unhelpful the service is."""
        rest(self.planned.clock, lambda: self._run_batch(bounded))

    def _run_batch(self, bounded: bool) -> bool:
        start = self.planned.start
        end = self.planned.planner.next_offset(start, bounded=bounded)
        if end.to_json() == start.to_json():
            return False
        batch = self._read(start, end)
        self.planned.restart()
        assert sorted(self._read(start, end)) == sorted(batch), "a replay gave other user records"
        self.rows += batch
        self.planned.start = end
        return True

    def _read(self, start: Offset, end: Offset) -> list[Row]:
        rows: list[Row] = []
        for found, page in self.planned.pages(start, end):
            shard_id, skip = found.shard_id, found.skip(page)
            plain = user_records(page, found.stream, shard_id, skip=skip)
            arrow = BUILDER.build(page, found.stream, shard_id, skip=skip)
            page_rows = [(shard_id, r.sequence_number, r.sub_sequence_number, r.data) for r in plain]
            assert [tuple(row.values()) for row in arrow.to_pylist()] == page_rows, "Arrow and Python differ"
            rows += page_rows
        return rows
