"""The contents of a lease: where to continue in the shard, which batch is open, and until when the shard was empty."""

from __future__ import annotations

import re

from attrs import frozen

from kinesis_core.leases import Lease, LeaseCheckpoint
from kinesis_core.model import MIN_RETENTION_HOURS

_FORM = "1"
"""The version of both descriptions. One of another version counts for nothing, as one that a KCL has made invalid."""
_NUMBER = re.compile(r"[0-9]{1,18}")
_CHECKPOINT = re.compile(r"([0-9]{1,129}|[A-Z_]+)(?:/([0-9]{1,18}))?")


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

    A KCL may have moved the checkpoint, or set its own pending checkpoint. Then the description is of another time, and counts
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


@frozen
class LeaseEmptiness:
    """No record after the checkpoint of a lease arrived before a time."""

    until_ms: int
    kept_hours: int = MIN_RETENTION_HOURS
    """For how many hours records were certainly kept when that was written. Earlier versions did not write it."""


def describe_emptiness(checkpoint: LeaseCheckpoint, emptiness: LeaseEmptiness) -> str:
    """Return what a lease says of a shard without records after *checkpoint*."""
    return f"{_FORM} {checkpoint} {emptiness.until_ms} {emptiness.kept_hours}"


def read_emptiness(lease: Lease) -> LeaseEmptiness | None:
    """Return until when no record after the checkpoint arrived; None if that is not known."""
    if lease.empty_until is None:
        return None
    form, *parts = lease.empty_until.split(" ")
    if form != _FORM or len(parts) not in (2, 3) or not all(map(_NUMBER.fullmatch, parts[1:])):
        return None
    checkpoint = parse_checkpoint(parts[0])
    if checkpoint is None or checkpoint > lease.checkpoint:
        return None
    return LeaseEmptiness(*map(int, parts[1:]))


def parse_checkpoint(text: str) -> LeaseCheckpoint | None:
    """Return the checkpoint that *text*, `str` of one, stands for; None if it is something else."""
    found = _CHECKPOINT.fullmatch(text)
    return LeaseCheckpoint(found[1], int(found[2] or 0)) if found else None
