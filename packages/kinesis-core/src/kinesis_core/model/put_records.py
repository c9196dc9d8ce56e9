"""What PutRecords takes and returns, encoded to and decoded from the bodies' bytes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from attrs import frozen

from kinesis_core.errors import MalformedAnswerError

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
class PutAnswer:
    """What became of the records of a request, in their order."""

    failed: int
    results: Sequence[PutResult]
    """Empty when all were written and nobody asked where to."""


class _Request(msgspec.Struct, omit_defaults=True):
    records: Sequence[PutEntry] = msgspec.field(name="Records")
    stream_arn: str | None = msgspec.field(name="StreamARN", default=None)
    stream_name: str | None = msgspec.field(name="StreamName", default=None)


class _Count(msgspec.Struct):
    failed: int = msgspec.field(name="FailedRecordCount")


class _Answer(_Count):
    results: list[PutResult] = msgspec.field(name="Records")


_encoder = msgspec.json.Encoder()
_count_decoder = msgspec.json.Decoder(_Count)
_decoder = msgspec.json.Decoder(_Answer)


def encode_put(entries: Sequence[PutEntry], name: str, arn: str | None) -> bytes:
    """Return the body of a PutRecords request to the stream called *name*, or with that *arn*."""
    return _encoder.encode(_Request(entries, arn, None if arn else name))


def decode_put_answer(body: bytes, records: int, with_results: bool) -> PutAnswer:
    """
    Decode the body of a successful answer to a request of so many *records*.

    Without *with_results* those of an answer without failures are passed over, which saves half the time.

    Raises:
        MalformedAnswerError: The body is not such an answer. Nobody knows what was written.
    """
    try:
        if not with_results and _count_decoder.decode(body).failed == 0:
            return PutAnswer(0, ())
        answer = _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _malformed(str(error)) from error
    failed = sum(result.error_code is not None for result in answer.results)
    if len(answer.results) != records or failed != answer.failed:
        raise _malformed(
            f"{len(answer.results)} results, {failed} of them failures, for {records} records, of which "
            f"{answer.failed} are said to have failed"
        )
    return PutAnswer(failed, answer.results)


def _malformed(reason: str) -> MalformedAnswerError:
    return MalformedAnswerError(
        f"PutRecords returned a body that is not its answer: {reason}. The call is made again.",
        code="MalformedAnswer",
    )
