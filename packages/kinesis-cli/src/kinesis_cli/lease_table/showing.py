"""Leases and workers as tables and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinesis_cli.lease_table.activity import Life, SeenWorker, Watched
from kinesis_cli.lease_table.snapshot import Snapshot
from kinesis_cli.output import WholeTable, new_table, note, show, show_ago, show_duration, show_json
from kinesis_core.leases import ALL_USER_RECORDS, Lease, LeaseCheckpoint

if TYPE_CHECKING:
    from rich.table import Table

_STYLES = {Life.RUNNING: "green", Life.REPORTED: "yellow", Life.SILENT: "red", Life.UNKNOWN: "dim"}


def describe(checkpoint: LeaseCheckpoint) -> str:
    """Return *checkpoint* as --reset accepts it: `TRIM_HORIZON`, `AFTER 4966...`, `AFTER 4966.../3` in an aggregate."""
    number, sub = checkpoint.number, checkpoint.sub_sequence_number
    if not checkpoint.is_number:
        return number
    if sub < 0:
        return f"AT {number}"
    return f"AFTER {number}" if sub in (0, ALL_USER_RECORDS) else f"AFTER {number}/{sub}"


def show_table(application: str, watched: Watched, output: str) -> None:
    """Write the leases and the workers to the standard output, as tables or as one object of JSON."""
    if output == "json":
        show_json(_table_json(application, watched))
        return
    snapshot = watched.snapshot
    if not snapshot.leases:
        note(f"{application} has no leases.")
    tables = [
        *([_lease_table(snapshot)] if snapshot.leases else []),
        *([_worker_table(watched)] if watched.workers else []),
    ]
    for number, table in enumerate(tables):
        show(*([""] if number else []), WholeTable(table))
    for key in snapshot.malformed:
        note(f"The item {key} is not a valid lease.")


def _lease_table(snapshot: Snapshot) -> Table:
    """Return a table with a line for each lease."""
    from rich.text import Text

    has_streams = any(lease.stream_id for lease in snapshot.leases)
    names = [*(["STREAM"] if has_streams else []), "SHARD", "OWNER", "CHECKPOINT", "COUNTER", "PARENTS"]
    table = new_table(*names, wrapped={"PARENTS"})
    for lease in snapshot.leases:
        cells = [
            *([lease.stream_id or "-"] if has_streams else []),
            lease.shard_id,
            _owner(lease),
            describe(lease.checkpoint),
            str(lease.counter),
            ", ".join(lease.parents) or "-",
        ]
        table.add_row(*map(Text, cells))
    return table


def _owner(lease: Lease) -> str:
    if lease.checkpoint_owner is not None:
        return f"{lease.checkpoint_owner}, next {lease.owner or 'nobody'}"
    return lease.owner or "-"


def _worker_table(watched: Watched) -> Table:
    """Return a table with a line for each worker."""
    from rich.text import Text

    table = new_table("WORKER", "LEASES", "STATE", wrapped={"STATE"})
    for worker in watched.workers:
        state = Text(_state(worker, watched.watched_s), _STYLES[worker.life])
        table.add_row(Text(worker.name), str(worker.leases), state)
    return table


def _state(worker: SeenWorker, watched_s: float) -> str:
    parts = [worker.life.value]
    if worker.life is Life.SILENT:
        parts = [f"silent for {show_duration(watched_s * 1000)}"]
    if worker.report_age_s is not None and worker.life is not Life.RUNNING:
        parts.append(f"last report {show_ago(worker.report_age_s * 1000)}")
    return ", ".join([*parts, *(["leader"] if worker.is_leader else [])])


def _table_json(application: str, watched: Watched) -> dict[str, Any]:
    """Return the object for scripts."""
    return {
        "application": application,
        "leases": [_lease_json(lease) for lease in watched.snapshot.leases],
        "workers": [
            {
                "name": worker.name,
                "leases": worker.leases,
                "state": worker.life.name.lower(),
                "reportAgeSeconds": worker.report_age_s,
                "isLeader": worker.is_leader,
            }
            for worker in watched.workers
        ],
    }


def _lease_json(lease: Lease) -> dict[str, Any]:
    return {
        "shard": lease.shard_id,
        "stream": lease.stream,
        "owner": lease.actual_owner,
        "nextOwner": lease.owner if lease.checkpoint_owner else None,
        "checkpoint": lease.checkpoint.number,
        "subSequenceNumber": lease.checkpoint.sub_sequence_number,
        "pendingCheckpoint": lease.pending.number if lease.pending else None,
        "counter": lease.counter,
        "parents": list(lease.parents),
        "children": list(lease.children),
    }
