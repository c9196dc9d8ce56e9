"""Waits until no other process has the name of a worker that is about to begin."""

from __future__ import annotations

from collections.abc import Callable, Collection

from kinesis_consumer.assignment import WorkerReport, read_leases, read_report
from kinesis_consumer.stores import Update
from kinesis_consumer.worker.leases import LeaseHolder
from kinesis_core.leases import PROCESS, Item, Lease

Patiently = Callable[[Callable[[], Item | None]], Item | None]
"""Makes a call, and again while its errors are retryable."""


def await_own_name(worker: LeaseHolder, leases: Collection[Lease], patiently: Patiently) -> None:
    """
    Wait as `Namesakes.await_end` does. *leases* are all leases of the table.

    Raises:
        WorkerNameInUseError: A process with that name runs.
        ServiceError: The table failed.
    """

    def look_at(key: str) -> Lease | None:
        item = patiently(lambda: worker.table.get(key))
        return next(iter(read_leases([item] if item else [])[0]), None)

    def find_report() -> WorkerReport | None:
        item = patiently(lambda: worker.table.get(worker.name))
        return read_report(item) if item else None

    def clear(lease: Lease) -> Item | None:
        update = Update(lease.key, expect={PROCESS: lease.process}, remove=(PROCESS,))
        return patiently(lambda: worker.table.update(update))

    worker.namesakes.await_end(leases, look_at, find_report)
    for lease in leases:
        if worker.namesakes.has(lease) and lease.actual_owner != worker.name:
            clear(
                lease
            )  # a KCL has taken it from a process that was killed, and may hand it over to this one
