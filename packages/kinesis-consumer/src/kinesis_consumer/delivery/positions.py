"""What a lease says of a shard: where to read on, which batch is open, until when the shard was empty."""

from __future__ import annotations

from attrs import frozen

from kinesis_core.leases import AT_TIMESTAMP, LATEST, Lease, LeaseCheckpoint

_FORM = "1"
"""The version of both descriptions. One of another version counts for nothing, as one that a KCL has made invalid."""


@frozen
class OpenBatch:
    """A batch that was handed out and not committed. Its records are delivered again, as the same batch."""

    first: LeaseCheckpoint
    """The first record; its sub-sequence number says how many user records of it are left out."""
    last: int
    """The number of the last record."""


def describe_batch(checkpoint: LeaseCheckpoint, first: LeaseCheckpoint, last: LeaseCheckpoint) -> str:
    """Return what a lease says of the batch that follows *checkpoint*."""
    return f"{_FORM} {checkpoint} {first} {last}"


def open_batch(lease: Lease) -> OpenBatch | None:
    """
    Return the batch that is open, if *lease* describes it.

    A KCL may have moved the checkpoint, or set a pending checkpoint of its own. Then the description is of another time, and counts
    for nothing.
    """
    if lease.pending is None or lease.pending_batch is None:
        return None
    form, checkpoint, first, last = [*lease.pending_batch.split(" "), "", "", "", ""][:4]
    if (form, checkpoint, last) != (
        _FORM,
        str(lease.checkpoint),
        str(lease.pending),
    ) or not lease.pending.is_number:
        return None
    found = parse_checkpoint(first)
    return None if found is None or not found.is_number else OpenBatch(found, int(lease.pending.number))


def describe_emptiness(checkpoint: LeaseCheckpoint, until_ms: int) -> str:
    """Return what a lease says of a shard without records after *checkpoint* that arrived before *until_ms*."""
    return f"{_FORM} {checkpoint} {until_ms}"


def empty_until_ms(lease: Lease) -> int | None:
    """Return a time before which no record after the checkpoint arrived; None if none is known."""
    if lease.empty_until is None:
        return None
    form, text, until_ms = [*lease.empty_until.split(" "), "", "", ""][:3]
    checkpoint = parse_checkpoint(text) if form == _FORM else None
    is_known = checkpoint is not None and checkpoint <= lease.checkpoint and until_ms.isdigit()
    return int(until_ms) if is_known else None


def parse_checkpoint(text: str) -> LeaseCheckpoint | None:
    """Return the checkpoint that *text*, `str` of one, stands for; None if it is something else."""
    number, _, sub = text.partition("/")
    is_valid = number.isascii() and (number.isdigit() or number.isupper()) and (not sub or sub.isdigit())
    return LeaseCheckpoint(number, int(sub or 0)) if is_valid else None


def starts_at_a_time(lease: Lease) -> bool:
    """Return whether the checkpoint is a word that means a moment, and not a record."""
    return lease.checkpoint.number in (LATEST, AT_TIMESTAMP)
