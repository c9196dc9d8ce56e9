"""What PutRecords takes and returns."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from attrs import frozen

MAX_PUT_RECORDS = 500
MAX_PUT_BYTES = 10 * 1024 * 1024
"""Data and partition keys of all records of a request together."""


class PutEntry(msgspec.Struct, gc=False, omit_defaults=True):
    """
    One record on its way into a stream; an aggregate counts as one.

    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_PutRecordsRequestEntry.html
    """

    data: bytes = msgspec.field(name="Data")
    partition_key: str = msgspec.field(name="PartitionKey", default="")
    """Left out when empty: a stream that distributes its records itself takes those without one."""
    explicit_hash_key: str | None = msgspec.field(name="ExplicitHashKey", default=None)


class PutResult(msgspec.Struct, gc=False):
    """What became of one record."""

    shard_id: str | None = msgspec.field(name="ShardId", default=None)
    error_code: str | None = msgspec.field(name="ErrorCode", default=None)
    error_message: str | None = msgspec.field(name="ErrorMessage", default=None)


@frozen
class PutResponse:
    """What became of the records of a request, in their order."""

    failed: int
    results: Sequence[PutResult]
    """Empty when all were written and nobody asked where to."""
