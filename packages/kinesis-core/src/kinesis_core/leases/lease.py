"""
Leases: one item per shard in the table of an application of the Kinesis Client Library (KCL).

A lease says which worker reads a shard, and how far it has read. The checkpoint is the sequence number of the last record that was
processed, and the sub-sequence number within an aggregate.

Source: https://docs.aws.amazon.com/streams/latest/dev/kcl-dynamoDB.html, and the KCL's DynamoDBLeaseSerializer,
DynamoDBMultiStreamLeaseSerializer and ExtendedSequenceNumber.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import total_ordering

from attrs import frozen

LEASE_KEY = "leaseKey"
LEASE_OWNER = "leaseOwner"
ALL_USER_RECORDS = 2**31 - 1
"""A sub-sequence number after every user record of an aggregate. It fits into the integers of every language."""
NO_USER_RECORD = -1
"""
A sub-sequence number before every user record of a record. A KCL begins at the record of a checkpoint, and drops the user records up
to the sub-sequence number: with this one it drops none.
"""
TRIM_HORIZON = "TRIM_HORIZON"
LATEST = "LATEST"
AT_TIMESTAMP = "AT_TIMESTAMP"
SHARD_END = "SHARD_END"
_ORDER = {AT_TIMESTAMP: -3, TRIM_HORIZON: -2, LATEST: -1}


@total_ordering
@frozen(order=False)
class LeaseCheckpoint:
    """The last record read from a shard, as the KCL stores it. Checkpoints are ordered as in the KCL."""

    number: str
    """A sequence number, or one of the KCL's words TRIM_HORIZON, LATEST, AT_TIMESTAMP and SHARD_END."""
    sub_sequence_number: int = 0
    """The index of the last user record read from that record, from 0. It is 0 in records that are not aggregates."""

    def __str__(self) -> str:
        if self.is_number and self.sub_sequence_number:
            return f"{self.number}/{self.sub_sequence_number}"
        return self.number

    def __lt__(self, other: LeaseCheckpoint) -> bool:
        return self._rank() < other._rank()

    @property
    def is_number(self) -> bool:
        """Whether the checkpoint names a record."""
        return self.number.isdigit()

    @property
    def is_shard_end(self) -> bool:
        return self.number == SHARD_END

    def _rank(self) -> tuple[float, int]:
        if self.is_number:
            return int(self.number), self.sub_sequence_number
        return _ORDER.get(self.number, float("inf")), 0


FINISHED = LeaseCheckpoint(SHARD_END)
OLDEST = LeaseCheckpoint(TRIM_HORIZON)


@frozen
class Lease:
    """One lease, as it was read from the table or will be written to it."""

    shard_id: str
    checkpoint: LeaseCheckpoint
    stream_id: str | None = None
    """Account, name and creation time in seconds, if the table has several streams. None for a single stream."""
    parents: tuple[str, ...] = ()
    children: tuple[str, ...] = ()
    """Set once the shard is finished, as in the KCL."""
    hash_range: tuple[int, int] | None = None
    owner: str | None = None
    """The worker that reads the shard. During a graceful hand-over, the one that reads it next."""
    checkpoint_owner: str | None = None
    """During a graceful hand-over, the worker that still reads the shard."""
    counter: int = 0
    """Grows with every write of the owner, so that other workers see that it is alive."""
    pending: LeaseCheckpoint | None = None
    """The end of the batch that was handed out and is not committed."""
    pending_batch: str | None = None
    """Which batch the pending checkpoint ends. An attribute of this project, which a KCL ignores and keeps."""
    empty_until: str | None = None
    """Until when the shard was seen without a record after some checkpoint. An attribute of this project, too."""
    stream_identifier: str | None = None
    """
    The stream of a lease whose key does not name it, as in `stream_id`. So a lease is not taken for one of a later stream of the
    same name. An attribute of this project, too; leases that a KCL creates are without it.
    """
    process: str | None = None
    """The process that took the lease, and a digest of the name of its worker. An attribute of this project, too."""
    starting_ms: int | None = None
    """
    Where reading starts exactly if the checkpoint is LATEST or AT_TIMESTAMP, in milliseconds since the epoch. An attribute of this
    project, too: the KCL takes the time that it is configured with, or of its first call.
    """
    committed_ms: int | None = None
    """
    When the checkpoint was committed, by the clock of Kinesis, in milliseconds since the epoch. An attribute of this project, too.
    None for a checkpoint that a KCL has committed.
    """

    @property
    def key(self) -> str:
        return self.shard_id if self.stream_id is None else f"{self.stream_id}:{self.shard_id}"

    @property
    def stream(self) -> str | None:
        """The stream of the shard, as in `stream_id`; None if the lease does not say it."""
        return self.stream_id or self.stream_identifier

    @property
    def actual_owner(self) -> str | None:
        """The worker that reads the shard now."""
        return self.checkpoint_owner or self.owner

    @property
    def is_finished(self) -> bool:
        """Whether the shard was read to its end."""
        return self.checkpoint.is_shard_end


def show_names(names: Sequence[str], most: int = 10) -> str:
    """Return *names* for an error or a log: the first ones, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def identify_stream(arn: str, created_ms: int) -> str:
    """Return the KCL's name of a stream in a table with several: `account:name:created`, in seconds."""
    account, name = arn.split(":", 5)[4], arn.rpartition("/")[2]
    return f"{account}:{name}:{created_ms // 1000}"


def was_recreated(stream: str, now: str) -> bool:
    """Return whether the stream *now* has the account and name of *stream*, and another creation time. Both are KCL names."""
    return stream != now and stream.rpartition(":")[0] == now.rpartition(":")[0]


def earlier_streams(leases: Collection[Lease], now: str) -> list[str]:
    """
    Return the deleted streams, with the name of the stream *now*, that the leases are of. Their positions are none of *now*.

    They do not matter once there are leases whose keys name *now*.
    """
    if any(lease.stream_id == now for lease in leases):
        return []
    return sorted({lease.stream for lease in leases if lease.stream and was_recreated(lease.stream, now)})


def recreation(leases: Collection[Lease], now: str) -> str:
    """Return what is wrong with a table whose *leases* are of a deleted stream with the name of *now*; "" if none is."""
    earlier = ", ".join(earlier_streams(leases, now))
    return (
        earlier
        and f"has leases of {earlier}, and the stream is now {now}: the stream was deleted and created again"
    )


def leases_of_stream(leases: Collection[Lease], now: str) -> list[Lease]:
    """Return the leases of the stream *now*: those whose keys name it, else those of the only stream, unless that is another one."""
    named = [lease for lease in leases if lease.stream_id == now]
    return named or [lease for lease in leases if lease.stream_id is None and lease.stream in (None, now)]
