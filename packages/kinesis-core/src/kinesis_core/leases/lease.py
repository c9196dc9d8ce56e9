"""
Leases: shard offsets in the format of the Kinesis Client Library (KCL), one item per shard in its table.

The KCL's checkpoint is the sequence number of the last record that was read, and the sub-sequence number within an
aggregate. So `AFTER n` is published exactly. `AT n` names only a record that was not read. A batch that ends there
knows the first record that it holds, and that one is published: it was read. A consumer that continues from there may
read a part of the batch again, and misses nothing.

Source: https://docs.aws.amazon.com/streams/latest/dev/kcl-dynamoDB.html, and the KCL's DynamoDBLeaseSerializer,
DynamoDBMultiStreamLeaseSerializer and ExtendedSequenceNumber.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from attrs import frozen

from kinesis_core.model import (
    After,
    At,
    AtTimestamp,
    Children,
    Listing,
    Shard,
    ShardEnd,
    ShardOffset,
    StreamOffset,
    TrimHorizon,
    ancestors,
    index_children,
)

LEASE_KEY = "leaseKey"
LEASE_OWNER = "leaseOwner"
ALL_USER_RECORDS = 2**31 - 1
"""A sub-sequence number after every user record of an aggregate. It fits into the integers of every language."""


@frozen
class LeaseCheckpoint:
    """The last record read from a shard, as the KCL stores it."""

    number: str
    """A sequence number, or one of the KCL's words TRIM_HORIZON, AT_TIMESTAMP and SHARD_END."""
    sub_sequence_number: int = 0


@frozen
class Lease:
    """One item of a lease table."""

    shard_id: str
    checkpoint: LeaseCheckpoint
    stream_id: str | None = None
    """Account, name and creation time in seconds, if the table has several streams. None for a single stream."""
    parents: tuple[str, ...] = ()
    children: tuple[str, ...] = ()
    """Set once the shard is finished, as in the KCL."""
    hash_range: tuple[int, int] | None = None

    @property
    def key(self) -> str:
        return self.shard_id if self.stream_id is None else f"{self.stream_id}:{self.shard_id}"

    def attributes(self) -> dict[str, Any]:
        """Return the attributes of the item in DynamoDB's JSON, without key, counter and owner."""
        values: dict[str, Any] = {
            "checkpoint": {"S": self.checkpoint.number},
            "checkpointSubSequenceNumber": {"N": str(self.checkpoint.sub_sequence_number)},
            "ownerSwitchesSinceCheckpoint": {"N": "0"},
        }
        if self.parents:
            values["parentShardId"] = {"SS": list(self.parents)}
        if self.children:
            values["childShardIds"] = {"SS": list(self.children)}
        if self.hash_range is not None:
            values["startingHashKey"], values["endingHashKey"] = ({"S": str(key)} for key in self.hash_range)
        if self.stream_id is not None:
            values["streamName"] = {
                "S": self.stream_id
            }  # the KCL's name for the attribute that identifies the stream
            values["shardId"] = {"S": self.shard_id}
        return values


def identify_stream(arn: str, created_ms: int) -> str:
    """Return the KCL's name of a stream in a table with several: `account:name:created`, in seconds."""
    account, name = arn.split(":", 5)[4], arn.rpartition("/")[2]
    return f"{account}:{name}:{created_ms // 1000}"


def checkpoint_of(shard_offset: ShardOffset) -> LeaseCheckpoint | None:
    """Return the checkpoint for *shard_offset*, or None if it names no record that was read."""
    match shard_offset.cut:
        case After(number):
            return LeaseCheckpoint(str(number), ALL_USER_RECORDS)
        case At():
            return (
                None
                if shard_offset.first is None
                else LeaseCheckpoint(str(shard_offset.first), ALL_USER_RECORDS)
            )
        case ShardEnd():
            return LeaseCheckpoint("SHARD_END")
        case TrimHorizon():
            return LeaseCheckpoint("TRIM_HORIZON")
        case AtTimestamp():
            return LeaseCheckpoint("AT_TIMESTAMP")


def leases_of(stream: StreamOffset, listing: Listing, stream_id: str | None = None) -> Iterator[Lease]:
    """
    Yield the leases of the shard offsets of one stream, in the order of shard ids.

    Children of finished shards have a lease before they are read, so that a KCL that takes over finds every open
    shard. Listed ancestors that the offset no longer names have a lease as finished.
    """
    children = index_children(listing)
    passed = ancestors(stream.shards, listing)
    for shard_id in sorted({*stream.shards, *passed, *_next_generation(stream, children)}):
        shard_offset = stream.shards.get(
            shard_id, ShardOffset(ShardEnd() if shard_id in passed else TrimHorizon())
        )
        checkpoint = checkpoint_of(shard_offset)
        if checkpoint is None:
            continue
        shard = listing.get(shard_id)
        yield Lease(
            shard_id=shard_id,
            checkpoint=checkpoint,
            stream_id=stream_id,
            parents=shard.parents if shard else (),
            children=_ids(children.get(shard_id, ())) if shard_offset.cut == ShardEnd() else (),
            hash_range=(shard.hash_start, shard.hash_end) if shard else None,
        )


def _next_generation(stream: StreamOffset, children: Children) -> Iterator[str]:
    for shard_id in stream.finished():
        yield from _ids(children.get(shard_id, ()))


def _ids(shards: Iterable[Shard]) -> tuple[str, ...]:
    return tuple(shard.shard_id for shard in shards)
