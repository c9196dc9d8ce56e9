"""Refuses changes while workers run: for some seconds they would continue with what they have read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kinesis_cli.ending import CommandError
from kinesis_cli.lease_table.activity import Life, SeenWorker
from kinesis_cli.output import show_ago
from kinesis_core.leases import show_names

_SHOWN = 5


def check_reset(workers: Iterable[SeenWorker], application: str, *, force: bool) -> None:
    """
    Check that no worker runs, unless *force* is set.

    Raises:
        CommandError: One does, or may.
    """
    if not force:
        _refuse([worker for worker in workers if worker.may_run], application)


def check_release(workers: Sequence[SeenWorker], name: str, application: str, *, force: bool) -> None:
    """
    Check that the worker *name* has leases, and does not run unless *force* is set. Others may run.

    Raises:
        CommandError: It has none, or it runs or may run.
    """
    found = [worker for worker in workers if worker.name == name]
    if not any(worker.leases for worker in found):
        known = ", ".join(worker.name for worker in workers if worker.leases) or "nobody"
        raise CommandError(f"{name} owns no leases of {application}. Leases are owned by: {known}.")
    if not force:
        _refuse([worker for worker in found if worker.may_run], application)


def _refuse(workers: Sequence[SeenWorker], application: str) -> None:
    """Refuse a change while *workers* may run. Those that do come first: they have to be stopped anyway."""
    running = [f"{worker.name} ({_why(worker)})" for worker in workers if worker.life is not Life.UNKNOWN]
    if running:
        raise CommandError(
            f"Workers of {application} run: {show_names(running, _SHOWN)}. Stop them first, or add --force. Nothing was changed."
        )
    if workers:
        names = show_names([worker.name for worker in workers], _SHOWN)
        raise CommandError(
            f"Workers of {application} may run: {names}. They were not watched long enough to tell: add --watch-for 4s, or --force. "
            "Nothing was changed."
        )


def _why(worker: SeenWorker) -> str:
    if worker.life is Life.RUNNING or worker.report_age_s is None:
        return "it renews its leases"
    return f"it reported {show_ago(worker.report_age_s * 1000)}"
