"""Bodies in CBOR: what is decoded, what is malformed, and that both formats agree."""

from __future__ import annotations

import base64
import json
from typing import Any

import cbor2
import pytest

from kinesis_core.aws.fast import wire, wire_cbor
from kinesis_core.errors import MalformedResponseError
from kinesis_core.model import Page, PutEntry, PutResponse, PutResult, Record, WrittenResult

NUMBER = "49660000000000000000000000000000000000000000000000000001"
ARRIVED_MS = 1_790_000_012_345
RECORD = {
    "SequenceNumber": NUMBER,
    "ApproximateArrivalTimestamp": cbor2.CBORTag(1, ARRIVED_MS),
    "Data": b"payload\x00\xff",
    "PartitionKey": "ключ",
    "EncryptionType": "KMS",
}


def value(*records: Any, **members: Any) -> dict[str, Any]:
    response = {"Records": list(records), "NextShardIterator": "next", "MillisBehindLatest": 7} | members
    return {name: member for name, member in response.items() if member is not ...}


def body(*records: Any, **members: Any) -> bytes:
    return cbor2.dumps(value(*records, **members))


def record(**members: Any) -> dict[str, Any]:
    return {name: member for name, member in (RECORD | members).items() if member is not ...}


def as_json(item: Any) -> Any:
    """Return *item* as the same response has it in JSON."""
    match item:
        case dict():
            return {name: as_json(member) for name, member in item.items()}
        case list():
            return [as_json(member) for member in item]
        case bytes():
            return base64.b64encode(item).decode()
        case cbor2.CBORTag():
            return item.value / 1000
    return item


def test_decodes_what_get_records_returns() -> None:
    """Every member of a response is decoded, with the payload as bytes and the time to the millisecond."""
    page = wire_cbor.decode_page(body(RECORD))
    assert page == Page(
        records=[Record(NUMBER, b"payload\x00\xff", "ключ", 1_790_000_012.345, "KMS")],
        millis_behind=7,
        next_iterator="next",
        body_bytes=len(body(RECORD)),
    )
    assert page.records[0].arrived_ms == ARRIVED_MS


CHILDREN = [{"ShardId": "shardId-1", "ParentShards": ["shardId-0"], "HashKeyRange": {"StartingHashKey": "0"}}]
PAGES = {
    "all members": value(RECORD, record(SequenceNumber="2")),
    "empty": value(),
    "shard end": value(NextShardIterator=None, ChildShards=CHILDREN),
    "without an iterator": value(RECORD, NextShardIterator=...),
    "only numbers": value({"SequenceNumber": "1"}),
    "nulls": value(record(PartitionKey=None, ApproximateArrivalTimestamp=None, EncryptionType=None)),
    "epoch": value(record(ApproximateArrivalTimestamp=cbor2.CBORTag(1, 0))),
    "last time": value(record(ApproximateArrivalTimestamp=cbor2.CBORTag(1, 253_402_300_799_999))),
    "unknown members": value(record(New=[1, {"a": None}]), New={"a": 1.5}),
    "largest lag": value(MillisBehindLatest=2**63 - 1),
}


@pytest.mark.parametrize("with_data", [True, False])
@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_a_page_is_the_same_in_both_formats(page: dict[str, Any], with_data: bool) -> None:
    """The same response in CBOR and in JSON gives equal pages, with and without data."""
    in_cbor = wire_cbor.decode_page_in_python(cbor2.dumps(page), with_data)
    in_json = wire.decode_page_in_python(json.dumps(as_json(page)).encode(), with_data)
    in_cbor.body_bytes = in_json.body_bytes
    assert in_cbor == in_json


@pytest.mark.parametrize("body_type", [bytes, bytearray, memoryview])
def test_any_kind_of_bytes(body_type: Any) -> None:
    """The transports return bytes and bytearrays."""
    assert (
        wire_cbor.decode_page(body_type(body(RECORD))).records == wire_cbor.decode_page(body(RECORD)).records
    )


def test_a_time_needs_no_tag() -> None:
    """A time without a tag is in milliseconds as well: kinesis-local leaves the tag out."""
    [found] = wire_cbor.decode_page(body(record(ApproximateArrivalTimestamp=ARRIVED_MS))).records
    assert found.arrived_ms == ARRIVED_MS


def test_indefinite_lengths() -> None:
    """Maps, arrays, texts and byte strings may come in parts."""
    whole = body(RECORD)
    parts = cbor2.dumps(value(RECORD), indefinite_containers=True)
    assert parts[0] == 0xBF
    parts = parts.replace(cbor2.dumps(RECORD["Data"]), b"\x5f\x43pay\x46load\x00\xff\xff")
    parts = parts.replace(cbor2.dumps("next"), b"\x7f\x62ne\x60\x62xt\xff")
    first, second = wire_cbor.decode_page(whole), wire_cbor.decode_page(parts)
    second.body_bytes = first.body_bytes
    assert first == second


TAGGED = cbor2.CBORTag
MALFORMED = {
    "nothing": b"",
    "JSON": b'{"Records": [], "MillisBehindLatest": 0}',
    "empty map": b"\xa0",
    "array": b"\x80",
    "text": b"\x60",
    "null": b"\xf6",
    "undefined": b"\xf7",
    "break": b"\xff",
    "cut short": body(RECORD)[:-1],
    "bytes after it": body(RECORD) + b"\x00",
    "two pages": body(RECORD) * 2,
    "a key twice": body(RECORD).replace(b"\xa3", b"\xa4", 1) + cbor2.dumps("Records") + b"\x80",
    "a key twice in a record": body({"SequenceNumber": "1", "sequenceNumber": "1"}).replace(
        b"sequenceN", b"SequenceN"
    ),
    "a key of bytes": cbor2.dumps({b"Records": [], "Records": [], "MillisBehindLatest": 0}),
    "a key that is a number": body(record(Data=b"") | {5: 1}),
    "a number as a key of an unknown member": body(New={5: 1}),
    "a key that is an array": b"\xa1\x80\x01",
    "no records": body(Records=...),
    "null records": body(Records=None),
    "records in a map": body(Records={}),
    "records in text": body(Records="x"),
    "record in an array": body([NUMBER]),
    "record that is null": body(None),
    "no lag": body(MillisBehindLatest=...),
    "null lag": body(MillisBehindLatest=None),
    "lag below zero": body(MillisBehindLatest=-1),
    "lag of 64 bits": body(MillisBehindLatest=2**63),
    "lag of more bits": body(MillisBehindLatest=2**64),
    "lag as a float": body(MillisBehindLatest=1.0),
    "lag as text": body(MillisBehindLatest="1"),
    "lag that is true": body(MillisBehindLatest=True),
    "iterator in bytes": body(NextShardIterator=b"next"),
    "iterator that is a number": body(NextShardIterator=5),
    "children in a map": body(ChildShards={}),
    "data in text": body(record(Data="cGF5bG9hZA==")),
    "data that is null": body(record(Data=None)),
    "data in an array": body(record(Data=[1, 2])),
    "key in bytes": body(record(PartitionKey=b"key")),
    "key that is not UTF-8": body(record(PartitionKey="@@@")).replace(b"\x63@@@", b"\x63\xff@@"),
    "record without a number": body(record(SequenceNumber=...)),
    "number in bytes": body(record(SequenceNumber=b"1")),
    "number that is one": body(record(SequenceNumber=1)),
    "number as a bignum": body(record(SequenceNumber=int(NUMBER))),
    "empty number": body(record(SequenceNumber="")),
    "number in words": body(record(SequenceNumber="one")),
    "signed number": body(record(SequenceNumber="-1")),
    "number in other digits": body(record(SequenceNumber="١٢")),
    "number of 130 digits": body(record(SequenceNumber="1" * 130)),
    "time as a float": body(record(ApproximateArrivalTimestamp=1_790_000_012.345)),
    "tagged time as a float": body(record(ApproximateArrivalTimestamp=TAGGED(1, 1_790_000_012.345))),
    "time as text": body(record(ApproximateArrivalTimestamp="2026-01-01")),
    "time with the tag of text": body(record(ApproximateArrivalTimestamp=TAGGED(0, "2026-01-01T00:00:00Z"))),
    "time that is true": body(record(ApproximateArrivalTimestamp=True)),
    "time below zero": body(record(ApproximateArrivalTimestamp=TAGGED(1, -1))),
    "time after the year 9999": body(record(ApproximateArrivalTimestamp=TAGGED(1, 253_402_300_800_000))),
    "tag in a tag": body(record(ApproximateArrivalTimestamp=TAGGED(1, TAGGED(55799, 0)))),
    "unknown tag": body(New=TAGGED(4711, 0)),
    "regular expression": body(New=TAGGED(35, "(a+)+")),
    "shared value": b"\xd8\x1c" + body(),
    "huge data": body(record(Data=b"@@@")).replace(b"\x43@@@", b"\x5b\x7f" + b"\xff" * 7),
    "huge text": body(record(PartitionKey="@@@")).replace(b"\x63@@@", b"\x7b" + b"\xff" * 8),
    "huge array": body(Records="@@@").replace(b"\x63@@@", b"\x9b\x0f" + b"\xff" * 7),
    "huge map": b"\xbb" + b"\xff" * 8,
    "nested arrays": body(New="@@@").replace(b"\x63@@@", b"\x81" * 100_000 + b"\x00"),
    "nested arrays without end": body(New="@@@").replace(b"\x63@@@", b"\x9f" * 100_000),
    "nested maps": body(New="@@@").replace(b"\x63@@@", b"\xa1\x61a" * 100_000 + b"\x00"),
    "nested tags": body(New="@@@").replace(b"\x63@@@", b"\xc1" * 100_000 + b"\x00"),
    "reserved length": b"\x1c",
    "part of another type": body(NextShardIterator="@@@").replace(b"\x63@@@", b"\x7f\x41a\xff"),
}


@pytest.mark.parametrize("malformed", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_page_is_never_taken_for_data(malformed: bytes) -> None:
    """A body that is no page raises the error of a malformed response, which is retried."""
    with pytest.raises(
        MalformedResponseError, match=r"^GetRecords returned a body that is not a page of records: .+\."
    ):
        wire_cbor.decode_page(malformed)


PUT: dict[str, Any] = {
    "FailedRecordCount": 1,
    "Records": [{"ShardId": "shardId-1", "SequenceNumber": "5"}, {"ErrorCode": "x", "ErrorMessage": "y"}],
}


def test_a_response_to_a_put() -> None:
    """A response has one result per record. Without failures they can be left out."""
    results = [PutResult("shardId-1", sequence_number="5"), PutResult(None, "x", "y")]
    assert wire_cbor.decode_put_response(cbor2.dumps(PUT), 2, False) == PutResponse(1, results)
    good = cbor2.dumps({"FailedRecordCount": 0, "Records": PUT["Records"][:1] * 2})
    assert wire_cbor.decode_put_response(good, 2, False) == PutResponse(0, ())
    written = WrittenResult(shard_id="shardId-1", sequence_number="5")
    assert wire_cbor.decode_put_response(good, 2, True) == PutResponse(0, [written] * 2)


@pytest.mark.parametrize(
    "malformed",
    [
        b"",
        cbor2.dumps([]),
        cbor2.dumps({"Records": []}),
        cbor2.dumps({"FailedRecordCount": 0}),
        cbor2.dumps({"FailedRecordCount": 0, "Records": PUT["Records"]}),
        cbor2.dumps(PUT | {"FailedRecordCount": 0.0}),
        cbor2.dumps(PUT | {"FailedRecordCount": False}),
        cbor2.dumps(PUT | {"FailedRecordCount": 2}),
        cbor2.dumps(PUT | {"Records": PUT["Records"][:1]}),
        cbor2.dumps(PUT | {"Records": [{"ShardId": b"shardId-1"}] * 2}),
        cbor2.dumps(PUT) + b"\x00",
    ],
)
def test_a_malformed_response_to_a_put(malformed: bytes) -> None:
    """A response that does not say for each record what became of it is malformed."""
    with pytest.raises(MalformedResponseError, match="PutRecords returned a malformed body"):
        wire_cbor.decode_put_response(malformed, 2, False)


def test_a_put_has_fewer_bytes_than_in_json() -> None:
    """Payloads are sent as they are, which is a quarter less than in base64."""
    entries = [PutEntry(bytes(1000), f"key-{index}") for index in range(500)]
    sizes = [len(codec.encode_put(entries, "orders", None)) for codec in (wire_cbor, wire)]
    assert sizes[0] < 0.77 * sizes[1]
