"""Where a worker begins to read a shard: after the last commit, wherever and by whomever that was."""

from __future__ import annotations

from kinesis_consumer.delivery.streams import GroupStream
from kinesis_consumer.leases import HeldLease, OpenBatch, open_batch, read_emptiness
from kinesis_core.errors import InvalidRequestError, StreamRecreatedError
from kinesis_core.leases import AT_TIMESTAMP, LATEST, STARTING_TIME, Lease
from kinesis_core.model import At, AtTimestamp, ShardOffset, TrimHorizon
from kinesis_credentials import Advice


def start_of(held: HeldLease, source: GroupStream) -> tuple[ShardOffset, OpenBatch | None]:
    """
    Return where the shard of a lease is read from, and the batch that was delivered and not committed, if there is one.

    Raises:
        LeaseLostError: Another worker has the lease.
        DataLossError: Records after the checkpoint expired, or may have (unless `fail_on_data_loss` is off).
        ServiceError: A call to Kinesis or the store failed.
    """
    lease = held.lease
    replayed = open_batch(lease)
    if replayed is not None:
        first = replayed.first
        return ShardOffset(At(int(first.number), first.sub_sequence_number)), replayed
    checkpoint, emptiness = lease.checkpoint, read_emptiness(lease)
    empty_ms = None if emptiness is None else emptiness.until_ms
    if emptiness is not None:
        source.pages.see_kept_hours(emptiness.kept_hours)
    if checkpoint.is_number:
        user_records = checkpoint.sub_sequence_number + 1
        return source.pages.resume(lease.shard_id, int(checkpoint.number), user_records, empty_ms), None
    moment_ms = _moment_ms(held, source) if checkpoint.number in (LATEST, AT_TIMESTAMP) else None
    cut = TrimHorizon() if moment_ms is None else AtTimestamp(moment_ms)
    return ShardOffset(cut, empty_ms), None


def names_record(lease: Lease) -> bool:
    """Return whether *lease* says by a record where its shard is read from."""
    return lease.checkpoint.is_number or lease.pending is not None


def refused_position(lease: Lease, stream: str, error: InvalidRequestError) -> StreamRecreatedError:
    """Return the error of a lease whose position Kinesis refuses: a record of another stream."""
    return StreamRecreatedError(
        f"Kinesis refuses the position of the lease of {lease.shard_id}: the present stream {stream} never had this record. The "
        f"stream was deleted and created again, or another program has changed the lease. ({error.what})",
        advice=Advice.START_ANEW,
        stream=stream,
        shard=lease.shard_id,
    )


def _moment_ms(held: HeldLease, source: GroupStream) -> int | None:
    """
    Return the time that the checkpoint LATEST or AT_TIMESTAMP means; None for a time that only a KCL knows.

    A KCL writes the word alone. For LATEST it means the moment of its first call, and so it does here. That moment is written to the
    lease, so that it stays the same if this worker ends before its first commit.
    """
    lease = held.lease
    if lease.starting_ms is not None:
        return lease.starting_ms
    if lease.checkpoint.number == AT_TIMESTAMP:
        return source.initial_ms
    now_ms = source.pages.now_ms()
    held.renew({STARTING_TIME: now_ms})
    return now_ms
