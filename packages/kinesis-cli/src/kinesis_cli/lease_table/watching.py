"""Looks at the table again and again, until it is clear who runs, or for a given time."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from kinesis_cli.lease_table.activity import Life, SeenWorker, find_workers
from kinesis_cli.lease_table.snapshot import Snapshot
from kinesis_core.clock import Clock

_PERIOD_S = 0.5


@frozen
class Watched:
    """The table, and the workers."""

    snapshot: Snapshot
    workers: list[SeenWorker]
    watched_s: float
    """From the end of the first look to the start of the last one: a large table takes its time."""


def watch(look: Callable[[], Snapshot], for_s: float, steady: Clock, wall: Clock) -> Watched:
    """
    Return the last look at the table, at most *for_s* after the first one. It ends early once all workers are seen to run.

    A worker renews its leases three times in the time for which they are valid: every 3.3 seconds by default.
    """
    first = last = look()
    started_s = looked_s = steady.now_s()
    while True:
        watched_s = looked_s - started_s
        workers = find_workers(first, last, watched_s, wall.now_s())
        is_clear = all(worker.life is Life.RUNNING for worker in workers)
        if is_clear or watched_s >= for_s:
            return Watched(last, workers, watched_s)
        steady.sleep(min(_PERIOD_S, for_s - watched_s))
        looked_s = steady.now_s()
        last = look()
