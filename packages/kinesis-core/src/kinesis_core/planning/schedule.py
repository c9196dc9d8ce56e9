"""
Which shards a plan begins, and in which order, where it may not have the time for all of them.

The shards that were not planned for longest come first. Of those that were planned in the same round, the ones furthest behind come
first. A shard that was left out thus comes before all that were planned meanwhile. So with *n* shards, of which each plan has the time
for *k*, each shard is planned once in n/k plans, rounded up, whatever the lags are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError, Future, wait
from contextlib import contextmanager
from itertools import count
from typing import Protocol, TypeVar

from attrs import define, field, frozen

from kinesis_core.clock import Clock
from kinesis_core.model import AtTimestamp, Offset, ShardOffset, StreamOffset, TrimHorizon
from kinesis_core.planning.skew import Draft
from kinesis_core.threads import ThreadPool

R = TypeVar("R")


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


@define
class PlanBudget:
    """
    The time in which a plan may begin shards. Its streams share it in equal parts, and what one does not need goes to the next.

    A shard that was begun is planned to its end. The time to list shards does not count: without a list no shard can be begun.
    """

    clock: Clock
    budget_s: float | None
    """None where every plan is whole."""
    is_awaited: bool = True
    """Whether a query waits for the plan. While none does, time is not short, and the plan continues."""
    _left_s: float = field(default=float("inf"), init=False)
    _streams: int = field(default=1, init=False)
    _until_s: float = field(default=float("inf"), init=False)

    def begin(self, streams: int) -> None:
        """Begin a plan of so many streams."""
        self._left_s = float("inf") if self.budget_s is None else self.budget_s
        self._streams = streams

    @contextmanager
    def of_one_stream(self) -> Iterator[None]:
        """Plan the shards of the next stream inside of this block."""
        started_s = self.clock.now_s()
        self._until_s = started_s + max(0.0, self._left_s) / max(1, self._streams)
        try:
            yield
        finally:
            self._left_s -= self.clock.now_s() - started_s
            self._streams -= 1

    @property
    def is_limited(self) -> bool:
        return self.budget_s is not None

    def is_spent(self) -> bool:
        """Return whether no other shard of this stream may be begun."""
        return self.is_awaited and self.budget_s is not None and self.clock.now_s() >= self._until_s


DraftStream = Callable[[str, PlanBudget | None], Draft]
"""Plans the next batch in a stream, within a budget or whole: those shards that are due and were not planned in this round."""
Finish = Callable[[Mapping[str, Draft]], Mapping[str, StreamOffset] | None]
"""Returns the ends that the plans of all streams have together; None if the shards that were left out have to be planned first."""


@define
class Rounds:
    """
    Shares the budget of a plan among streams.

    A plan that ran out of time and found nothing new says nothing of the shards that it left out. So the round continues with those. It
    also does where they are too far behind the others to be left for the next batch.
    """

    turns: Mapping[str, Turns]
    """By stream."""
    budget: PlanBudget
    clock: Clock
    planning_s: float = field(default=0.0, init=False)
    """How long the last round took."""
    _first: int = field(default=0, init=False)
    """Which stream comes first: while nobody waits for a plan, it may have all the time until somebody does."""

    @property
    def shards_left(self) -> int:
        """How many shards the last plan left for the next one."""
        return sum(len(turns.left) for turns in self.turns.values())

    @property
    def whole_planning_s(self) -> float:
        """How long the last round would have taken without a budget, at the same rate."""
        planned = sum(turns.planned for turns in self.turns.values())
        return self.planning_s * (1 + self.shards_left / max(1, planned))

    def plan(self, start: Offset, draft_stream: DraftStream, finish: Finish, *, is_whole: bool) -> Offset:
        """Return the end of the next batch; *start* itself when nothing is new in any shard that is due."""
        started_s = self.clock.now_s()
        drafts: dict[str, Draft] = {}
        for turns in self.turns.values():
            turns.begin_round()
        while True:
            for name, later in self._draft_once(draft_stream, None if is_whole else self.budget).items():
                drafts[name] = drafts[name].joined(later) if name in drafts else later
            planned = finish(drafts)
            self.planning_s = self.clock.now_s() - started_s
            is_whole = planned is None
            if planned is not None and any(planned[name] is not start.streams[name] for name in planned):
                return Offset({name: planned[name] for name in self.turns})
            if not self.shards_left:
                return start

    def _draft_once(self, draft_stream: DraftStream, budget: PlanBudget | None) -> dict[str, Draft]:
        names = list(self.turns)
        names = [*names[self._first :], *names[: self._first]]
        if budget is not None:
            budget.begin(len(names))
        drafts = {name: draft_stream(name, budget) for name in names}
        if self.shards_left:
            self._first = (self._first + 1) % len(names)
        return drafts


class RunAll(Protocol):
    """Applies a function to every shard id, as `map` does, concurrently or not. It begins them in their order."""

    def __call__(self, plan: Callable[[str], R], shards: Iterable[str], /) -> Iterable[R]: ...


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
            CancelledError: The lanes were closed meanwhile.
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
