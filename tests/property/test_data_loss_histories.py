"""
Generated histories in which records leave the stream, read or not: what is lost is reported, and nothing else is.

The horizon moves under everything: with the clock, while a range is read, and by a retention that somebody raises or lowers,
between two runs, during one and between two pages. Expired records do not come back. Shards split. The query is down for longer than the retention. The stream is deleted and made anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from attrs import define, field
from hypothesis import example, given, settings, strategies as st

from kinesis_core.errors import DataLossError, StreamRecreatedError
from kinesis_core.model import AtTimestamp, Latest, StartingPosition, StreamSummary, TrimHorizon
from kinesis_core.planning import Limits, PlanSettings
from property.reported import reported_losses
from support.examples import examples
from support.fake_stream import FakeClock, FakeShard, Mood
from support.planned import Planned, Read
from support.scripted_stream import ScriptedStream

pytestmark = pytest.mark.tests  # histories take seconds

A = "shardId-000000000000"
HOUR_S = 3600
MARGIN_S = 65
"""Arrival times and clocks are not exact: a record this close to its end may count as gone."""
MOST_CALLS = 40_000

waits = st.tuples(st.just("wait"), st.sampled_from([0.5, 600.0, 5.0 * HOUR_S, 13.0 * HOUR_S, 25.0 * HOUR_S]))
puts = st.tuples(
    st.just("put"), st.integers(0, 9), st.sampled_from([1, 3, 12, 40]), st.sampled_from([0.01, 0.01, 1800.0])
)
splits = st.tuples(st.just("split"), st.integers(0, 9))
retentions = st.tuples(st.just("retention"), st.sampled_from([24, 48, 168]))
batches = st.sampled_from(
    [
        ("batch",),
        ("batch",),
        ("batch", "anew"),
        ("batch", "slowly"),
        ("batch", "lowered"),
        ("batch", "raised"),
    ]
)
events = st.one_of(puts, puts, waits, waits, splits, retentions)
rounds = st.lists(events, max_size=3).flatmap(
    lambda steps: st.lists(batches, max_size=2).map(lambda planned: [*steps, *planned])
)
outages = st.tuples(
    puts, st.sampled_from([5.0, 25.0, 49.0, 170.0]), st.lists(retentions, max_size=2), batches
).map(lambda parts: [parts[0], ("wait", parts[1] * HOUR_S), *parts[2], parts[3]])
"""Records come while the query is down, and somebody changes the retention before it starts again."""
histories = st.lists(rounds | outages, min_size=2, max_size=12).map(
    lambda parts: [step for part in parts for step in part]
)
positions = st.sampled_from([TrimHorizon(), Latest(), AtTimestamp(1_790_000_000_000)])
gaps = st.dictionaries(st.integers(1, 60), st.sampled_from([1, 3, 6, 30]), max_size=4)
"""Where a gap is, and how many empty pages it has."""
limits = st.sampled_from([1, 5, 10, 26, 1000])
SHORT_FOR_A_MOMENT: list[tuple[Any, ...]] = [
    ("put", 0, 1, 0.01),
    ("wait", 25.0 * HOUR_S),
    ("retention", 24),
    ("retention", 48),
]
"""A record is lost while nobody looks at the retention."""
UNSEEN: list[tuple[Any, ...]] = [
    ("retention", 48),
    ("put", 0, 1, 1800.0),
    ("batch",),
    *SHORT_FOR_A_MOMENT,
    ("batch",),
    ("put", 0, 1, 0.01),
    ("batch",),
    ("batch", "anew"),
]
"""The record that the last offset names is there, and shows nothing of that."""
SHOWN: list[tuple[Any, ...]] = [
    ("retention", 48),
    *[("wait", 13.0 * HOUR_S), ("batch",)] * 5,
    ("put", 0, 1, 0.01),
    ("batch",),
    *SHORT_FOR_A_MOMENT,
    ("batch", "anew"),
]
"""The record that the offset names is gone."""
Step = tuple[Any, ...]


@define
class CountingStream(ScriptedStream):
    """Sees that nobody polls for ever, and what expires by a retention that nobody sees."""

    unseen: set[tuple[str, str]] = field(factory=set)
    """What expired by a retention that was shorter than the ones described before and after. No retention shows that."""
    _described_hours: int = 24
    _since_described: dict[tuple[str, str], int] = field(factory=dict)
    """What has expired since the stream was described last, and the retention by which it did."""
    _horizon_s: float = 0.0
    """What arrived before this time has expired."""
    _seen_horizon_s: float = 0.0
    """What arrived before this time may have expired, for all that the descriptions show."""

    def forget(self) -> None:
        before = self.gone_records()
        super().forget()
        self._horizon_s = max(self._horizon_s, self.clock.now - self.retention_hours * HOUR_S)
        self._since_described.update(dict.fromkeys(self.gone_records() - before, self.retention_hours))

    def describe(self) -> StreamSummary:
        self.forget()
        shortest = min(self._described_hours, self.retention_hours)
        self.unseen |= {record for record, hours in self._since_described.items() if hours < shortest}
        self._since_described.clear()
        self._described_hours = self.retention_hours
        self.assume(shortest)
        return super().describe()

    def assume(self, hours: int) -> None:
        """Note that a retention of *hours* may have been in force until now: nobody looked."""
        self._seen_horizon_s = max(self._seen_horizon_s, self.clock.now - hours * HOUR_S)

    @property
    def is_known_less(self) -> bool:
        """Whether records may have expired, for all that was seen of the retention, that have not."""
        self.forget()
        return self._seen_horizon_s > self._horizon_s + MARGIN_S

    def gone_records(self) -> set[tuple[str, str]]:
        """Return what has left the stream."""
        return {
            (s, r.sequence_number)
            for s, shard in {**self.gone, **self.shards}.items()
            for r in shard.records[: None if s in self.gone else shard.trimmed]
        }

    def get_iterator(self, shard_id: str, cut: Any) -> str:
        assert len(self.log) < MOST_CALLS, "it polls for ever"
        return super().get_iterator(shard_id, cut)


@define
class Watched:
    """A query on a stream that forgets, and what is known of both."""

    limit: int
    fails: bool
    position: StartingPosition = field(factory=TrimHorizon)
    crosses: bool = True
    stream: CountingStream = field(init=False)
    query: Planned = field(init=False)
    read: Read = field(factory=list)
    _least_hours: int = field(default=24, init=False)
    """The shortest retention of all times."""
    _planned_s: float = field(init=False)
    _shown: set[tuple[str, str]] = field(factory=set, init=False)
    """What was lost when the query started again after a record that was gone: no retention needs to be seen for that."""

    def __attrs_post_init__(self) -> None:
        self.stream = CountingStream(FakeClock(), name="orders")
        self.stream.forgets = True
        self.stream.create(1)
        self.stream.clock.sleep(1)
        bounds = PlanSettings(
            Limits(max_records=self.limit), fail_on_data_loss=self.fails, first_plan_crosses_gaps=self.crosses
        )
        self.query = Planned([self.stream], self.position, bounds, page_records=7)
        self._planned_s = self.stream.clock.now
        self.stream.put(A, b"x")
        self.stream.clock.sleep(1)
        self.batch()  # from now on it knows where it is

    def shards(self) -> dict[str, FakeShard]:
        return {**self.stream.gone, **self.stream.shards}

    def everything(self) -> Read:
        return [(s, r.sequence_number) for s, shard in sorted(self.shards().items()) for r in shard.records]

    def gone(self) -> set[tuple[str, str]]:
        """Return what has left the stream."""
        self.stream.forget()
        return self.stream.gone_records()

    def lost(self) -> set[tuple[str, str]]:
        return self.gone() - set(self.read)

    def visibly_lost(self) -> set[tuple[str, str]]:
        """Return what is lost and can be known to be."""
        return self.lost() - self._unknowable()

    def _unknowable(self) -> set[tuple[str, str]]:
        """Return what expired by a retention that nobody saw and no record shows."""
        return self.stream.unseen - self._shown

    def _restart(self) -> None:
        """Start again. Where the offset names a record with its arrival, that it is gone shows that later ones may be, too."""
        self.query.restart()
        offset = self.query.start.to_json()["streams"]["orders"]
        self.stream.assume(offset["retention"])
        named = {s: at.get("AFTER", at.get("AT")) for s, at in offset["shards"].items() if "arrived" in at}
        gone = self.gone()
        self._shown |= {
            (s, number)
            for s, number in self.lost()
            if (s, named.get(s)) in gone and int(number) >= int(named[s])
        }

    def unreported(self, reported: list[tuple[str, str]]) -> set[str]:
        """
        Return the shards that lost records, and are not *reported*.

        The descendants of a shard that has left the stream unread start anew: its report stands for theirs.
        """
        shards, named = self.shards(), {shard_id for shard_id, _ in reported}

        def is_reported(shard_id: str) -> bool:
            return shard_id in named or any(is_reported(parent) for parent in shards[shard_id].parents)

        return {shard_id for shard_id, _ in self.visibly_lost() if not is_reported(shard_id)}

    def play(self, history: Sequence[Step]) -> None:
        for step in history:
            match step:
                case ("put", where, count, every_s):
                    shards = self.stream.open_shards()
                    self.stream.put_many(shards[where % len(shards)], count, every_s)
                case ("wait", seconds):
                    self.stream.clock.sleep(seconds)
                case ("split", where):
                    shards = self.stream.open_shards()
                    if len(shards) < 4:
                        self.stream.split(shards[where % len(shards)])
                case ("retention", hours):
                    self.retain(hours)
                case (_, *how):
                    hours = {"lowered": 24, "raised": 168}.get(how[0]) if how else None
                    self.batch(is_anew="anew" in how, is_slow="slowly" in how, changes_to=hours)

    def retain(self, hours: int) -> None:
        self.stream.retain(hours)
        self._least_hours = min(self._least_hours, hours)

    def batch(
        self,
        *,
        is_anew: bool = False,
        is_slow: bool = False,
        is_again: bool = False,
        changes_to: int | None = None,
    ) -> Read:
        """
        Run a batch. It skips nothing in silence, and complains of nothing without a reason.

        Each shard has a period of its own, so a loss may show in the next batch only. That one follows at once: *is_again*.
        """
        if is_anew:
            self._restart()
        lost, away_s = self.visibly_lost(), self.stream.clock.now - self._planned_s
        started = self.query.start
        try:
            read = self._run(started, is_slow=is_slow, changes_to=changes_to)
        except DataLossError:
            assert self.fails
            is_sure = away_s <= self._known_for_s(is_anew=is_anew) and not self.stream.is_known_less
            assert self.lost() or self._is_at_the_edge() or not is_sure, "a false alarm"
            raise
        self._planned_s = self.stream.clock.now
        self.read += read
        assert len(self.read) == len(set(self.read)), "a record came twice"
        if self.fails:
            assert not self._skipped(), "a record was skipped"
        if self.fails and lost - self._unknowable():  # a retention of before may be seen only by this batch
            assert not is_again, "a loss in silence"
            self.stream.clock.sleep(1)
            read = read + self.batch(is_again=True)
        return read

    def _run(self, started: Any, *, is_slow: bool, changes_to: int | None) -> Read:
        """Plan and read a batch; slowly: hours pass between two of its pages. The retention may change between the first two."""
        end = self.query.planner.next_offset(started)
        found: Read = []
        for shard_range, page in self.query.pages(started, end):
            found += [(shard_range.shard_id, record.sequence_number) for record in page.records]
            if is_slow:
                self.stream.clock.sleep(11 * HOUR_S)
            if changes_to is not None:
                self.retain(changes_to)
                changes_to = None
        self.query.start = end
        return found

    def _skipped(self) -> set[tuple[str, str]]:
        """Return what lies before a record of its shard that was read, and was not read itself."""
        last: dict[str, str] = dict(self.read)
        every = {
            s: [r.sequence_number for r in shard.records] for s, shard in self.shards().items() if s in last
        }
        passed = {(s, n) for s, numbers in every.items() for n in numbers[: numbers.index(last[s])]}
        return passed - set(self.read) - self._unknowable()

    def _known_for_s(self, *, is_anew: bool) -> float:
        """Return how long after its last plan a query is sure of a silence; started again, it is so much less sure."""
        shortest_s = min(self._least_hours, self.stream.retention_hours) * HOUR_S
        # Idle positions are written a quarter of the retention apart, by the longest retention there was.
        stamped_s = 168 / 4 * HOUR_S if self.stream.retention_hours > 24 else shortest_s / 4
        return max(0.0, shortest_s - (stamped_s if is_anew else 0.0) - MARGIN_S)

    def _is_at_the_edge(self) -> bool:
        """Return whether some record that was read last in its shard has left: what followed may have left as well."""
        last = dict(self.read)
        return any((s, number) in self.gone() for s, number in last.items())


@settings(max_examples=examples(600), deadline=None)
@given(limits, positions, histories)
@example(5, TrimHorizon(), UNSEEN)
@example(5, TrimHorizon(), SHOWN)
def test_what_is_lost_is_reported_and_nothing_else(
    limit: int, position: StartingPosition, history: list[Step]
) -> None:
    """
    However slowly a query reads, whenever it is down and whatever happens to the retention: a batch that skips a record is
    an error, and an error has a record that was skipped, or a time in which one may have been.
    """
    watched = Watched(limit, fails=True, position=position)
    try:
        watched.play(history)
    except DataLossError:
        return
    by_shard = {s: [n for shard, n in watched.read if shard == s] for s in watched.shards()}
    assert [(s, n) for s in sorted(by_shard) for n in by_shard[s]] == [
        r for r in watched.everything() if r in set(watched.read)
    ]


@settings(max_examples=examples(300), deadline=None)
@given(limits, histories, gaps, st.sampled_from([0, 0, 20]), st.booleans(), st.sampled_from([1.0, 400.0]))
def test_what_is_left_is_read(
    limit: int, history: list[Step], gaps: dict[int, int], throttles: int, crosses: bool, period_s: float
) -> None:
    """
    With fail_on_data_loss off, whatever was lost, each record that is left comes, once and in order: after gaps of any length,
    through throttles, and however rarely plans are made. And each shard that lost records is reported, or one of its ancestors.
    """
    with reported_losses() as reported:
        play_to_the_end(limit, history, gaps, throttles, crosses, period_s, reported)


def play_to_the_end(
    limit: int,
    history: list[Step],
    gaps: dict[int, int],
    throttles: int,
    crosses: bool,
    period_s: float,
    reported: list[tuple[str, str]],
) -> None:
    watched = Watched(limit, fails=False, crosses=crosses)
    stream = watched.stream
    stream.gaps = {(A, index): pages for index, pages in gaps.items()}
    stream.mood = Mood(throttles=throttles)
    watched.play(history)
    for _ in range(600):
        left = set(watched.everything()) - watched.gone()
        if left <= set(watched.read) and not watched.unreported(reported):
            break
        stream.clock.sleep(period_s)
        watched.batch()
    assert set(watched.everything()) - watched.gone() <= set(watched.read)
    assert not watched.unreported(reported), "a loss in silence"


@settings(max_examples=examples(300), deadline=None)
@given(
    limits, st.integers(1, 60), st.lists(st.one_of(puts, waits), max_size=12), st.booleans(), st.booleans()
)
def test_available_now_ends_whatever_leaves(
    limit: int, there: int, meanwhile: list[Step], is_closed: bool, fails: bool
) -> None:
    """AvailableNow ends, with all it found when it began, or with an error or without what has left the stream since."""
    watched = Watched(limit, fails=fails)
    watched.stream.put_many(A, there, every_s=600)
    before = watched.everything()[1:]
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
            batch = watched.query.batch()
            read += batch
    except DataLossError:
        assert fails
        assert watched.gone() - set(read)
        return
    assert read == [r for r in before if r in set(read)]
    assert set(before) - set(read) <= (set() if fails else watched.gone())


@settings(max_examples=examples(200), deadline=None)
@given(limits, positions, histories, histories)
def test_no_record_of_a_stream_recreated_is_read(
    limit: int, position: StartingPosition, before: list[Step], after: list[Step]
) -> None:
    """Whatever a query knew, and whether it ran or was down: once its stream was deleted, it reads nothing of the next one."""
    watched = Watched(limit, fails=False, position=position)
    watched.play(before)
    old = len(watched.read)
    watched.stream.gone.clear()
    watched.stream.recreate(2)
    try:
        watched.play([("put", 0, 3, 0.01), ("put", 1, 3, 0.01), *after, ("batch",)])
    except StreamRecreatedError:
        assert len(watched.read) == old
        return
    raise AssertionError("it continued")
