"""PlanBudget: how long a query waits for one plan. What is not begun by then is left for the next plan."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from attrs import define, field

from kinesis_core.clock import Clock


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
