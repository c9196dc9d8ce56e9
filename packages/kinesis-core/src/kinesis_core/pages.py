"""What GetRecords returns, decoded straight from the body's bytes."""

from __future__ import annotations

from typing import Any

import msgspec

from kinesis_core.errors import MalformedAnswerError


class Record(msgspec.Struct, gc=False):
    """
    One record as GetRecords returns it; an aggregate counts as one.

    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_Record.html
    """

    sequence_number: str = msgspec.field(name="SequenceNumber")
    data: bytes = msgspec.field(name="Data", default=b"")
    partition_key: str | None = msgspec.field(name="PartitionKey", default=None)
    arrived_s: float | None = msgspec.field(name="ApproximateArrivalTimestamp", default=None)
    """Seconds since the epoch with millisecond precision; neither exact nor increasing."""
    encryption_type: str | None = msgspec.field(name="EncryptionType", default=None)

    @property
    def number(self) -> int:
        """The sequence number for comparing; never compute with it."""
        return int(self.sequence_number)

    @property
    def arrived_ms(self) -> int | None:
        return None if self.arrived_s is None else round(self.arrived_s * 1000)


class Page(msgspec.Struct):
    """
    One answer of GetRecords: at most 10,000 records and 10 MiB.

    An empty page is not the tip: follow `next_iterator` while `millis_behind` is above 0.

    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_GetRecords.html
    """

    records: list[Record] = msgspec.field(name="Records")
    millis_behind: int = msgspec.field(name="MillisBehindLatest")
    next_iterator: str | None = msgspec.field(name="NextShardIterator", default=None)
    """None only when a closed shard has been read to its end."""
    child_shards: list[Any] | None = msgspec.field(name="ChildShards", default=None)

    @property
    def is_shard_end(self) -> bool:
        return self.next_iterator is None


_decoder = msgspec.json.Decoder(Page)


def decode_page(body: bytes) -> Page:
    """
    Decode the body of a successful GetRecords answer.

    Raises:
        MalformedAnswerError: The body is not JSON, or lacks what every page has. It is never taken for
            the end of a shard.
    """
    try:
        return _decoder.decode(body)
    except msgspec.DecodeError as error:
        raise MalformedAnswerError(
            f"GetRecords returned a body that is not a page of records: {error}. The call is tried again.",
            code="MalformedAnswer",
        ) from error
