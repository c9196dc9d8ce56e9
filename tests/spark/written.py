"""The user records in a stream, unpacked by an implementation of the format that is not ours."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from hashlib import md5
from typing import Any

from attrs import frozen

from kinesis_emulator import Emulator, StoredRecord


@frozen
class UserRecord:
    """One user record as aws_kinesis_agg returns it."""

    shard_id: str
    partition_key: str
    data: bytes
    is_aggregated: bool

    @property
    def hash_key(self) -> int:
        """The hash key of its partition key."""
        return int.from_bytes(md5(self.partition_key.encode(), usedforsecurity=False).digest(), "big")


def user_records(emulator: Emulator, stream: str) -> list[UserRecord]:
    """Return all user records of *stream*, shard by shard, in order."""
    return [found for record in emulator.records(stream) for found in _unpack(record)]


def _unpack(record: StoredRecord) -> Iterable[UserRecord]:
    from aws_kinesis_agg.deaggregator import iter_deaggregate_records

    raw = {
        "Data": record.data,
        "PartitionKey": record.partition_key,
        "SequenceNumber": record.sequence_number,
        "ApproximateArrivalTimestamp": record.arrived_ms,
    }
    for found in iter_deaggregate_records([raw], data_format="Boto3"):
        yield _user_record(record.shard_id, found["kinesis"])


def _user_record(shard_id: str, facts: dict[str, Any]) -> UserRecord:
    is_aggregated = bool(facts.get("aggregated"))
    data = base64.b64decode(facts["data"]) if is_aggregated else facts["data"]
    return UserRecord(shard_id, facts["partitionKey"], data, is_aggregated)
