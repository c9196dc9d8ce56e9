"""Generated histories in which records leave the stream, read or not: what is lost is told, and nothing else is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import define, field
from hypothesis import given, settings
from hypothesis import strategies as st

from kinesis_core.errors import DataLossError
from kinesis_core.shard_planner import Limits
from kinesis_core.stream_planner import PlanSettings
from support.fake_stream import FakeClock, Mood
from support.planned import Planned, Read, everything
from support.scripted_stream import ScriptedStream

A = "shardId-000000000000"
RETENTION_S = 24 * 3600
KNOWN_FOR_S = 17 * 3600
"""A restarted query knows of a silence up to a quarter of the retention ago, and a margin."""
MOST_CALLS = 20_000

waits = st.tuples(st.just("wait"), st.sampled_from([0.5, 600.0, 5 * 3600.0, 13 * 3600.0, 25 * 3600.0]))
puts = st.tuples(st.just("put"), st.sampled_from([1, 3, 12, 40]))
batches = st.sampled_from([("batch",), ("batch",), ("batch", "anew")])
rounds = st.lists(st.one_of(puts, waits), max_size=3).flatmap(
    lambda steps: st.lists(batches, max_size=2).map(lambda planned: [*steps, *planned])
)
histories = st.lists(rounds, min_size=2, max_size=12).map(
    lambda parts: [step for part in parts for step in part]
)
gaps = st.dictionaries(st.integers(1, 60), st.sampled_from([1, 3, 6, 30]), max_size=4)
"""Where a gap is, and how many empty pages it has."""
limits = st.sampled_from([1, 5, 10, 26, 1000])
Step = tuple[Any, ...]


class ForgettingStream(ScriptedStream):
    """Lets records go as soon as they are older than the retention."""

    def get_iterator(self, shard_id: str, cut: Any) -> str:
        assert len(self.log) < MOST_CALLS, "it polls for ever"
        self.forget()
        return super().get_iterator(shard_id, cut)

    def forget(self) -> None:
        kept_ms = self.now_ms() - RETENTION_S * 1000
        self.trim(A, sum((r.arrived_ms or 0) < kept_ms for r in self.shards[A].records))


@define
class Watched:
    """A query, and what can be known of its losses."""

    limit: int
    fails: bool
    crosses: bool = True
    stream: ForgettingStream = field(init=False)
    query: Planned = field(init=False)
    read: Read = field(factory=list)
    excused: set[tuple[str, str]] = field(factory=set)
    """What came and went between two plans, or while the query was down, without a trace."""
    _planned: tuple[float, int] = field(init=False)
    """When the last plan was made, and how many records there were."""

    def __attrs_post_init__(self) -> None:
        self.stream = ForgettingStream(FakeClock(), name="orders")
        self.stream.create(1)
        bounds = PlanSettings(
            Limits(max_records=self.limit), fail_on_data_loss=self.fails, first_plan_crosses_gaps=self.crosses
        )
        self.query = Planned([self.stream], settings=bounds)
        self._planned = self.stream.clock.now, 0
        self.stream.put(A, b"x")
        self.batch()  # from now on it knows where it is

    def lost(self) -> list[tuple[str, str]]:
        gone = everything(self.stream)[: self.stream.shards[A].trimmed]
        return [record for record in gone if record not in self.read and record not in self.excused]

    def play(self, history: Sequence[Step]) -> None:
        for step in history:
            match step:
                case ("put", count):
                    self.stream.put_many(A, count, every_s=0.01)
                case ("wait", seconds):
                    self.stream.clock.sleep(seconds)
                case (_, *anew):
                    self.batch(is_anew=bool(anew))

    def batch(self, *, is_anew: bool = False) -> Read:
        """Run a batch, and see that it skips nothing in silence, and complains of nothing without a reason."""
        if is_anew:
            self.query.restart()
        self.stream.forget()
        self._excuse(is_anew=is_anew)
        lost, away_s = self.lost(), self.stream.clock.now - self._planned[0]
        try:
            read = self.query.batch()
        except DataLossError:
            assert self.fails
            assert lost or away_s > KNOWN_FOR_S or (is_anew and self._is_behind_retention()), "a false alarm"
            raise
        self._planned = self.stream.clock.now, len(self.stream.shards[A].records)
        self.read += read
        assert not (lost and self.fails), "a loss in silence"
        return read

    def _is_behind_retention(self) -> bool:
        """Whether what a restarted query knows is older than all that is left: what came next may have left as well."""
        arrived_ms = {record.sequence_number: record.arrived_ms for record in self.stream.shards[A].records}
        return (arrived_ms[self.read[-1][1]] or 0) < self.stream.now_ms() - RETENTION_S * 1000

    def _excuse(self, *, is_anew: bool) -> None:
        shard = self.stream.shards[A]
        if shard.trimmed == len(shard.records):  # nothing is left that would tell of the others
            self.excused.update(everything(self.stream)[0 if is_anew else self._planned[1] :])


@settings(max_examples=300, deadline=None)
@given(limits, histories)
def test_what_is_lost_is_told_and_nothing_else(limit: int, history: list[Step]) -> None:
    """
    However slowly a query reads, and whenever it is down: a batch that skips a record is an error, unless nobody could know
    of it; and an error has a record that was skipped, or a time in which one may have been.
    """
    watched = Watched(limit, fails=True)
    try:
        watched.play(history)
    except DataLossError:
        return
    assert watched.read == [r for r in everything(watched.stream) if r in set(watched.read)]


@settings(max_examples=300, deadline=None)
@given(limits, histories, gaps, st.sampled_from([0, 0, 20]), st.booleans(), st.sampled_from([1.0, 400.0]))
def test_what_is_left_is_read(
    limit: int, history: list[Step], gaps: dict[int, int], throttles: int, crosses: bool, period_s: float
) -> None:
    """
    With failOnDataLoss off, whatever was lost, each record that is left comes, once and in order: behind gaps of any length,
    through throttles, and however rarely plans are made.
    """
    watched = Watched(limit, fails=False, crosses=crosses)
    stream = watched.stream
    stream.gaps = {(A, index): pages for index, pages in gaps.items()}
    stream.mood = Mood(throttles=throttles)
    watched.play(history)
    expected = len(stream.shards[A].records)
    for _ in range(600):
        stream.clock.sleep(period_s if len(watched.read) < expected else 0.0)
        watched.batch()
        if watched.read[-1:] == everything(stream)[-1:]:
            break
    left = everything(stream)[stream.shards[A].trimmed :]
    assert set(left) <= set(watched.read)
    assert watched.read == [r for r in everything(stream) if r in set(watched.read)]


@settings(max_examples=300, deadline=None)
@given(
    limits, st.integers(1, 60), st.lists(st.one_of(puts, waits), max_size=12), st.booleans(), st.booleans()
)
def test_available_now_ends_whatever_leaves(
    limit: int, there: int, meanwhile: list[Step], is_closed: bool, fails: bool
) -> None:
    """AvailableNow ends, with all it found when it began, or with an error or without what has left the stream since."""
    watched = Watched(limit, fails=fails)
    watched.stream.put_many(A, there, every_s=600)
    before = everything(watched.stream)[1:]
    watched.query.planner.fix_targets()
    first = watched.query.batch()
    if is_closed:
        watched.stream.split(A)
        meanwhile = [step for step in meanwhile if step[0] == "wait"]
    waiting, read, batch = list(meanwhile), list(first), first
    try:
        while batch:
            watched.play(waiting[:1])
            del waiting[:1]
            watched.stream.forget()
            batch = watched.query.batch()
            read += batch
    except DataLossError:
        gone = everything(watched.stream)[: watched.stream.shards[A].trimmed]
        assert fails
        assert set(gone) - set(read)
        return
    assert read == [r for r in before if r in set(read)]
    assert read == before or not fails
