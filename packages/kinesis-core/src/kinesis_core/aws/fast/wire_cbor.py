"""
Bodies in CBOR, as AWS's SDKs for Java send and accept them. Installed by `kinesis-core[cbor]`.

The shapes are those of JSON. Payloads are byte strings. A time is an integer of milliseconds with tag 1, not of seconds as RFC 8949 has
it. The tag may be missing in a response: kinesis-local leaves it out. Requests have definite lengths.
Responses may have indefinite ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from io import BytesIO
from typing import Any, NoReturn

import cbor2
import msgspec

from kinesis_core.aws.fast.wire import PageWithoutData, PutBody, WrittenBody, check_put, page_of, verified
from kinesis_core.aws.wire_choice import CBOR_LIMITS
from kinesis_core.model import EntryColumns, Page, PutEntry, PutResponse
from kinesis_core.native import find_native

_TIME = 1
_TAGS_OF_CBOR2 = (
    0,
    2,
    3,
    4,
    5,
    25,
    28,
    29,
    30,
    35,
    36,
    37,
    52,
    54,
    100,
    256,
    258,
    260,
    261,
    1004,
    43000,
    55799,
)
"""Tags that the library would decode. No response has them."""
_ARRIVED = "ApproximateArrivalTimestamp"


def _decode_time(epoch_ms: object, _: bool) -> int:
    return _verify_time(epoch_ms)


def _refuse(*_: object) -> NoReturn:
    raise ValueError("the tag is not known")


_DECODERS: Mapping[int, Callable[[Any, bool], Any]] = {
    **dict.fromkeys(_TAGS_OF_CBOR2, _refuse),
    _TIME: _decode_time,
}


def encode_request(request: Mapping[str, Any], /) -> bytes:
    """Return the body of a request."""
    return cbor2.dumps(request)


def encode_time(epoch_ms: int) -> cbor2.CBORTag:
    """Return a time as a value for `encode_request`."""
    return cbor2.CBORTag(_TIME, epoch_ms)


def encode_put(entries: Sequence[PutEntry], name: str, arn: str | None) -> bytes:
    """Return the body of a PutRecords request to the stream called *name*, or with that *arn*."""
    found = entries.native.encode_cbor(name, arn) if isinstance(entries, EntryColumns) else None
    return encode_put_in_python(entries, name, arn) if found is None else found


def encode_put_in_python(entries: Sequence[PutEntry], name: str, arn: str | None) -> bytes:
    """Encode like `encode_put`, and define what that returns."""
    stream = {"StreamARN": arn} if arn else {"StreamName": name}
    return encode_request({"Records": [_entry(entry) for entry in entries], **stream})


def _entry(entry: PutEntry) -> dict[str, Any]:
    encoded: dict[str, Any] = {"Data": entry.data}
    if entry.partition_key:
        encoded["PartitionKey"] = entry.partition_key
    if entry.explicit_hash_key is not None:
        encoded["ExplicitHashKey"] = entry.explicit_hash_key
    return encoded


def decode_response(body: bytes) -> Any:
    """
    Return the value that *body* consists of.

    Raises:
        ValueError: It is not one value of CBOR, it nests too deeply, or a key occurs twice in a map.
    """
    stream = BytesIO(body)
    decoder = cbor2.CBORDecoder(
        stream,
        semantic_decoders=_DECODERS,
        tag_hook=_refuse,
        **CBOR_LIMITS,
    )
    try:
        value = decoder.decode()
    except cbor2.CBORDecodeError as error:
        raise ValueError(str(error)) from error
    if stream.read(1):
        raise ValueError("there are bytes after the value")
    return value


def decode_page(body: bytes, with_data: bool = True) -> Page:
    """
    Decode the body of a successful GetRecords response, like `wire.decode_page`.

    Raises:
        One of `MALFORMED`: The body is not CBOR, lacks a required member, or has one of another type. Such a body is never taken for
            the end of a shard.
    """
    native = find_native()
    found = None if native is None else native.decode_cbor_page(body, with_data)
    return decode_page_in_python(body, with_data) if found is None else page_of(found, len(body))


def decode_page_in_python(body: bytes, with_data: bool = True) -> Page:
    """Decode like `decode_page`, and define what that returns."""
    value = decode_response(body)
    _replace_times(value["Records"])
    page: Page = msgspec.convert(value, Page if with_data else PageWithoutData, builtin_types=(bytes,))
    return verified(page, len(body))


def _replace_times(records: Iterable[dict[str, Any]]) -> None:
    """Put seconds where the arrival times are."""
    for record in records:
        arrived_ms = record.get(_ARRIVED)
        if arrived_ms is not None:
            record[_ARRIVED] = _verify_time(arrived_ms) / 1000


def _verify_time(epoch_ms: object) -> int:
    if type(epoch_ms) is not int:
        raise ValueError("a time is not an integer of milliseconds")
    return epoch_ms


def decode_put_response(body: bytes, records: int, with_results: bool) -> PutResponse:
    """
    Decode the body of a successful response to a request of *records* records, like `wire.decode_put_response`.

    Raises:
        One of `MALFORMED`: The body does not say for each record what became of it.
    """
    value = decode_response(body)
    response: PutBody
    try:
        response = msgspec.convert(value, WrittenBody, builtin_types=(bytes,))
    except msgspec.ValidationError:
        response = msgspec.convert(value, PutBody, builtin_types=(bytes,))
    return check_put(response, records, with_results)


def error_as_json(body: bytes) -> bytes:
    """Return the body of an error as JSON, which botocore parses; without members if it is malformed."""
    try:
        value = decode_response(body)
    except ValueError:
        value = None
    members = value.items() if isinstance(value, dict) else ()
    texts = {name: text for name, text in members if isinstance(name, str) and isinstance(text, str)}
    return json.dumps(texts).encode()
