"""
The schedule: when a batch is planned, and which shards its plan begins.

Each decision has one place. From the outside in:

1. `pacing.PlanAhead`: when a plan is made. Ahead of the query that needs it, where planning takes a noticeable time.
2. `pacing.BatchGate`: whether a planned batch is returned, or thrown away because it is too small to be worth running yet.
3. `Planner`: the loop. It waits until a shard is due, and plans in rounds. A round ends when a batch is found, or each shard was planned.
4. `Schedule`: which stream comes first in a plan, and until when each may begin shards. What is not begun is left for the next plan.
5. The targets of a run that ends (`StreamPlanner.targets`), and the `Frontier`: which shards a plan may read at all.
6. `ShardCalls.limiter`: when a single shard is due. A throttle makes it wait, and no other shard.
7. `Turns`: which shards come first. Those not planned for longest do. Of those that were planned in the same round, the ones furthest
   behind do. So a shard that was left out comes before all shards that were planned since then. If a plan has time for *k* of *n*
   shards, each shard is planned once in n/k plans, rounded up, whatever the lags are.
8. `Lanes`: how many are planned at the same time.
9. `Shares` and `Skew` then say how far a batch goes in each shard.

One thread plans at a time. `Lanes` has its own threads, each of which plans whole shards; a stream's facts and its reports of losses
have a lock each, and no code takes two. `Schedule.is_awaited` is set by another thread, and read again before each shard.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError, Future, wait
from contextlib import contextmanager
from itertools import count
from typing import TypeVar

from attrs import define, field, frozen

from kinesis_core.clock import Clock
from kinesis_core.model import AtTimestamp, ShardOffset, TrimHorizon
from kinesis_core.threads import ThreadPool

R = TypeVar("R")
IsSpent = Callable[[], bool]
"""Returns whether no other shard of a stream may be begun."""


@frozen
class Turn:
    """When a shard was planned last: in which round, and when."""

    round: int
    at_s: float


NEVER = Turn(0, 0.0)


def in_turn(
    shards: Iterable[str], turn: Callable[[str], Turn], behind_ms: Callable[[str], float]
) -> list[str]:
    """Return *shards* in the order in which to begin them."""
    return sorted(shards, key=lambda shard_id: (turn(shard_id).round, -behind_ms(shard_id)))


def age_ms(started: ShardOffset, now_ms: int) -> float:
    """Return how old records after an offset may be, as far as the offset shows it."""
    if started.arrived_ms:
        return now_ms - started.arrived_ms
    if isinstance(started.cut, AtTimestamp):
        return now_ms - started.cut.epoch_ms
    return float("inf") if started.cut == TrimHorizon() else 0.0


@define
class Turns:
    """
    The turns of the shards of one stream. Another planner starts without them, and begins with the shards that are furthest behind.

    A round is what happens until a batch is found, or until each shard was planned: one plan, or several where shards were left out.
    """

    round: int = field(default=0, init=False)
    left: Collection[str] = field(default=(), init=False)
    """The shards that the last plan left for the next one."""
    planned: int = field(default=0, init=False)
    """How many shards were planned in this round."""
    is_begun: bool = field(default=False, init=False)
    """Whether the current plan has planned shards."""
    _turns: dict[str, Turn] = field(factory=dict, init=False)
    _left_s: float = field(default=0.0, init=False)

    def begin_round(self) -> None:
        self.round, self.planned = self.round + 1, 0

    def begin_plan(self) -> None:
        self.left, self.is_begun = (), False

    def of(self, shard_id: str) -> Turn:
        return self._turns.get(shard_id, NEVER)

    def is_over(self, shard_id: str) -> bool:
        """Return whether the shard was planned in this round."""
        return self.of(shard_id).round == self.round != 0

    def note(self, planned: Collection[str], left: Collection[str], now_s: float) -> None:
        """Note which shards were planned until now, and which ones are left for the next plan."""
        self._turns.update(dict.fromkeys(planned, Turn(self.round, now_s)))
        self.planned, self.is_begun = self.planned + len(planned), True
        self.left, self._left_s = frozenset(left), now_s

    def unread_ms(self, shard_id: str) -> int:
        """Return for how long the shard had not been planned when the last plan left it out; 0 if that planned it."""
        if shard_id not in self.left:
            return 0
        return max(0, int((self._left_s - self.of(shard_id).at_s) * 1000))


@frozen
class LastPlan:
    """What the plans of the last round took, and what they left."""

    planning_s: float = 0.0
    """Without the wait until they were due."""
    shards: int = 0
    """How many were planned."""
    shards_left: int = 0
    """How many are left for the next plan."""

    @property
    def whole_planning_s(self) -> float:
        """How long it would have taken for all shards, at the same rate."""
        return self.planning_s * (1 + self.shards_left / max(1, self.shards))


@define
class Schedule:
    """
    The time in which the plans of a round may begin shards. The streams share it in equal parts, and what one does not need goes to
    the next.

    A shard that was begun is planned to its end. The time to list shards does not count: without a list no shard can be begun. A plan
    that ran out of time and found nothing new says nothing of the shards that it left out. So the round continues with those.
    """

    turns: Mapping[str, Turns]
    """By stream."""
    clock: Clock
    budget_s: float | None
    """None where every plan is whole."""
    is_awaited: bool = True
    """Whether a query waits for the plan. While none does, time is not short, and the plan continues."""
    last_plan: LastPlan = field(factory=LastPlan, init=False)
    _round_s: float = field(default=0.0, init=False)
    """When it began."""
    _first: int = field(default=0, init=False)
    """Which stream comes first: while nobody waits for a plan, it may have all the time until somebody does."""
    _left_s: float = field(default=float("inf"), init=False)
    _streams_left: int = field(default=1, init=False)

    def begin_round(self) -> None:
        self._round_s = self.clock.now_s()
        for turns in self.turns.values():
            turns.begin_round()

    def begin_plan(self, *, is_whole: bool) -> list[str]:
        """Return the streams in the order in which to plan them, each inside of `of_one_stream`."""
        self._left_s = float("inf") if is_whole or self.budget_s is None else self.budget_s
        self._streams_left = len(self.turns)
        names = list(self.turns)
        return [*names[self._first :], *names[: self._first]]

    @contextmanager
    def of_one_stream(self) -> Iterator[IsSpent | None]:
        """Give what says when the time of the next stream is over; None if it has no end."""
        started_s = self.clock.now_s()
        until_s = started_s + max(0.0, self._left_s) / max(1, self._streams_left)
        yield None if until_s == float("inf") else lambda: self.is_awaited and self.clock.now_s() >= until_s
        self._left_s -= self.clock.now_s() - started_s
        self._streams_left -= 1

    def end_plan(self) -> None:
        planned = sum(turns.planned for turns in self.turns.values())
        left = sum(len(turns.left) for turns in self.turns.values())
        self.last_plan = LastPlan(self.clock.now_s() - self._round_s, planned, left)
        if left:
            self._first = (self._first + 1) % len(self.turns)


class Lanes:
    """
    Applies a function to every shard id, as `map` does. Each thread takes the next shard when it is done with one.

    A future for each shard would cost more than the bookkeeping of its plan.
    """

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPool(threads, "kinesis-plan")
        self._threads = threads
        self._is_closed = False

    def run_all(self, plan: Callable[[str], R], shards: Iterable[str]) -> list[R]:
        """
        Return the results of *plan*, in the order of *shards*, which is also the order in which they are begun.

        A failure cancels the rest and waits for running plans, because the shard states are reused.

        Raises:
            CancelledError: The lanes were closed in the meantime.
            ProcessLimitError: The system refuses the first thread.
        """
        ids = list(shards)
        found: dict[int, R] = {}
        errors: dict[int, BaseException] = {}
        indexes = count()  # next() of it is atomic

        def run() -> None:
            while not errors and not self._is_closed and (index := next(indexes)) < len(ids):
                try:
                    found[index] = plan(ids[index])
                except BaseException as error:  # noqa: BLE001 # raised below, by the thread that called
                    errors[index] = error

        running: list[Future[None]] = []
        try:
            running += (self._pool.submit(run) for _ in range(min(self._threads, len(ids))))
        except RuntimeError:
            if not self._is_closed:
                raise
        wait(running)
        if errors:
            raise errors[min(errors)]
        if len(found) < len(ids):
            raise CancelledError
        return [found[index] for index in range(len(ids))]

    def close(self) -> None:
        """Begin no more shards."""
        self._is_closed = True
        self._pool.shutdown(wait=False)  # no wait() ever returns for futures that a shutdown cancels
