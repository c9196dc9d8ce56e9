"""What every variant of a format finds, in Python and in Rust: pages in JSON and CBOR, requests, aggregates, hash keys."""

from __future__ import annotations

import base64
import json
from typing import Any

import cbor2

from kinesis_core.aggregation import UserRecords
from kinesis_core.model import Page, PutEntry

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


def in_cbor(page: dict[str, Any]) -> bytes:
    return cbor2.dumps(page)


def in_json(page: dict[str, Any]) -> bytes:
    return json.dumps(as_json(page), ensure_ascii=False).encode()


def facts(page: Page) -> tuple[Any, ...]:
    """Return everything of *page* that anybody uses."""
    records = [
        (r.sequence_number, r.data, r.partition_key, r.arrived_s, r.encryption_type) for r in page.records
    ]
    return records, page.millis_behind, page.next_iterator, page.child_shards or None


def expected_facts(page: dict[str, Any], with_data: bool) -> tuple[Any, ...]:
    """Return what a decoder finds in a body of *page*."""
    records = [_expected(each, with_data) for each in page["Records"]]
    return records, page["MillisBehindLatest"], page.get("NextShardIterator"), page.get("ChildShards")


def _expected(given: dict[str, Any], with_data: bool) -> tuple[Any, ...]:
    data = given.get("Data", b"") if with_data else b""
    arrived = given.get("ApproximateArrivalTimestamp")
    arrived_s = None if arrived is None else arrived.value / 1000
    return given["SequenceNumber"], data, given.get("PartitionKey"), arrived_s, given.get("EncryptionType")


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
LEFT_TO_PYTHON = {
    "JSON": {"shard end", "unknown members", "largest lag"},
    "CBOR": {"shard end", "unknown members"},
}
"""Pages that Rust does not recognise."""
TAGGED = cbor2.CBORTag
MALFORMED_CBOR = {
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

JSON_RECORD = {
    "SequenceNumber": NUMBER,
    "ApproximateArrivalTimestamp": 1790000012.345,
    "Data": base64.b64encode(b"payload").decode(),
    "PartitionKey": "key",
    "EncryptionType": "KMS",
}


def json_body(*records: dict[str, Any], **members: Any) -> bytes:
    response = {"Records": list(records), "NextShardIterator": "next", "MillisBehindLatest": 7} | members
    return json.dumps({name: value for name, value in response.items() if value is not ...}).encode()


MALFORMED_JSON = {
    "nothing": b"",
    "empty object": b"{}",
    "not JSON": b"<html>",
    "not UTF-8": b"\xff",
    "not UTF-8 in a text": json_body({"SequenceNumber": "1", "Data": "", "PartitionKey": "@"}).replace(
        b"@", b"\xff"
    ),
    "cut short": json_body(JSON_RECORD)[:-10],
    "bytes after it": json_body(JSON_RECORD) + b"x",
    "a comma after the last member": json_body(JSON_RECORD)[:-1] + b",}",
    "an array": b"[]",
    "no records": json_body(Records=...),
    "null records": json_body(Records=None),
    "no lag": json_body(MillisBehindLatest=...),
    "null lag": json_body(MillisBehindLatest=None),
    "lag below zero": json_body(MillisBehindLatest=-1),
    "lag over 64 bits": json_body(MillisBehindLatest=2**63),
    "iterator that is a number": json_body(NextShardIterator=5),
    "nested without end": json_body(JSON_RECORD, ChildShards="@").replace(
        b'"@"', b"[" * 100_000 + b"]" * 100_000
    ),
    "record without a number": json_body({"Data": ""}),
    "empty number": json_body(JSON_RECORD, {"SequenceNumber": ""}),
    "number in words": json_body(JSON_RECORD, {"SequenceNumber": "one"}),
    "signed number": json_body(JSON_RECORD, {"SequenceNumber": "-1"}),
    "number with a separator": json_body(JSON_RECORD, {"SequenceNumber": "1_0"}),
    "number in other digits": json_body(JSON_RECORD, {"SequenceNumber": "١٢"}),
    "number of 130 digits": json_body(JSON_RECORD, {"SequenceNumber": "1" * 130}),
    "no number in the middle": json_body(JSON_RECORD, {"SequenceNumber": "LATEST"}, JSON_RECORD),
    "number with a space": json_body(JSON_RECORD | {"SequenceNumber": "1 "}),
    "data that is not base64": json_body(JSON_RECORD | {"Data": "a==="}),
    "data without padding": json_body(JSON_RECORD | {"Data": "eA"}),
    "data with half a padding": json_body(JSON_RECORD | {"Data": "eA="}),
    "data with a line break": json_body(JSON_RECORD | {"Data": "eA==@"}).replace(b"@", b"\n"),
    "data with half an escape": json_body(JSON_RECORD | {"Data": "e@A="}).replace(b"@", b"\\"),
    "control character in a text": json_body(JSON_RECORD | {"PartitionKey": "@"}).replace(b"@", b"\x1f"),
    "arrival below zero": json_body(JSON_RECORD | {"ApproximateArrivalTimestamp": -1.5}),
    "arrival beyond the calendar": json_body(JSON_RECORD | {"ApproximateArrivalTimestamp": 1e300}),
    "arrival after the year 9999": json_body(JSON_RECORD | {"ApproximateArrivalTimestamp": 253_402_300_800}),
    "arrival of too many digits": json_body(JSON_RECORD).replace(b"1790000012.345", b"1e400"),
    "arrival with a zero in front": json_body(JSON_RECORD).replace(b"1790000012.345", b"01.5"),
    "arrival in words": json_body(JSON_RECORD | {"ApproximateArrivalTimestamp": "today"}),
}
PUTS = {
    "data alone": (
        [PutEntry(b"tea", "")],
        b'{"Records":[{"Data":"dGVh"}],"StreamName":"orders"}',
        b"\xa2\x67Records\x81\xa1\x64Data\x43tea\x6aStreamName\x66orders",
    ),
    "all members": (
        [PutEntry(b"tea", "k", "7")],
        b'{"Records":[{"Data":"dGVh","PartitionKey":"k","ExplicitHashKey":"7"}],"StreamName":"orders"}',
        b"\xa2\x67Records\x81\xa3\x64Data\x43tea\x6cPartitionKey\x61k\x6fExplicitHashKey\x617\x6aStreamName\x66orders",
    ),
    "escapes": (
        [PutEntry(b"", '"\\\n\x01')],
        b'{"Records":[{"Data":"","PartitionKey":"\\"\\\\\\n\\u0001"}],"StreamName":"orders"}',
        b'\xa2\x67Records\x81\xa2\x64Data\x40\x6cPartitionKey\x64"\\\n\x01\x6aStreamName\x66orders',
    ),
}
"""Records, and the request for them in JSON and in CBOR."""
HASH_KEYS = {"0": True, "7": True, str(2**128 - 1): True} | dict.fromkeys(
    ["", "00", "01", "+1", "-1", "1 ", "x", "\u0661", str(2**128), "9" * 40], False
)
"""Texts, and whether each is an explicit hash key."""

TABLE = b"\x0a\x01k"  # partition_key_table: "k"
ONE = b"\x1a\x07\x08\x00\x1a\x03one"  # records: {partition_key_index: 0, data: "one"}
JUST_ONE = UserRecords([b"one"], ["k"], [None])


def varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


def user_record(body: bytes) -> bytes:
    assert len(body) < 128
    return bytes([0x1A, len(body)]) + body


VALID_ENCODINGS = [
    (ONE + TABLE, "a table after the records that point into it"),
    (TABLE + user_record(b"\x1a\x03one\x08\x00"), "fields of a record in another order"),
    (TABLE + user_record(b"\x08\x07\x08\x00\x1a\x01x\x1a\x03one"), "fields that come twice: the last counts"),
    (TABLE + user_record(b"\x08\x80\x00\x1a\x83\x00one"), "numbers longer than they need be"),
    (TABLE + b"\x9a\x00" + ONE[1:], "a tag longer than it need be"),
    (
        TABLE + b"\x1a\x87\x80\x80\x80\x80\x00" + ONE[2:],
        "a length of six bytes, which only Python's protobuf refuses",
    ),
    (TABLE + b"\x1a\x87" + b"\x80" * 8 + b"\x00" + ONE[2:], "a length of ten bytes"),
    (TABLE + user_record(b"\x88\x00\x00\x9a\x00\x03one"), "tags of a record longer than they need be"),
    (TABLE + user_record(b"\x08\x00\x1a\x03one\x22\x05\x0a\x03tag"), "tags"),
    (
        TABLE + user_record(b"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02\x1a\x03one"),
        "an index over 64 bits",
    ),
    (TABLE + user_record(b"\x1a\x03one"), "no partition key index: protobuf's default is 0"),
    (b"\x20\xff\x7f" + TABLE + ONE, "an unknown varint"),
    (b"\x21\xff\xff\xff\xff\xff\xff\xff\xff" + TABLE + ONE, "an unknown fixed 64-bit value"),
    (b"\x25\xff\xff\xff\xff" + TABLE + ONE, "an unknown fixed 32-bit value"),
    (b"\xa2\x06\x03abc" + TABLE + ONE, "an unknown text in field 100"),
    (TABLE + ONE + b"\x23\x24", "an empty group"),
    (TABLE + ONE + b"\x23\x2b\x08\x01\x0a\x01x\x2c\x24", "a group in a group"),
    (TABLE + ONE + b"\x18\x00", "records as a number are an unknown field"),
    (b"\x08\x00" + TABLE + ONE, "a partition key as a number is an unknown field"),
    (
        TABLE + user_record(b"\x31\xff\xff\xff\xff\xff\xff\xff\xff\x08\x00\x1a\x03one"),
        "an unknown field of a record",
    ),
]
"""Messages that all hold `JUST_ONE`, and what is special about each."""
KEYS_OF_BYTES = [
    (b"\xff", "\ufffd"),
    (b"a\xe2\x82", "a\ufffd"),
    (b"\xe2\x82a", "\ufffda"),
    (b"\xf0\x9f\xa6\xff", "\ufffd\ufffd"),
    (b"\xc0\x80", "\ufffd\ufffd"),
    ("é".encode() * 127 + b"\xc3", "é" * 127 + "\ufffd"),
    (b"", ""),
    (b"k" * 100, "k" * 100),
    (b"k" * 257, "k" * 257),
    (b"k" * 5_000, "k" * 5_000),
]
"""Bytes of a partition key, and what is read."""
LEFT_WHOLE = [
    (TABLE + ONE[:-1], "a record cut short"),
    (TABLE + ONE + b"\x1a", "a tag without a length"),
    (TABLE + ONE + b"\x1a\xff", "half a length"),
    (TABLE + ONE + b"\x1a\x87" + b"\x80" * 9 + b"\x00" + ONE[2:], "a length of eleven bytes"),
    (TABLE + ONE + b"\x0a\x05abc", "a table entry cut short"),
    (TABLE + ONE + b"\x22\x05abc", "an unknown field cut short"),
    (TABLE + ONE + b"\x21\x00\x00", "a fixed value cut short"),
    (TABLE + ONE + b"\x00\x00", "field number 0"),
    (TABLE + ONE + b"\x80\x80\x80\x80\x10\x00", "field number 2**29"),
    (TABLE + ONE + b"\x23", "a group without an end"),
    (TABLE + ONE + b"\x24", "the end of no group"),
    (TABLE + ONE + b"\x26\x00", "wire type 6"),
    (b"\x0a\xd0\x0f" + b"k" * 2_000 + user_record(b"\x08\x00\x1a\x01x") * 5_000, "keys that grow 280 times"),
]
"""Messages of which nothing is unpacked."""
