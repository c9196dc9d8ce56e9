"""How a worker leaves its group: other workers have its leases at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from kinesis_consumer.assignment import Leader, MetricsWriter, read_leases, read_report
from kinesis_consumer.worker.leases import LeaseHolder
from kinesis_core import ServiceError
from kinesis_core.clock import Clock
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_consumer")

ALIVE_S = 35.0
"""A worker that reported within this time gets leases from one that closes. The KCL reports each 30 s."""


def retire(
    worker: LeaseHolder, leader: Leader, reports: MetricsWriter, wall_clock: Clock, *, only_idle: bool
) -> None:
    """
    Let the leases of *worker* go, with its report and the leader's lock. Idempotent.

    With *only_idle*, the leases of batches in hand stay. Each part is done whether or not the store fails for another one.
    """
    with ExitStack() as last_first:
        last_first.callback(_release_lock, leader)
        last_first.callback(_leave, worker, leader, wall_clock, only_idle=only_idle)
        with _survived("report"):
            reports.delete()


def _release_lock(leader: Leader) -> None:
    with _survived("leader's lock"):
        leader.lock.release()


def _leave(worker: LeaseHolder, leader: Leader, wall_clock: Clock, *, only_idle: bool) -> None:
    loads: dict[str, int] = {}
    with _survived("assignment"):
        loads = loads_of_others(leader, wall_clock)
    worker.release_all(loads, only_idle=only_idle)


def loads_of_others(leader: Leader, wall_clock: Clock) -> dict[str, int]:
    """
    Return how many shards each other worker reads that may be given leases; nothing if they are to be left to anybody.

    That is the leader if it was heard of a moment ago: it finds out who is alive, and balances. Reports are older. A leader gives
    nothing to a worker whose report is young, but which does not renew its leases.
    """
    lock = leader.lock
    if lock.leader not in (None, leader.worker) and not lock.suspects_leader():
        return {str(lock.leader): 0}
    items = leader.table.scan()
    reports = [report for report in map(read_report, items) if report]
    now_s = wall_clock.now_s()
    alive = {report.worker for report in reports if now_s - report.updated <= min(ALIVE_S, report.active_s)}
    if lock.is_held():
        alive -= leader.suspects()
    loads = dict.fromkeys(sorted(alive - {leader.worker}), 0)
    for lease in read_leases(items)[0]:
        if lease.owner in loads and not lease.is_finished:
            loads[lease.owner] += 1
    return loads


@contextmanager
def _survived(task: str) -> Iterator[None]:
    """Log a failure of a store instead of raising it: the worker leaves."""
    try:
        yield
    except ServiceError as error:
        log.warning("coordination.failed", task=task, code=error.code, reason=str(error), failures=1)
