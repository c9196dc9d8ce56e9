"""What GetRecords and SubscribeToShard return, decoded straight from the bytes."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from kinesis_core.errors import MalformedAnswerError
from kinesis_core.model.cuts import Cut, is_behind

_LONG_MAX = 2**63 - 1
_YEAR_9999_S = 253_402_300_799.999

_SequenceNumber = Annotated[str, Meta(min_length=1, max_length=129)]
_ArrivalSeconds = Annotated[float, Meta(ge=0, le=_YEAR_9999_S)]
_Milliseconds = Annotated[int, Meta(ge=0, le=_LONG_MAX)]


class Record(msgspec.Struct, gc=False):
    """
    One record as GetRecords returns it; an aggregate counts as one.

    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_Record.html
    """

    sequence_number: _SequenceNumber = msgspec.field(name="SequenceNumber")
    """Decimal digits, as `decode_page` has made sure."""
    data: bytes = msgspec.field(name="Data", default=b"")
    partition_key: str | None = msgspec.field(name="PartitionKey", default=None)
    arrived_s: _ArrivalSeconds | None = msgspec.field(name="ApproximateArrivalTimestamp", default=None)
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
    millis_behind: _Milliseconds = msgspec.field(name="MillisBehindLatest")
    next_iterator: str | None = msgspec.field(name="NextShardIterator", default=None)
    """None only when a closed shard has been read to its end."""
    child_shards: list[Any] | None = msgspec.field(name="ChildShards", default=None)
    # No answer has a member of this name; it is filled in after decoding.
    body_bytes: int = msgspec.field(name="", default=0)
    """The length of the answer's body; 0 for a page that came in none."""

    @property
    def is_shard_end(self) -> bool:
        return self.next_iterator is None

    @property
    def is_in_gap(self) -> bool:
        """Whether it is empty, and not for want of anything behind it."""
        return not (self.records or self.is_shard_end or self.millis_behind == 0)


class SubscribedPage(Page):
    """
    One event of SubscribeToShard: up to 10 MiB of records, or none, as it comes about every 5 seconds.

    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_SubscribeToShardEvent.html
    """

    continuation: _SequenceNumber | None = msgspec.field(name="ContinuationSequenceNumber", default=None)
    """Behind this number the next subscription goes on, also after an event without records."""

    @property
    def is_shard_end(self) -> bool:
        return bool(self.child_shards) or self.continuation is None

    @property
    def continues_behind(self) -> int | None:
        """The continuation for comparing; never compute with it."""
        return None if self.continuation is None else int(self.continuation)


P = TypeVar("P", bound=Page)


class _RecordWithoutData(Record):
    # No answer has a member of this name, so the payload is passed over like any unknown member.
    data: bytes = msgspec.field(name="", default=b"")


class _PageWithoutData(Page):
    records: list[_RecordWithoutData] = msgspec.field(name="Records")  # type: ignore[assignment]  # never appended to


class _SubscribedPageWithoutData(SubscribedPage):
    records: list[_RecordWithoutData] = msgspec.field(name="Records")  # type: ignore[assignment]  # never appended to


def leave_out_before(page: Page, cut: Cut) -> None:
    """Leave out what a server that is not exact put before *cut*; numbers increase, so that stands first."""
    before = 0
    while before < len(page.records) and not is_behind(page.records[before].number, cut):
        before += 1
    if before:
        page.records = page.records[before:]


_decoder: msgspec.json.Decoder[Page] = msgspec.json.Decoder(Page)
_decoder_without_data: msgspec.json.Decoder[Page] = msgspec.json.Decoder(_PageWithoutData)
_event_decoder: msgspec.json.Decoder[SubscribedPage] = msgspec.json.Decoder(SubscribedPage)
_event_decoder_without_data: msgspec.json.Decoder[SubscribedPage] = msgspec.json.Decoder(
    _SubscribedPageWithoutData
)


def decode_page(body: bytes, with_data: bool = True) -> Page:
    """
    Decode the body of a successful GetRecords answer.

    Without *with_data* every record's `data` is b"" and its base64 is not decoded, which saves a third
    to two thirds of the time.

    Raises:
        MalformedAnswerError: The body is not JSON, or lacks what every page has, or a sequence number is
            not a decimal one. It is never taken for the end of a shard.
    """
    return _decode(body, _decoder if with_data else _decoder_without_data, "GetRecords")


def decode_event(body: bytes | memoryview, with_data: bool = True) -> SubscribedPage:
    """
    Decode the payload of one SubscribeToShardEvent, like `decode_page`.

    Raises:
        MalformedAnswerError: As there; a continuation that is not a decimal number is one more reason.
    """
    page = _decode(body, _event_decoder if with_data else _event_decoder_without_data, "SubscribeToShard")
    if page.continuation is not None and not (page.continuation.isascii() and page.continuation.isdigit()):
        raise _malformed("SubscribeToShard", "the continuation is not a decimal number")
    return page


def _decode(body: bytes | memoryview, decoder: msgspec.json.Decoder[P], action: str) -> P:
    try:
        page = decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _malformed(action, str(error)) from error
    if not _are_decimal(page.records):
        raise _malformed(action, "a sequence number is not a decimal number")
    page.body_bytes = len(body)
    return page


def _are_decimal(records: list[Record]) -> bool:
    """
    Return whether every sequence number is made of ASCII digits.

    All of a page at once, as bytes: with records of 100 bytes that takes 7 % of the decoder's time, where a
    pattern on the field takes 170 %. That none is empty or too long has been seen to by the decoder.
    """
    digits = "".join([record.sequence_number for record in records])
    return not records or digits.encode().isdigit()


def _malformed(action: str, reason: str) -> MalformedAnswerError:
    return MalformedAnswerError(
        f"{action} returned a body that is not a page of records: {reason}. The call is tried again.",
        code="MalformedAnswer",
    )
