"""Generated migrations: wherever another connector stopped, each later user record comes exactly once."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

from attrs import define, field
from hypothesis import given, settings
from hypothesis import strategies as st

from kinesis_core.model import Offset
from kinesis_core.options import starting_position
from kinesis_core.planning import Limits, PlanSettings
from kinesis_core.reading import user_records
from kinesis_core.reading.arrow import BatchBuilder
from support.aggregates import aggregate
from support.fake_stream import FakeClock, FakeStream, Mood
from support.histories import rest
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
class Connector:
    """Another connector that stopped somewhere; *draw* decides where."""

    written: Written
    draw: st.DataObject
    unpacks: bool
    """Whether it knows of aggregates, as awslabs's does and qubole's does not."""
    read: dict[str, int] = field(factory=dict)
    """How many user records it read, by shard that it knows."""
    finished: set[str] = field(factory=set)
    started: dict[str, dict[str, str]] = field(factory=dict)
    """Where its last batch began: its line in the offset log."""
    ended: list[dict[str, Any]] = field(factory=list)
    """Where it ended: its files, by shard."""

    def stop(self) -> str:
        """Read some of the stream, stop, and return what a user pastes."""
        reads_children_early = self._chance()
        for shard_id, shard in self.written.stream.shards.items():  # parents come before their children
            may_begin = reads_children_early or self.finished.issuperset(shard.parents)
            knows_parents = all(parent in self.read for parent in shard.parents)
            if not shard.parents or (may_begin and knows_parents and self._chance()):
                self._read_some_of(shard_id)
        for shard_id in self.read:
            self._save(shard_id)
        started = {"metadata": {"streamName": "orders", "batchId": "7"}, **self.started}
        return "\n".join(map(json.dumps, [started, *self.ended]))

    def _chance(self) -> bool:
        return self.draw.draw(st.booleans())

    def _read_some_of(self, shard_id: str) -> None:
        rows = self.written.all_rows()[shard_id]
        self.read[shard_id] = self._draw_count(rows, 0)
        is_closed = self.written.stream.shards[shard_id].is_closed
        if is_closed and self.read[shard_id] == len(rows) and self._chance():
            self.finished.add(shard_id)

    def _draw_count(self, rows: list[Row], first: int, last: int | None = None) -> int:
        count = self.draw.draw(st.integers(first, len(rows) if last is None else last))
        while not self.unpacks and 0 < count < len(rows) and rows[count][1] == rows[count - 1][1]:
            count += 1
        return count

    def _save(self, shard_id: str) -> None:
        """Write the shard into the offset, a file of its own or both; leave it out if it and its children allow that."""
        stream, read = self.written.stream, self.read[shard_id]
        children = [s.shard_id for s in stream.shards.values() if shard_id in s.parents]
        is_finished = shard_id in self.finished
        if is_finished and children and self.read.keys() >= set(children) and self._chance():
            return
        if is_finished or self._chance():
            rows = self.written.all_rows()[shard_id]
            self.started[shard_id] = self._position(shard_id, self._draw_count(rows, 0, read))
            ended = {"iteratorType": "SHARD_END", "iteratorPosition": ""}
            self.ended.append(
                {"shardId": shard_id, **(ended if is_finished else self._position(shard_id, read))}
            )
        else:
            self.started[shard_id] = self._position(shard_id, read)

    def _position(self, shard_id: str, read: int) -> dict[str, str]:
        if read == 0:
            return {"iteratorType": "TRIM_HORIZON", "iteratorPosition": ""}
        _, number, index, _ = self.written.all_rows()[shard_id][read - 1]
        position = {"iteratorType": "AFTER_SEQUENCE_NUMBER", "iteratorPosition": number}
        if not self.unpacks:
            return position
        size = self.written.sizes[number]
        is_last = index == max(1, size) - 1
        return {**position, "subSequenceNumber": str(index if size else -1), "isLast": str(is_last).lower()}


@define
class Query:
    """Ours, which takes over."""

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


@settings(max_examples=200, deadline=None)
@given(
    st.data(),
    st.integers(1, 3),
    moods,
    limits,
    histories,
    histories,
    st.booleans(),
    st.booleans(),
    st.integers(),
)
def test_nothing_is_lost_or_repeated(
    data: st.DataObject,
    shards: int,
    mood: Mood,
    bounds: Limits,
    before: History,
    after: History,
    unpacks: bool,
    bounded: bool,
    seed: int,
) -> None:
    """A query continues after the very user record at which another connector stopped, inside aggregates too."""
    written = Written(FakeStream(FakeClock(), random.Random(seed), mood).create(shards))
    written.play(before)
    connector = Connector(written, data, unpacks)
    position = starting_position().parse(connector.stop())
    query = Query(Planned([written.stream], position, PlanSettings(bounds)))
    query.drain(bounded=bounded)
    written.play(after)
    query.drain(bounded=bounded)
    for shard_id, rows in written.all_rows().items():
        mine = [row for row in query.rows if row[0] == shard_id]
        assert mine == rows[connector.read.get(shard_id, 0) :], f"{shard_id} is not what was left of it"
