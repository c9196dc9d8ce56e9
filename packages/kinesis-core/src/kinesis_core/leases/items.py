"""
Leases as items of a table, with the attributes of the KCL.

Since version 3.5 the KCL keeps other items in the same table: the lock of the leader, the metrics of workers and more. Their
`entityType` tells them apart. An item without it is a lease.
"""

from __future__ import annotations

from typing import Any

from kinesis_core.leases.attributes import Item
from kinesis_core.leases.lease import (
    AT_TIMESTAMP,
    LATEST,
    LEASE_KEY,
    LEASE_OWNER,
    SHARD_END,
    TRIM_HORIZON,
    Lease,
    LeaseCheckpoint,
)

ENTITY_TYPE = "entityType"
LEASE = "LEASE"
EMPTY_UNTIL = "emptyUntil"
PENDING_BATCH = "pendingBatch"
STARTING_TIME = "startingTime"
STREAM_IDENTIFIER = "streamIdentifier"
PROCESS = "workerProcess"
_WORDS = {TRIM_HORIZON, LATEST, AT_TIMESTAMP, SHARD_END}


class LeaseItemError(ValueError):
    """An item of the table is a lease, and one of its attributes is missing or malformed."""


def is_lease(item: Item) -> bool:
    """Return whether *item* is a lease, and not one of the items that coordinate the workers."""
    return item.get(ENTITY_TYPE, LEASE) == LEASE


def read_lease(item: Item) -> Lease:
    """
    Return the lease in *item*.

    Raises:
        LeaseItemError: An attribute is missing or malformed. The message names the item and the attribute.
    """
    key = item.get(LEASE_KEY)
    try:
        return _read(item)
    except (KeyError, TypeError, ValueError) as error:
        raise LeaseItemError(f"item {key!r} is not a valid lease: {error}") from error


def checkpoint_attributes(checkpoint: LeaseCheckpoint) -> Item:
    """Return the attributes of a checkpoint. The number of changes of owner counts from a checkpoint on."""
    return {
        "checkpoint": checkpoint.number,
        "checkpointSubSequenceNumber": checkpoint.sub_sequence_number,
        "ownerSwitchesSinceCheckpoint": 0,
    }


PENDING = ("pendingCheckpoint", "pendingCheckpointSubSequenceNumber", "pendingCheckpointState")
"""The attributes of a checkpoint in two phases. All three are set and removed together."""


def pending_attributes(pending: LeaseCheckpoint) -> Item:
    """Return the attributes of a pending checkpoint, without a state."""
    return {PENDING[0]: pending.number, PENDING[1]: pending.sub_sequence_number}


def shard_attributes(lease: Lease) -> Item:
    """Return the attributes that say which shard *lease* is of, how it is related to others, and since when it is read."""
    values: Item = {}
    if lease.parents:
        values["parentShardId"] = frozenset(lease.parents)
    if lease.children:
        values["childShardIds"] = frozenset(lease.children)
    if lease.hash_range is not None:
        start, end = lease.hash_range
        values["startingHashKey"], values["endingHashKey"] = str(start), str(end)
    if lease.stream_id is not None:
        values["streamName"] = lease.stream_id  # the KCL's name for the attribute that identifies the stream
        values["shardId"] = lease.shard_id
    if lease.stream_identifier is not None:
        values[STREAM_IDENTIFIER] = lease.stream_identifier
    if lease.starting_ms is not None:
        values[STARTING_TIME] = lease.starting_ms
    return values


def _read(item: Item) -> Lease:
    key = _text(item, LEASE_KEY)
    stream_id, _, shard_id = key.rpartition(":")
    has_hash_range = "startingHashKey" in item and "endingHashKey" in item
    return Lease(
        shard_id=shard_id,
        stream_id=stream_id or None,
        checkpoint=_checkpoint(item, "checkpoint", "checkpointSubSequenceNumber"),
        parents=_ids(item, "parentShardId"),
        children=_ids(item, "childShardIds"),
        hash_range=(_key(item, "startingHashKey"), _key(item, "endingHashKey")) if has_hash_range else None,
        owner=_text(item, LEASE_OWNER) if LEASE_OWNER in item else None,
        checkpoint_owner=_text(item, "checkpointOwner") if "checkpointOwner" in item else None,
        counter=_number(item, "leaseCounter"),
        pending=_checkpoint(item, *PENDING[:2]) if PENDING[0] in item else None,
        pending_batch=_text(item, PENDING_BATCH) if PENDING_BATCH in item else None,
        empty_until=_text(item, EMPTY_UNTIL) if EMPTY_UNTIL in item else None,
        stream_identifier=_text(item, STREAM_IDENTIFIER) if STREAM_IDENTIFIER in item else None,
        process=_text(item, PROCESS) if PROCESS in item else None,
        starting_ms=_number(item, STARTING_TIME) if STARTING_TIME in item else None,
    )


def _checkpoint(item: Item, name: str, sub_name: str) -> LeaseCheckpoint:
    number = _text(item, name)
    if number not in _WORDS and not (number.isascii() and number.isdigit()):
        raise ValueError(f"'{name}' is {number!r}, neither a sequence number nor a word of the KCL")
    return LeaseCheckpoint(number, _number(item, sub_name, 0))


def _typed(item: Item, name: str, kinds: tuple[type, ...]) -> Any:
    value = item[name]
    if not isinstance(value, kinds):
        raise TypeError(f"'{name}' is a {type(value).__name__}")
    return value


def _text(item: Item, name: str) -> str:
    return str(_typed(item, name, (str,)))


def _number(item: Item, name: str, default: int | None = None) -> int:
    if default is not None and name not in item:
        return default
    return int(_typed(item, name, (int,)))


def _key(item: Item, name: str) -> int:
    return int(_text(item, name))


def _ids(item: Item, name: str) -> tuple[str, ...]:
    return tuple(sorted(_typed(item, name, (frozenset,)))) if name in item else ()
