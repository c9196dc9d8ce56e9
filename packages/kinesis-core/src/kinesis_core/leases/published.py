"""
What a query publishes: the leases of its offset.

The KCL's checkpoint is the last user record that was processed: a sequence number, and the index within that record. So `AFTER n` is
published with an index after all user records, and `AT n` with the index before the first one that was not read.

`AT_TIMESTAMP` names no record. A lease with this word would stop every KCL that is not configured with a time: it looks for the
time in its configuration. So the publisher replaces the word before it writes the lease (see `unread`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kinesis_core.leases.lease import (
    ALL_USER_RECORDS,
    AT_TIMESTAMP,
    FINISHED,
    NO_USER_RECORD,
    OLDEST,
    Lease,
    LeaseCheckpoint,
)
from kinesis_core.model import (
    After,
    At,
    AtTimestamp,
    Children,
    Cut,
    Listing,
    Shard,
    ShardEnd,
    ShardOffset,
    StreamOffset,
    TrimHorizon,
    ancestors,
    index_children,
)


def checkpoint_of(cut: Cut) -> LeaseCheckpoint:
    """Return the checkpoint for *cut*. The word AT_TIMESTAMP still has to be replaced."""
    match cut:
        case After(number):
            return LeaseCheckpoint(str(number), ALL_USER_RECORDS)
        case At(number, skip):
            return LeaseCheckpoint(str(number), NO_USER_RECORD + skip)
        case ShardEnd():
            return FINISHED
        case TrimHorizon():
            return OLDEST
        case AtTimestamp():
            return LeaseCheckpoint(AT_TIMESTAMP)


def leases_of(
    stream: StreamOffset, listing: Listing, stream_id: str | None = None, identifier: str | None = None
) -> Iterator[Lease]:
    """
    Yield the leases of the shard offsets of one stream, in the order of shard ids. *stream_id* is in their keys, and *identifier* an attribute.

    Children of finished shards have a lease before they are read, so that a KCL that takes over finds every open
    shard. Listed ancestors that the offset no longer names have a lease as finished.
    """
    children = index_children(listing)
    passed = ancestors(stream.shards, listing)
    for shard_id in sorted({*stream.shards, *passed, *_next_generation(stream, children)}):
        shard_offset = stream.shards.get(
            shard_id, ShardOffset(ShardEnd() if shard_id in passed else TrimHorizon())
        )
        shard, cut = listing.get(shard_id), shard_offset.cut
        yield Lease(
            shard_id=shard_id,
            checkpoint=checkpoint_of(cut),
            stream_id=stream_id,
            parents=shard.parents if shard else (),
            children=_ids(children.get(shard_id, ())) if cut == ShardEnd() else (),
            hash_range=(shard.hash_start, shard.hash_end) if shard else None,
            stream_identifier=identifier,
            starting_ms=cut.epoch_ms if isinstance(cut, AtTimestamp) else None,
        )


def _next_generation(stream: StreamOffset, children: Children) -> Iterator[str]:
    for shard_id in stream.finished():
        yield from _ids(children.get(shard_id, ()))


def _ids(shards: Iterable[Shard]) -> tuple[str, ...]:
    return tuple(shard.shard_id for shard in shards)
