"""Shows changes, asks, and writes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kinesis_cli.ending import CommandError, IncompleteError
from kinesis_cli.lease_stores import Change, LeaseStore
from kinesis_cli.lease_table.changes import apply
from kinesis_cli.lease_table.showing import describe
from kinesis_cli.output import confirm, note, show_number
from kinesis_core.leases import Lease, show_names

_SHOWN = 20


def confirm_and_apply(
    table: LeaseStore, changes: Sequence[Change], what: str, *, yes: bool, malformed: Sequence[str] = ()
) -> None:
    """
    Show *changes*, ask, and write them. *malformed* are the keys of items that should have changed and are
    not valid leases.

    Raises:
        CommandError: There is nothing to change, or the answer is no.
        IncompleteError: Another program has changed a lease in the meantime, or there are malformed ones.
    """
    if not changes:
        raise CommandError("There is no lease to change.")
    for change in changes[:_SHOWN]:
        note(describe_change(change))
    if len(changes) > _SHOWN:
        note(f"and {len(changes) - _SHOWN} more")
    confirm(f"{what} {show_number(len(changes), 'lease')} of {table.name}?", yes=yes)
    left = apply(table, changes)
    note(f"{show_number(len(changes) - len(left), 'lease')} changed.")
    unchanged = [*_changed_meanwhile(left), *_malformed(malformed, table.name)]
    if unchanged:
        raise IncompleteError(" ".join(unchanged))


def _changed_meanwhile(left: Sequence[Lease]) -> Iterator[str]:
    if left:
        names = ", ".join(lease.shard_id for lease in left[:_SHOWN])
        yield f"{show_number(len(left), 'lease')} changed in the meantime and stayed as they are: {names}. A worker runs. Try again."


def _malformed(keys: Sequence[str], table: str) -> Iterator[str]:
    if keys:
        stayed = "is not a valid lease and stayed as it is"
        if len(keys) > 1:
            stayed = "are not valid leases and stayed as they are"
        yield f"{show_number(len(keys), 'item')} of {table} {stayed}: {show_names(keys, _SHOWN)}."


def describe_change(change: Change) -> str:
    """Return a line: the shard, and what its lease says before and afterwards."""
    lease = change.lease
    if change.checkpoint is not None:
        return f"{lease.shard_id}: {describe(lease.checkpoint)} -> {describe(change.checkpoint)}"
    successor = (lease.owner if lease.checkpoint_owner else None) or "nobody"
    return f"{lease.shard_id}: owned by {lease.actual_owner} -> by {successor}"
