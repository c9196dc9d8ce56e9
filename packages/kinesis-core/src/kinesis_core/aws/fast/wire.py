"""
Bodies of requests and responses: encoded and decoded here, past the serializers and parsers of botocore.

A body that is malformed raises one of `MALFORMED`, which the caller turns into a `MalformedResponseError` with the facts of the call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from kinesis_core.model import (
    EntryColumns,
    Page,
    PutEntry,
    PutResponse,
    PutResult,
    Record,
    RecordColumns,
    Shard,
    SubscribedPage,
    WrittenResult,
)
from kinesis_core.native import find_native

P = TypeVar("P", bound=Page)


class _RecordWithoutData(Record):
    # No response has a member of this name, so the decoder skips the payload like any unknown member.
    data: bytes = msgspec.field(name="", default=b"")


class PageWithoutData(Page):
    """A page whose records have empty data."""

    records: list[_RecordWithoutData] = msgspec.field(name="Records")


class _SubscribedPageWithoutData(SubscribedPage):
    records: list[_RecordWithoutData] = msgspec.field(name="Records")


_decoder: msgspec.json.Decoder[Page] = msgspec.json.Decoder(Page)
_decoder_without_data: msgspec.json.Decoder[Page] = msgspec.json.Decoder(PageWithoutData)
_event_decoder: msgspec.json.Decoder[SubscribedPage] = msgspec.json.Decoder(SubscribedPage)
_event_decoder_without_data: msgspec.json.Decoder[SubscribedPage] = msgspec.json.Decoder(
    _SubscribedPageWithoutData
)


def decode_page(body: bytes, with_data: bool = True) -> Page:
    """
    Decode the body of a successful GetRecords response.

    Without *with_data* each record's `data` is b"". Its base64 is not decoded, which saves a third to two thirds of the
    time.

    Raises:
        One of `MALFORMED`: The body is not JSON, lacks a required member, or has a sequence number that is not decimal. Such a body
            is never taken for the end of a shard.
    """
    native = find_native()
    found = None if native is None else native.decode_page(body, with_data)
    if found is None:
        return decode_page_in_python(body, with_data)
    return page_of(found, len(body))


def page_of(found: Any, body_bytes: int) -> Page:
    """Return the page that kinesis-native has found in a body."""
    return Page(RecordColumns(found), found.millis_behind, found.next_iterator, body_bytes=body_bytes)


def decode_page_in_python(body: bytes, with_data: bool = True) -> Page:
    """Decode like `decode_page`, and define what that returns."""
    return _decode(body, _decoder if with_data else _decoder_without_data)


def decode_event(
    received: bytes, with_data: bool = True, start: int = 0, stop: int | None = None
) -> SubscribedPage:
    """
    Decode the payload of one SubscribeToShardEvent, which is *received* from *start* to *stop*, like `decode_page`.

    Raises:
        One of `MALFORMED`: As there, and for a continuation that is not a decimal number.
    """
    stop = len(received) if stop is None else stop
    native = find_native()
    found = None if native is None else native.decode_page(received, with_data, start, stop)
    if found is None:
        return decode_event_in_python(memoryview(received)[start:stop], with_data)
    page = SubscribedPage(
        RecordColumns(found), found.millis_behind, found.next_iterator, body_bytes=stop - start
    )
    page.continuation = found.continuation
    return page


def decode_event_in_python(body: bytes | memoryview, with_data: bool = True) -> SubscribedPage:
    """Decode like `decode_event`, and define what that returns."""
    page = _decode(body, _event_decoder if with_data else _event_decoder_without_data)
    if page.continuation is not None and not (page.continuation.isascii() and page.continuation.isdigit()):
        raise ValueError("the continuation is not a decimal number")
    return page


def _decode(body: bytes | memoryview, decoder: msgspec.json.Decoder[P]) -> P:
    return verified(decoder.decode(body), len(body))


def verified(page: P, body_bytes: int) -> P:
    """
    Return *page*, from a body of *body_bytes*, whose sequence numbers all consist of ASCII digits; ValueError if not.

    It checks a whole page at once, as bytes: with records of 100 bytes that takes 7 % of the decoder's time, and a
    pattern on the field takes 170 %. The decoder has checked the lengths.
    """
    digits = "".join([record.sequence_number for record in page.records])
    if page.records and not digits.encode().isdigit():
        raise ValueError("a sequence number is not a decimal number")
    page.body_bytes = body_bytes
    return page


class _PutRequest(msgspec.Struct, omit_defaults=True):
    records: Sequence[PutEntry] = msgspec.field(name="Records")
    stream_arn: str | None = msgspec.field(name="StreamARN", default=None)
    stream_name: str | None = msgspec.field(name="StreamName", default=None)


class _HashKeys(msgspec.Struct, rename="pascal", gc=False):
    starting_hash_key: str
    ending_hash_key: str


class _Numbers(msgspec.Struct, rename="pascal", gc=False):
    starting_sequence_number: str
    ending_sequence_number: str | None = None


class _Shard(msgspec.Struct, rename="pascal", gc=False):
    shard_id: str
    hash_key_range: _HashKeys
    sequence_number_range: _Numbers
    parent_shard_id: str | None = None
    adjacent_parent_shard_id: str | None = None


class _ShardsBody(msgspec.Struct, rename="pascal"):
    shards: list[_Shard]
    next_token: str | None = None


_shards_decoder = msgspec.json.Decoder(_ShardsBody)


def decode_shards(body: bytes) -> tuple[list[Shard], str | None]:
    """
    Return the shards of a successful ListShards response, and the token of the next page, if there is one.

    Raises:
        One of `MALFORMED`: The body is not JSON, lacks a required member, or has a number that is not one.
    """
    page = _shards_decoder.decode(body)
    return [_read_shard(shard) for shard in page.shards], page.next_token


def _read_shard(shard: _Shard) -> Shard:
    keys, numbers = shard.hash_key_range, shard.sequence_number_range
    ending = numbers.ending_sequence_number
    return Shard(
        shard.shard_id,
        shard.parent_shard_id,
        shard.adjacent_parent_shard_id,
        int(keys.starting_hash_key),
        int(keys.ending_hash_key),
        int(numbers.starting_sequence_number),
        None if ending is None else int(ending),
    )


class PutBody(msgspec.Struct):
    """The body of a response to PutRecords."""

    results: Sequence[PutResult] = msgspec.field(name="Records")
    failed: int | None = msgspec.field(name="FailedRecordCount", default=None)
    """None where the server leaves it out, as the API allows. The results say the same."""


class WrittenBody(PutBody):
    """
    The usual body: every record was written, which the decoder verifies.

    Decoding it takes 4/5 of the time of a `PutBody` whose results are verified in Python.
    """

    results: list[WrittenResult] = msgspec.field(name="Records")


_encoder = msgspec.json.Encoder()
_written_decoder = msgspec.json.Decoder(WrittenBody)
_put_decoder = msgspec.json.Decoder(PutBody)


def encode_request(request: Mapping[str, Any], /) -> bytes:
    """Return the body of a request."""
    return _encoder.encode(request)


def encode_time(epoch_ms: int) -> float:
    """Return a time as a value for `encode_request`."""
    return epoch_ms / 1000


def encode_put(entries: Sequence[PutEntry], name: str, arn: str | None) -> bytes:
    """Return the body of a PutRecords request to the stream called *name*, or with that *arn*."""
    found = entries.native.encode_json(name, arn) if isinstance(entries, EntryColumns) else None
    return encode_put_in_python(entries, name, arn) if found is None else found


def encode_put_in_python(entries: Sequence[PutEntry], name: str, arn: str | None) -> bytes:
    """Encode like `encode_put`, and define what that returns."""
    return _encoder.encode(_PutRequest(list(entries), arn, None if arn else name))


def decode_response(body: bytes) -> Any:
    """
    Return the value that *body* consists of.

    Raises:
        ValueError: It is not JSON.
    """
    return json.loads(body)


def decode_put_response(body: bytes, records: int, with_results: bool) -> PutResponse:
    """
    Decode the body of a successful response to a request of *records* records.

    Without *with_results* a response without failures is returned without results.

    Raises:
        One of `MALFORMED`: The body does not say for each record what became of it.
    """
    response: PutBody
    try:
        response = _written_decoder.decode(body)
    except msgspec.ValidationError:
        response = _put_decoder.decode(body)
    return check_put(response, records, with_results)


def check_put(response: PutBody, records: int, with_results: bool) -> PutResponse:
    """
    Return the outcome of a request of *records* records.

    Raises:
        ValueError: A record has no result, or one that says neither where it was written nor why not; or the number of failures is
            another one.
    """
    results = response.results
    failed = 0 if isinstance(response, WrittenBody) else _count_failed(results)
    if len(results) != records or response.failed not in (None, failed):
        raise ValueError(
            f"{len(results)} results, {failed} of them failures, for {records} records, of which "
            f"{response.failed} are said to have failed"
        )
    return PutResponse(failed, results if failed or with_results else ())


def _count_failed(results: Sequence[PutResult]) -> int:
    failed = 0
    for result in results:
        if result.error_code is not None:
            failed += 1
        elif result.shard_id is None or result.sequence_number is None:
            raise ValueError("a result has neither a shard and a sequence number nor an error code")
    return failed
