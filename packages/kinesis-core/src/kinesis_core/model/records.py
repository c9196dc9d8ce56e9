"""Records and pages of records, as GetRecords and SubscribeToShard return them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import ceil
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from kinesis_core.model.cuts import Cut, is_after

MAX_PAGE_RECORDS = 10_000
"""What one GetRecords returns at most."""
_LONG_MAX = 2**63 - 1
_YEAR_9999_S = 253_402_300_799.999

_SequenceNumber = Annotated[str, Meta(min_length=1, max_length=129)]
_ArrivalSeconds = Annotated[float, Meta(ge=0, le=_YEAR_9999_S)]
_Milliseconds = Annotated[int, Meta(ge=0, le=_LONG_MAX)]


class Record(msgspec.Struct, gc=False):
    """
    One record as GetRecords returns it; an aggregate is one record.

    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_Record.html
    """

    sequence_number: _SequenceNumber = msgspec.field(name="SequenceNumber")
    """Decimal digits; `decode_page` verifies that."""
    data: bytes = msgspec.field(name="Data", default=b"")
    partition_key: str | None = msgspec.field(name="PartitionKey", default=None)
    arrived_s: _ArrivalSeconds | None = msgspec.field(name="ApproximateArrivalTimestamp", default=None)
    """The arrival time in seconds since the epoch, with millisecond precision. Neither exact nor increasing."""
    encryption_type: str | None = msgspec.field(name="EncryptionType", default=None)

    @property
    def number(self) -> int:
        """The sequence number as an integer. Compare it, never compute with it."""
        return int(self.sequence_number)

    @property
    def arrived_ms(self) -> int | None:
        """The arrival time in milliseconds since the epoch; None when Kinesis does not return it."""
        return None if self.arrived_s is None else round(self.arrived_s * 1000)


class Page(msgspec.Struct):
    """
    One response of GetRecords: at most 10,000 records and 10 MiB.

    An empty page does not mean the tip: follow `next_iterator` while `millis_behind` is above 0.

    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_GetRecords.html
    """

    records: Sequence[Record] = msgspec.field(name="Records")
    millis_behind: _Milliseconds = msgspec.field(name="MillisBehindLatest")
    next_iterator: str | None = msgspec.field(name="NextShardIterator", default=None)
    """None only at the end of a closed shard."""
    child_shards: list[Any] | None = msgspec.field(name="ChildShards", default=None)
    # No response has a member of this name. The field is set after decoding.
    body_bytes: int = msgspec.field(name="", default=0)
    """The length of the response body in bytes; 0 for a page that did not come as a body."""

    @property
    def is_shard_end(self) -> bool:
        return self.next_iterator is None

    @property
    def is_in_gap(self) -> bool:
        """Whether the page is empty although it is not at the tip or the shard's end: there may be records after it."""
        return not (self.records or self.is_shard_end or self.millis_behind == 0)


class SubscribedPage(Page):
    """
    One event of SubscribeToShard: up to 10 MiB of records. An event without records comes about every 5 seconds.

    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_SubscribeToShardEvent.html
    """

    continuation: _SequenceNumber | None = msgspec.field(name="ContinuationSequenceNumber", default=None)
    """The next subscription continues after this number, even if the event has no records."""

    @property
    def is_shard_end(self) -> bool:
        return bool(self.child_shards) or self.continuation is None

    @property
    def continues_after(self) -> int | None:
        """The continuation as an integer. Compare it, never compute with it."""
        return None if self.continuation is None else int(self.continuation)


def records_for(size_bytes: float, record_bytes: float) -> int:
    """Return how many records to ask for, if they shall have about *size_bytes* together and *record_bytes* each: 1 to 10,000."""
    return max(1, ceil(min(MAX_PAGE_RECORDS, size_bytes / max(1.0, record_bytes))))


def drop_before(page: Page, cut: Cut) -> None:
    """
    Remove the records before *cut* from *page*: a server that is not exact may return some.

    Sequence numbers increase on a page, so these records are its first ones.
    """
    records = page.records
    if records and not is_after(records[0].number, cut):
        page.records = records[bisect_left(records, True, key=lambda record: is_after(record.number, cut)) :]
