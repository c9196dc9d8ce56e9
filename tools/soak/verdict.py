"""Decides whether measurements at constant load grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from attrs import fields, frozen

from tools.soak.processes import DAEMON, DRIVER, EMULATOR, JVM, PLANNING, READER, TASKS, Holding

NOISE = Holding(processes=3, memory_kib=2048, files=3, sockets=3, threads=2)
"""
Differences between two measurements that are not growth: arenas of threads, a request in progress, and workers that Spark
ends after a minute without work and starts again.
"""
MEMORY_KIB_PER_1000 = 1024
"""Growth of memory in 1,000 steps above which it is more than noise: 1 KiB each."""
NOT_JUDGED = {JVM}
"""Spark owns its heap, thread pools that grow on demand, and the rest of each start of a query."""
JUDGED = {DRIVER, EMULATOR, READER, DAEMON, TASKS, PLANNING}
"""A kind that is not found would not be judged."""
QUANTITIES = tuple(field.name for field in fields(Holding))


@frozen
class Look:
    """One measurement after a number of steps: batches, or restarts."""

    step: int
    held: Mapping[str, Holding]


@frozen
class Trend:
    """The trend of one quantity of one kind of process: medians of the second and of the last third of all measurements."""

    kind: str
    quantity: str
    before: float
    after: float
    steps: float
    """The number of steps between the medians."""

    @property
    def growth(self) -> float:
        return self.after - self.before

    def growth_per(self, steps: int) -> float:
        return steps * self.growth / self.steps

    @property
    def allowed(self) -> float:
        noise = _quantity(NOISE, self.quantity)
        if self.quantity != "memory_kib":
            return noise
        return max(noise, MEMORY_KIB_PER_1000 * self.steps / 1000)

    @property
    def is_leak(self) -> bool:
        return self.kind not in NOT_JUDGED and self.growth > self.allowed

    def __str__(self) -> str:
        return (
            f"{self.kind}: {self.quantity} grew from {self.before:.0f} to {self.after:.0f} in {self.steps:.0f} steps; "
            f"{self.allowed:.0f} more would be noise"
        )


def trends(looks: Sequence[Look]) -> list[Trend]:
    """Return the trend of each quantity, without the first third of *looks*, which is warm-up."""
    before, after = _thirds(looks)
    return [_trend(kind, quantity, before, after) for kind in kinds(looks) for quantity in QUANTITIES]


def kinds(looks: Sequence[Look]) -> set[str]:
    """Return the kinds of processes that have trends."""
    before, after = _thirds(looks)
    return _kinds(before) & _kinds(after)


def _thirds(looks: Sequence[Look]) -> tuple[Sequence[Look], Sequence[Look]]:
    third = len(looks) // 3
    if third < 3:
        raise ValueError(f"{len(looks)} measurements are too few to tell growth from noise; 9 are needed.")
    return looks[third : 2 * third], looks[2 * third :]


def leaks(looks: Sequence[Look]) -> list[Trend]:
    """Return the trends that noise cannot explain."""
    return sorted((trend for trend in trends(looks) if trend.is_leak), key=str)


def _kinds(looks: Sequence[Look]) -> set[str]:
    return {kind for look in looks for kind in look.held}


def _trend(kind: str, quantity: str, before: Sequence[Look], after: Sequence[Look]) -> Trend:
    steps = median(look.step for look in after) - median(look.step for look in before)
    return Trend(kind, quantity, _median(kind, quantity, before), _median(kind, quantity, after), steps)


def _median(kind: str, quantity: str, looks: Sequence[Look]) -> float:
    return median(_quantity(look.held[kind], quantity) for look in looks if kind in look.held)


def _quantity(held: Holding, name: str) -> float:
    return float(getattr(held, name))
