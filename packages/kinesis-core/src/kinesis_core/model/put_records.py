"""The request and response of PutRecords."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from attrs import frozen
from msgspec import Meta

MAX_PUT_RECORDS = 500
"""The maximum number of records in one request."""
MAX_PUT_BYTES = 10 * 1024 * 1024
"""The maximum size of one request: data and partition keys of all its records together."""


class PutEntry(msgspec.Struct, gc=False, omit_defaults=True):
    """
    One record of a request; an aggregate is one record.

    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_PutRecordsRequestEntry.html
    """

    data: bytes = msgspec.field(name="Data")
    partition_key: str = msgspec.field(name="PartitionKey", default="")
    """Left out of the request when empty, which only streams with record distribution AUTO accept."""
    explicit_hash_key: str | None = msgspec.field(name="ExplicitHashKey", default=None)


_Text = Annotated[str, Meta(min_length=1)]


class PutResult(msgspec.Struct, gc=False):
    """
    The outcome for one record: the shard it was written to and its number there, or an error code.

    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_PutRecordsResultEntry.html
    """

    shard_id: _Text | None = msgspec.field(name="ShardId", default=None)
    error_code: _Text | None = msgspec.field(name="ErrorCode", default=None)
    error_message: str | None = msgspec.field(name="ErrorMessage", default=None)
    sequence_number: _Text | None = msgspec.field(name="SequenceNumber", default=None)


class WrittenResult(PutResult, gc=False, kw_only=True):
    """The outcome for a record that was written."""

    shard_id: _Text = msgspec.field(name="ShardId")
    sequence_number: _Text = msgspec.field(name="SequenceNumber")
    error_code: None = msgspec.field(name="ErrorCode", default=None)


@frozen
class PutResponse:
    """The outcome of a request: how many records failed, and one result per record in the order of the request."""

    failed: int
    results: Sequence[PutResult]
    """Empty when all records were written and the caller does not need their shards."""
