"""Malformed and hostile responses: each call ends with a response or with an error of ours."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import attrs
import pytest
from botocore.credentials import Credentials
from hypothesis import given, settings, strategies as st

from kinesis_core.aws import MALFORMED, Connection, RetryPolicy, StreamRef, make_client
from kinesis_core.aws.calls import ServiceClock
from kinesis_core.aws.client import BotoStreamApi
from kinesis_core.aws.fast.fast_path import FastPath, install_raw_bodies
from kinesis_core.aws.fast.wire import decode_event, decode_page
from kinesis_core.aws.subscriptions import BotoConsumerApi, BotoSubscribeApi, take_connection
from kinesis_core.errors import KinesisError
from kinesis_core.leases.lease import Lease, LeaseCheckpoint
from kinesis_core.leases.table import LeaseTable
from kinesis_core.model import AtTimestamp, Page, PutEntry, PutResponse, Record, TrimHorizon
from kinesis_credentials import StaticKeys
from kinesis_emulator.wire_formats import encode_frame
from support.canned import Canned
from support.examples import examples
from support.fake_stream import FakeClock
from support.hostile import bodies, peak_bytes

ARN = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders"
SECRET = "do-not-tell"
RECORD = {
    "SequenceNumber": "4966",
    "Data": "eA==",
    "PartitionKey": "k",
    "ApproximateArrivalTimestamp": 1790000000.123,
    "EncryptionType": "NONE",
}
PAGE = {
    "Records": [RECORD, RECORD],
    "MillisBehindLatest": 0,
    "NextShardIterator": "next",
    "ChildShards": [{"ShardId": "shardId-1", "ParentShards": ["shardId-0"]}],
    "ContinuationSequenceNumber": "4967",
}
PUT: dict[str, Any] = {
    "FailedRecordCount": 1,
    "Records": [{"ShardId": "shardId-0", "SequenceNumber": "4966"}, {"ErrorCode": "x", "ErrorMessage": "y"}],
}
CONSUMER = {
    "ConsumerName": "me",
    "ConsumerARN": f"{ARN}/consumer/me:1",
    "ConsumerStatus": "ACTIVE",
    "ConsumerCreationTimestamp": 1790000000.1,
}
SUMMARY = {
    "StreamName": "orders",
    "StreamARN": ARN,
    "StreamStatus": "ACTIVE",
    "StreamCreationTimestamp": 1780000000.123,
    "RetentionPeriodHours": 48,
    "MaxRecordSizeInKiB": 2048,
}
SHARD = {
    "ShardId": "shardId-0",
    "HashKeyRange": {"StartingHashKey": "0", "EndingHashKey": "9"},
    "SequenceNumberRange": {"StartingSequenceNumber": "5", "EndingSequenceNumber": "9"},
}
TABLE = {
    "TableStatus": "ACTIVE",
    "KeySchema": [{"AttributeName": "leaseKey", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "leaseKey", "AttributeType": "S"}],
}
REFUSAL = {"__type": "com.amazonaws#ThrottlingException", "message": "Slow down.", "code": "x", "Error": {}}

CANNED = Canned()
REF = StreamRef("orders", ARN)
CONNECTION = Connection(
    (REF,), "eu-west-1", "http://127.0.0.1:9", StaticKeys("AKIAEXAMPLE", SECRET), RetryPolicy(max_retries=0)
)


def _serve(service: str) -> Any:
    client = make_client(CONNECTION, service, CONNECTION.endpoint_url)
    CANNED.serve(client, service)
    return client


CLIENT = _serve("kinesis")
install_raw_bodies(CLIENT)
take_connection(CLIENT)
REST = (RetryPolicy(0), FakeClock(), random.Random(0))
API = BotoStreamApi(CLIENT, "orders", ARN, *REST, FastPath(CLIENT, Credentials("AKIAEXAMPLE", SECRET)))
CONSUMERS = BotoConsumerApi(CLIENT, "orders", ARN, *REST)
SUBSCRIPTIONS = BotoSubscribeApi(CLIENT, "orders", ARN, *REST, f"{ARN}/consumer/me:1")
LEASES = LeaseTable("leases", _serve("dynamodb"), *REST)

CALLS: dict[str, tuple[Callable[[], object], Any]] = {
    "DescribeStreamSummary": (API.describe, {"StreamDescriptionSummary": SUMMARY}),
    "ListShards": (API.list_shards, {"Shards": [SHARD]}),
    "GetShardIterator": (lambda: API.get_iterator("shardId-0", AtTimestamp(0)), {"ShardIterator": "i"}),
    "GetRecords": (lambda: API.get_records("iterator", 10), PAGE),
    "PutRecords": (lambda: API.put_records([PutEntry(b"x", "k")] * 2), PUT),
    "DescribeStreamConsumer": (lambda: CONSUMERS.describe_consumer("me"), {"ConsumerDescription": CONSUMER}),
    "RegisterStreamConsumer": (lambda: CONSUMERS.register_consumer("me"), {"Consumer": CONSUMER}),
    "DeregisterStreamConsumer": (lambda: CONSUMERS.deregister_consumer("arn:me"), {}),
    "DescribeTable": (LEASES.prepare, {"Table": TABLE}),
    "UpdateItem": (lambda: LEASES.write(Lease("shardId-0", LeaseCheckpoint("5", 0))), {}),
}
"""Each call, with its good response."""
statuses = st.sampled_from([200, 200, 204, 301, 400, 403, 413, 500, 503, 999])
dates = st.text(max_size=40) | st.from_regex(
    r"\A[A-Z][a-z]{2}, \d{1,25} Jan \d{1,25} \d\d:\d\d:\d{1,25} .{1,25}"
)


def is_typed(value: Any) -> bool:
    """Return whether every field of *value* has its declared type."""
    if not attrs.has(type(value)) or isinstance(value, PutResponse):  # msgspec has checked the types of these
        return True
    fields = attrs.fields(attrs.resolve_types(type(value)))
    return all(isinstance(getattr(value, field.name), field.type) for field in fields if field.type)


@pytest.mark.parametrize("action", CALLS)
@given(st.data())
def test_a_call_ends_with_a_response_or_our_error(action: str, data: st.DataObject) -> None:
    """For any status and body a call returns a typed response or raises an error of ours, which shows no secret."""
    call, good = CALLS[action]
    CANNED.responses.clear()
    CANNED.response(data.draw(bodies(good, REFUSAL)), data.draw(statuses))
    CANNED.refuse("ResourceNotFoundException")  # for a second page, and for a wait for a table
    try:
        response = call()
    except KinesisError as error:
        text = str(error)
    else:
        text = str(response)
        assert all(map(is_typed, response if isinstance(response, list) else [response]))
    assert SECRET not in text


@given(dates)
def test_a_date_is_read_or_ignored(date: str) -> None:
    """Any Date header is either read or ignored."""
    ServiceClock(FakeClock()).note(date)


@given(bodies(PAGE), st.booleans())
def test_a_body_is_a_page_or_refused(body: bytes, with_data: bool) -> None:
    """On every decoded page each sequence number can be compared, and each time is valid."""
    for decode in (decode_page, decode_event):
        with suppress(*MALFORMED):
            page: Page = decode(body, with_data)
            assert all(record.number >= 0 for record in page.records)
            assert all(record.arrived_ms is None or record.arrived_ms >= 0 for record in page.records)


@given(bodies(PAGE))
def test_a_page_without_data_is_the_same_page(body: bytes) -> None:
    """Whatever is a page with its data is the same page without it: data is skipped, and nothing else."""
    for decode in (decode_page, decode_event):
        try:
            page: Page = decode(body, True)
        except MALFORMED:
            continue
        without: Page = decode(body, False)
        assert [fields(record) | {"data": b""} for record in page.records] == list(
            map(fields, without.records)
        )
        assert fields(page) | {"records": ()} == fields(without) | {"records": ()}


def fields(found: Page | Record) -> dict[str, object]:
    return {name: getattr(found, name) for name in type(found).__struct_fields__}


header_values = st.text(max_size=20) | st.sampled_from(["event", "exception", "error", "initial-response"])
header_names = st.sampled_from(
    [":message-type", ":event-type", ":exception-type", ":error-code", ":error-message"]
)
frames = st.builds(
    encode_frame, st.dictionaries(header_names, header_values), bodies(PAGE, {"message": "It will not do."})
)
events = bodies(PAGE).map(
    lambda body: encode_frame({":message-type": "event", ":event-type": "SubscribeToShardEvent"}, body)
)


@given(st.lists(frames | events | st.binary(max_size=50), max_size=4).map(b"".join))
def test_a_subscription_ends_with_an_error_of_ours(sent: bytes) -> None:
    """For any frames, with right checksums or not, a subscription yields events until it ends or raises an error of ours."""
    CANNED.responses.clear()
    CANNED.response(sent)
    with suppress(KinesisError):
        list(SUBSCRIPTIONS.subscribe("shardId-0", TrimHorizon()))


MANY = 20_000


@pytest.mark.parametrize(
    "body",
    [
        b'{"Records": [], "MillisBehindLatest": 0, "ChildShards": [' + b"[]," * MANY + b"0]}",
        b'{"Records": [], "MillisBehindLatest": 0, "ChildShards": [' + b"{}," * MANY + b"0]}",
        b'{"Records": ['
        + b'{"SequenceNumber":"1"},' * MANY
        + b'{"SequenceNumber":"1"}], "MillisBehindLatest": 0}',
        b'{"Records": [], "MillisBehindLatest": 0, "x": ' + b"[" * MANY + b"]" * MANY + b"}",
        b'{"Records": [], "MillisBehindLatest": ' + b"9" * 5 * MANY + b"}",
        b'{"Records": [], "MillisBehindLatest": 0, "a": "' + b"\\u00e9" * MANY + b'"}',
    ],
    ids=["lists", "objects", "records", "deep", "digits", "escapes"],
)
def test_memory_is_bounded_by_the_body(body: bytes) -> None:
    """A page takes no more memory than a small multiple of its body, whatever the body is."""

    def decode() -> None:
        with suppress(*MALFORMED):
            decode_page(body)

    assert peak_bytes(decode) < 40 * len(body)


@settings(max_examples=examples(30))
@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_no_memory_is_reserved_by_a_length(total: int, headers: int) -> None:
    """A frame takes no memory for its announced length before its bytes have come."""
    piece = total.to_bytes(4, "big") + headers.to_bytes(4, "big") + bytes(8)
    CANNED.responses.clear()
    CANNED.response(piece)

    def read() -> None:
        with suppress(KinesisError):
            list(SUBSCRIPTIONS.subscribe("shardId-0", TrimHorizon()))

    CANNED.responses.append(CANNED.responses[0])
    assert peak_bytes(read) < 2**20
