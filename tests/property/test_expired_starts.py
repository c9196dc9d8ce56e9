"""
Starts at any time, in streams of any age whose records expire: either all records since that time are read, or it is said that
some are missing.
"""

from __future__ import annotations

import random
from collections import Counter

from attrs import frozen
from hypothesis import given, settings, strategies as st

from kinesis_consumer import Callbacks, GroupSettings
from kinesis_consumer.delivery import GroupStream
from kinesis_consumer.leases import assign
from kinesis_consumer.shards import LeaseKeeper
from kinesis_consumer.stores import MemoryTable
from kinesis_consumer.worker import LeaseHolder, Worker
from kinesis_core.errors import DataLossError
from kinesis_core.leases import read_lease
from kinesis_core.model import AtTimestamp, Latest
from kinesis_core.planning import PlanSettings, ShardPages
from kinesis_core.shards import MARGIN_MS
from support.examples import examples
from support.fake_stream import FakeClock, Mood
from support.planned import Planned, Read
from support.scripted_stream import ScriptedStream

A = "shardId-000000000000"
HOUR_S, HOUR_MS = 3600, 3_600_000
QUIET_ROUNDS = 150
"""So many looks without a batch, half a second apart: more than the empty pages of any mood take."""

moods = st.builds(
    Mood,
    throttles=st.sampled_from([0, 20]),
    empty_pages=st.sampled_from([0, 40]),
    short_pages=st.sampled_from([0, 30]),
    end_page_of_its_own=st.booleans(),
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 9), st.integers(1, 20)),
        st.tuples(st.just("wait"), st.sampled_from([40, 600, 5 * HOUR_S, 13 * HOUR_S, 25 * HOUR_S])),
        st.tuples(st.just("split"), st.integers(0, 9)),
    ),
    max_size=12,
)
retentions = st.sampled_from([24, 48])
hours_ago = st.sampled_from([0.0, 0.02, 0.5, 3.0, 23.5, 24.0, 24.5, 30.0, 50.0, 10_000.0])
History = list[tuple[str, int] | tuple[str, int, int]]


@frozen
class World:
    """A stream that forgets, and every record that was ever in it."""

    stream: ScriptedStream

    @classmethod
    def of(cls, mood: Mood, hours: int, history: History) -> World:
        stream = ScriptedStream(FakeClock(), name="orders", mood=mood, retention_hours=hours)
        stream.forgets, stream.created_ms = True, stream.now_ms()
        stream.create(1)
        for step in history:
            match step:
                case ("put", where, count):
                    shards = stream.open_shards()
                    stream.put_many(shards[where % len(shards)], count, 60.0)
                case ("wait", seconds):
                    stream.clock.sleep(seconds)
                case ("split", where) if len(stream.open_shards()) < 4:
                    shards = stream.open_shards()
                    stream.split(shards[where % len(shards)])
        stream.forget()
        return cls(stream)

    def since(self, epoch_ms: int, *, is_left: bool = False) -> set[tuple[str, str]]:
        """Return the records that arrived at this time or later, all of them or those that have not expired."""
        kept = {**({} if is_left else self.stream.gone), **self.stream.shards}
        return {
            (shard_id, record.sequence_number)
            for shard_id, shard in kept.items()
            for record in shard.records[shard.trimmed if is_left else 0 :]
            if (record.arrived_ms or 0) >= epoch_ms
        }

    def read(self, asked_ms: int, *, fails: bool, is_bounded: bool) -> tuple[Planned, Read]:
        query = Planned([self.stream], AtTimestamp(asked_ms), PlanSettings(fail_on_data_loss=fails))
        if is_bounded:
            end = query.planner.end_offset(query.start, Latest(), query.position)
            return query, query.read(query.start, end)
        found: Read = []
        while (end := query.planner.next_offset(query.start, bounded=False)) is not query.start:
            found += query.read(query.start, end)
            query.start = end
        return query, found

    def read_by_group(
        self, asked_ms: int, down_s: float, *, fails: bool
    ) -> tuple[Counter[tuple[str, str]], int]:
        """Return the records that a new group commits whose worker stands still for *down_s* before it reads, and the logged losses."""
        stream, table = self.stream, MemoryTable()
        LeaseKeeper(table, {None: stream}, AtTimestamp(asked_ms), stream.clock).run([])
        stream.clock.sleep(down_s)
        pages = ShardPages.of(
            "orders", stream, PlanSettings(fail_on_data_loss=fails), stream.clock, random.Random(1)
        )
        pages.begin()
        source = GroupStream("orders", pages, stream, asked_ms)
        worker = Worker(LeaseHolder("w", table, {None: source}, GroupSettings(), stream.clock, Callbacks()))
        found, idle = Counter[tuple[str, str]](), 0
        while idle < QUIET_ROUNDS:
            for item in table.scan():
                lease = read_lease(item)
                if lease.owner is None:
                    taken = table.update(assign(lease, "w"))
                    assert taken is not None
                    worker.leases.gain(read_lease(taken), stream.clock.now_s())
            due = worker.due_readers()
            for reader in due:
                worker.advance(reader)
            batch = worker.take()
            if batch is not None:
                found.update((batch.shard_id, record.sequence_number) for record in batch.records())
                batch.commit()
            idle = 0 if batch is not None else idle + 1
            worker.leases.renew()
            stream.clock.sleep(0.5)
        return found, pages._planner.reports.count


@settings(max_examples=examples(300), deadline=None)
@given(
    moods,
    retentions,
    steps,
    hours_ago,
    st.booleans(),
)
def test_a_start_at_any_time_is_whole_or_said(
    mood: Mood,
    hours: int,
    history: History,
    ago_hours: float,
    is_bounded: bool,
) -> None:
    """
    With fail_on_data_loss a read has each record since its start or is an error, which has a reason: the start is older than the
    retention, and so is the stream. Without it, the read has each record that is left, and what is missing was logged.
    """
    world = World.of(mood, hours, history)
    asked_ms = int(world.stream.now_ms() - ago_hours * HOUR_MS)
    try:
        _, read = world.read(asked_ms, fails=True, is_bounded=is_bounded)
    except DataLossError:
        horizon_ms = world.stream.now_ms() - hours * HOUR_MS
        assert max(asked_ms, world.stream.created_ms) < horizon_ms + MARGIN_MS, "a false alarm"
    else:
        assert sorted(read) == sorted(world.since(asked_ms)), "a loss in silence"
    query, read = world.read(asked_ms, fails=False, is_bounded=is_bounded)
    left = world.since(asked_ms, is_left=True)
    assert left <= set(read) <= world.since(asked_ms), (
        "a record that is left was skipped, or one is older than the start"
    )
    assert len(read) == len(set(read))
    if set(read) != world.since(asked_ms):
        assert query.planner.losses()["orders"] > 0, "a loss in silence"


@settings(max_examples=examples(200), deadline=None)
@given(
    moods,
    retentions,
    steps,
    hours_ago,
    st.sampled_from([0, HOUR_S, 25 * HOUR_S, 49 * HOUR_S]),
)
def test_a_group_that_starts_at_any_time_is_whole_or_says_it(
    mood: Mood,
    hours: int,
    history: History,
    ago_hours: float,
    down_s: float,
) -> None:
    """As a query: also if its worker stands still between the first leases and the first page."""
    worlds = [World.of(mood, hours, history) for _ in range(2)]
    asked_ms = int(worlds[0].stream.now_ms() - ago_hours * HOUR_MS)
    try:
        read, _ = worlds[0].read_by_group(asked_ms, down_s, fails=True)
    except DataLossError:
        horizon_ms = worlds[0].stream.now_ms() - hours * HOUR_MS
        assert max(asked_ms, worlds[0].stream.created_ms) < horizon_ms + MARGIN_MS, "a false alarm"
    else:
        assert read == Counter(worlds[0].since(asked_ms)), "a loss in silence"
    read, losses = worlds[1].read_by_group(asked_ms, down_s, fails=False)
    assert read <= Counter(worlds[1].since(asked_ms)), "a record is older than the start, or came twice"
    if set(read) != worlds[1].since(asked_ms):
        assert losses > 0, "a loss in silence"
