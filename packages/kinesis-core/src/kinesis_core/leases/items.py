"""
Leases as items of a table, with the attributes of the KCL.

Since version 3.5 the KCL keeps other items in the same table: the lock of the leader, the metrics of workers and more. Their
`entityType` tells them apart. An item without it is a lease.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
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
from kinesis_core.model import LAST_EPOCH_MS

ENTITY_TYPE = "entityType"
LEASE = "LEASE"
EMPTY_UNTIL = "emptyUntil"
COMMITTED_AT = "committedAt"
PENDING_BATCH = "pendingBatch"
STARTING_TIME = "startingTime"
STREAM_IDENTIFIER = "streamIdentifier"
PROCESS = "workerProcess"
_STREAM = re.compile(r"[^:]+:[^:]+:[0-9]{1,15}")
"""As the KCL names a stream: account, name and creation time in seconds."""
_SEQUENCE_NUMBER = re.compile(r"[0-9]{1,129}")
_COMMIT = re.compile(r"([^ ]+) ([0-9]{1,15})")
"""A checkpoint, and when it was committed."""
_HASH_KEY = re.compile(r"[0-9]{1,39}")
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


def read_leases(items: Iterable[Item]) -> tuple[list[Lease], list[str]]:
    """
    Return the leases in *items*, by key, and the keys of malformed ones.

    One malformed item does not stop whoever reads the others.
    """
    leases: list[Lease] = []
    malformed: list[str] = []
    for item in filter(is_lease, items):
        try:
            leases.append(read_lease(item))
        except LeaseItemError:
            malformed.append(str(item.get(LEASE_KEY, "without a key")))
    return sorted(leases, key=lambda lease: lease.key), sorted(malformed)


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


def commit_time(checkpoint: LeaseCheckpoint, at_ms: int) -> Item:
    """Return the attribute that says when *checkpoint* was committed: *at_ms*, by the clock of Kinesis."""
    return {COMMITTED_AT: f"{checkpoint} {at_ms}"}


def _read(item: Item) -> Lease:
    key = _text(item, LEASE_KEY)
    stream_id, _, shard_id = key.rpartition(":")
    if not shard_id or (stream_id and not _STREAM.fullmatch(stream_id)):
        raise ValueError("its key is neither a shard nor account:stream:created:shard")
    _number(item, "ownerSwitchesSinceCheckpoint", 0)  # other workers add to it
    checkpoint = _checkpoint(item, "checkpoint", "checkpointSubSequenceNumber")
    return Lease(
        shard_id=shard_id,
        stream_id=stream_id or None,
        checkpoint=checkpoint,
        parents=_ids(item, "parentShardId"),
        children=_ids(item, "childShardIds"),
        hash_range=_hash_range(item),
        owner=_optional_text(item, LEASE_OWNER),
        checkpoint_owner=_optional_text(item, "checkpointOwner"),
        counter=_number(item, "leaseCounter"),
        pending=_checkpoint(item, *PENDING[:2]) if PENDING[0] in item else None,
        pending_batch=_optional_text(item, PENDING_BATCH),
        empty_until=_optional_text(item, EMPTY_UNTIL),
        stream_identifier=_stream(item),
        process=_optional_text(item, PROCESS),
        starting_ms=_time_ms(item) if STARTING_TIME in item else None,
        committed_ms=_committed_ms(item, checkpoint),
    )


def _checkpoint(item: Item, name: str, sub_name: str) -> LeaseCheckpoint:
    number = _text(item, name)
    if number not in _WORDS and not _SEQUENCE_NUMBER.fullmatch(number):
        raise ValueError(f"'{name}' is {number!r}, neither a sequence number nor a word of the KCL")
    return LeaseCheckpoint(number, _number(item, sub_name, 0))


def _typed(item: Item, name: str, kind: type) -> Any:
    value = item[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"'{name}' is a {type(value).__name__}")
    return value


def _text(item: Item, name: str) -> str:
    return str(_typed(item, name, str))


def _optional_text(item: Item, name: str) -> str | None:
    return _text(item, name) if name in item else None


def _number(item: Item, name: str, default: int | None = None) -> int:
    if default is not None and name not in item:
        return default
    return int(_typed(item, name, int))


def _time_ms(item: Item) -> int:
    time_ms = _number(item, STARTING_TIME)
    if not 0 <= time_ms <= LAST_EPOCH_MS:
        raise ValueError(f"'{STARTING_TIME}' is {time_ms}, which is not a time in milliseconds")
    return time_ms


def _committed_ms(item: Item, checkpoint: LeaseCheckpoint) -> int | None:
    """Return when *checkpoint* was committed; None if that is unknown: a KCL may have moved the checkpoint since then."""
    text = item.get(COMMITTED_AT)
    found = _COMMIT.fullmatch(text) if isinstance(text, str) else None
    return int(found[2]) if found is not None and found[1] == str(checkpoint) else None


def _stream(item: Item) -> str | None:
    stream = _optional_text(item, STREAM_IDENTIFIER)
    if stream is not None and not _STREAM.fullmatch(stream):
        raise ValueError(f"'{STREAM_IDENTIFIER}' is {stream!r}, and not account:stream:created")
    return stream


def _hash_range(item: Item) -> tuple[int, int] | None:
    names = ("startingHashKey", "endingHashKey")
    if not all(name in item for name in names):
        return None
    texts = [_text(item, name) for name in names]
    if not all(_HASH_KEY.fullmatch(text) for text in texts) or not int(texts[0]) <= int(texts[1]) < 2**128:
        raise ValueError(f"{' to '.join(texts)} is not a range of hash keys")
    return int(texts[0]), int(texts[1])


def _ids(item: Item, name: str) -> tuple[str, ...]:
    ids = sorted(_typed(item, name, frozenset)) if name in item else []
    if not all(isinstance(each, str) for each in ids):
        raise TypeError(f"'{name}' has what is no text")
    return tuple(ids)
