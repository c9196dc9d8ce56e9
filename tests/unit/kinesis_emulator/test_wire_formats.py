"""CBOR over HTTP, by a client that does not know AWS."""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.eventstream import EventStreamBuffer

from kinesis_emulator import Emulator, EventFault, Fault, ManualClock, cbor

JSON = "application/x-amz-json-1.1"
CBOR = "application/x-amz-cbor-1.1"
SHARD = "shardId-000000000000"
ENCODE: dict[str, Callable[[Any], bytes]] = {
    JSON: lambda value: json.dumps(value).encode(),
    CBOR: cbor.encode,
}
DECODE: dict[str, Callable[[bytes], Any]] = {JSON: json.loads, CBOR: cbor.decode}
Call = Callable[..., tuple[int, Any]]


def iterator(call: Call, content_type: str = CBOR, **start: Any) -> str:
    start = start or {"ShardIteratorType": "TRIM_HORIZON"}
    status, value = call("GetShardIterator", content_type, StreamName="orders", ShardId=SHARD, **start)
    assert status == 200
    return str(value["ShardIterator"])


def as_json(value: Any) -> Any:
    match value:
        case dict():
            return {name: as_json(item) for name, item in value.items()}
        case list():
            return [as_json(item) for item in value]
        case bytes():
            return base64.b64encode(value).decode()
        case cbor.Time(epoch_ms):
            return epoch_ms / 1000
    return value


@pytest.fixture
def call(post: Any) -> Call:
    """Return a function that makes a call in a format, and returns the status and value of the response."""

    def call(
        action: str, content_type: str = CBOR, raw: bytes | None = None, **params: Any
    ) -> tuple[int, Any]:
        response, text = post(action, ENCODE[content_type](params) if raw is None else raw, content_type)
        assert response.getheader("Content-Type") == content_type
        return response.status, DECODE[content_type](text) if text else None

    return call


def test_payloads_are_bytes_and_times_are_milliseconds(emulator: Emulator, call: Call) -> None:
    """A record that is put in CBOR is stored as it was sent. It is read with its bytes, and with its time as tag 1."""
    every_byte = bytes(range(256))
    status, put = call("PutRecord", StreamName="orders", Data=every_byte, PartitionKey="ключ")
    assert (status, put["ShardId"]) == (200, SHARD)
    [stored] = emulator.records("orders")
    assert (stored.data, stored.partition_key) == (every_byte, "ключ")
    _, page = call("GetRecords", ShardIterator=iterator(call))
    assert page["Records"] == [
        {
            "SequenceNumber": put["SequenceNumber"],
            "ApproximateArrivalTimestamp": cbor.Time(1_700_000_000_000),
            "Data": every_byte,
            "PartitionKey": "ключ",
        }
    ]


def test_all_responses_have_the_members_of_json(emulator: Emulator, call: Call) -> None:
    """Summaries and listings are those of JSON, with times as tag 1."""
    arn = emulator.create_stream("more", shards=3)
    emulator.register_consumer("more", "one")
    asked: dict[str, dict[str, Any]] = {
        "DescribeStreamSummary": {"StreamARN": arn},
        "DescribeStream": {"StreamARN": arn},
        "ListShards": {"StreamARN": arn, "MaxResults": 2},
        "ListStreams": {},
        "ListStreamConsumers": {"StreamARN": arn},
    }
    for action, params in asked.items():
        status, in_cbor = call(action, **params)
        assert (status, as_json(in_cbor)) == (200, call(action, JSON, **params)[1])
    summary = call("DescribeStreamSummary", StreamName="more")[1]["StreamDescriptionSummary"]
    assert summary["StreamCreationTimestamp"] == cbor.Time(1_700_000_000_000)


def test_a_time_to_the_millisecond(emulator: Emulator, call: Call) -> None:
    """An iterator at a time begins at the record of that millisecond, and not a millisecond later."""
    for arrived_s in (1_699_999_999.122, 1_699_999_999.123, 1_699_999_999.124):
        emulator.put("orders", str(arrived_s), arrived_s=arrived_s)
    for epoch_ms, count in ((1_699_999_999_123, 2), (1_699_999_999_124, 1)):
        start: dict[str, Any] = {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": cbor.Time(epoch_ms)}
        _, page = call("GetRecords", ShardIterator=iterator(call, **start))
        assert len(page["Records"]) == count
        assert page["Records"][0]["ApproximateArrivalTimestamp"] == cbor.Time(epoch_ms)


def test_a_payload_has_its_size(call: Call) -> None:
    """The bytes of a payload count, and not those of its base64. The key counts too."""
    whole = {"StreamName": "orders", "PartitionKey": "k"}
    assert call("PutRecord", Data=bytes(2**20 - 1), **whole)[0] == 200
    status, error = call("PutRecord", Data=bytes(2**20), **whole)
    assert (status, error["__type"]) == (400, "InvalidArgumentException")
    assert "1048577 bytes" in error["message"]


def test_records_can_be_read_later(emulator: Emulator, clock: ManualClock, call: Call) -> None:
    """A record of CBOR waits as others do."""
    emulator.settings.readable_after_s = 3
    call("PutRecord", StreamName="orders", Data=b"x", PartitionKey="k")
    counts = []
    for _ in range(2):
        counts.append(len(call("GetRecords", ShardIterator=iterator(call))[1]["Records"]))
        clock.advance(3)
    assert counts == [0, 1]


def test_a_folder_has_records_of_both_formats(tmp_path: Path, clock: ManualClock) -> None:
    """The next emulator has the records as they were put."""
    bodies: dict[str, dict[str, Any]] = {CBOR: {"Data": b"\x00\xff"}, JSON: {"Data": "AP8="}}
    with Emulator(clock=clock, data=tmp_path) as emulator:
        emulator.create_stream("orders")
        with closing(http.client.HTTPConnection(urlsplit(emulator.endpoint_url).netloc)) as connection:
            for content_type, data in bodies.items():
                body = ENCODE[content_type]({"StreamName": "orders", "PartitionKey": "k", **data})
                headers = {"X-Amz-Target": "Kinesis_20131202.PutRecord", "Content-Type": content_type}
                connection.request("POST", "/", body, headers)
                assert connection.getresponse().read()
    with Emulator(clock=clock, data=tmp_path) as emulator:
        assert [record.data for record in emulator.records("orders")] == [b"\x00\xff"] * 2


def test_a_call_without_a_result(emulator: Emulator, call: Call) -> None:
    """A call whose response has no members has an empty body, as in JSON."""
    assert call("DeleteStream", StreamName="orders") == (200, None)
    emulator.advance(1)
    assert call("ListStreams")[1]["StreamNames"] == []


@pytest.mark.parametrize(
    ("action", "body"),
    [
        ("ListStreams", b"{}"),
        ("ListStreams", cbor.encode([])),
        ("ListStreams", cbor.encode({}) + b"\x00"),
        ("ListStreams", b"\x81" * 100_000),
        ("DescribeStreamSummary", cbor.encode({"StreamName": b"orders"})),
        ("DescribeStreamSummary", cbor.encode({"StreamName": cbor.Time(5)})),
        ("PutRecord", cbor.encode({"StreamName": "orders", "PartitionKey": "k", "Data": "text"})),
        ("PutRecord", cbor.encode({"StreamName": "orders", "PartitionKey": b"k", "Data": b""})),
        (
            "PutRecords",
            cbor.encode({"StreamName": "orders", "Records": [{"PartitionKey": "k", "Data": "text"}]}),
        ),
        (
            "GetShardIterator",
            cbor.encode(
                {
                    "StreamName": "orders",
                    "ShardId": SHARD,
                    "ShardIteratorType": "AT_TIMESTAMP",
                    "Timestamp": 5,
                }
            ),
        ),
    ],
)
def test_bodies_that_cannot_be_read(action: str, body: bytes, call: Call, emulator: Emulator) -> None:
    """Malformed CBOR and members of another type are a SerializationException, in CBOR."""
    status, error = call(action, raw=body)
    assert (status, error["__type"]) == (400, "SerializationException")
    assert emulator.records("orders") == []


@pytest.mark.parametrize(
    ("value", "shown"),
    [(b"orders", "class java.nio.ByteBuffer"), (cbor.Time(5), "class java.util.Date")],
    ids=["bytes", "time"],
)
@pytest.mark.parametrize(
    ("action", "params", "wanted"),
    [
        ("ListStreams", lambda value: {"Limit": value}, "an Integer"),
        ("ListStreams", lambda value: {"NextToken": value}, "an String"),
        ("DeleteStream", lambda value: {"EnforceConsumerDeletion": value}, "an Boolean"),
        ("ListTagsForStream", lambda value: {"StreamName": value}, "an String"),
        ("UntagResource", lambda value: {"ResourceARN": "arn", "TagKeys": [value]}, "an String"),
        ("AddTagsToStream", lambda value: {"StreamName": "orders", "Tags": {"a": value}}, "an String"),
    ],
)
def test_only_payloads_are_bytes_and_only_times_have_a_tag(
    action: str, params: Callable[[Any], Any], wanted: str, value: Any, shown: str, call: Call
) -> None:
    """Elsewhere they are refused, as a value of another type of JSON is."""
    status, error = call(action, **params(value))
    assert (status, error) == (
        400,
        {"__type": "SerializationException", "Message": f"{shown} can not be converted to {wanted}"},
    )


def test_members_are_what_the_model_says(call: Call) -> None:
    """Whatever their names: a tag is a text, also if it has the name of a payload or of a time. Unknown members are ignored."""
    tags = {"Data": "dGVh", "Timestamp": "today", "CreatedTimestamp": ""}
    assert call("AddTagsToStream", StreamName="orders", Tags=tags)[0] == 200
    listed = call("ListTagsForStream", StreamName="orders", Payload=b"\x00", At=cbor.Time(1))[1]["Tags"]
    assert {tag["Key"]: tag["Value"] for tag in listed} == tags


@pytest.mark.parametrize("epoch_ms", [10**15 + 1, -(10**15) - 1])
def test_a_time_beyond_the_calendar(epoch_ms: int, call: Call) -> None:
    """It is refused in both formats."""
    start = {"StreamName": "orders", "ShardId": SHARD, "ShardIteratorType": "AT_TIMESTAMP"}
    for content_type, time in ((CBOR, cbor.Time(epoch_ms)), (JSON, epoch_ms / 1000)):
        status, error = call("GetShardIterator", content_type, **start, Timestamp=time)
        assert (status, error["__type"]) == (400, "SerializationException")


def test_events_are_in_cbor(emulator: Emulator, post: Any) -> None:
    """Payloads of a subscription are in the format of the call: its first event, its records and the error that ends it."""
    arn = emulator.register_consumer("orders", "one")
    emulator.put("orders", b"\x00\xff")
    emulator.settings.fault = lambda _: Fault(
        events=EventFault(after_events=1, code="InternalFailureException")
    )
    start = {"Type": "TRIM_HORIZON"}
    body = cbor.encode({"ConsumerARN": arn, "ShardId": SHARD, "StartingPosition": start})
    frames = EventStreamBuffer()
    frames.add_data(post("SubscribeToShard", body, CBOR)[1])
    events: list[Any] = list(frames)
    assert {event.headers[":content-type"] for event in events} == {CBOR}
    first, records, error = (cbor.decode(event.payload) for event in events)
    assert first == {}
    [record] = records["Records"]
    assert (record["Data"], record["ApproximateArrivalTimestamp"]) == (
        b"\x00\xff",
        cbor.Time(1_700_000_000_000),
    )
    assert events[2].headers[":exception-type"] == "InternalFailureException"
    assert error == {"message": "Injected by the emulator."}


def test_partly_failed_puts(emulator: Emulator, call: Call) -> None:
    """A fault in a part of a request works in CBOR."""
    emulator.settings.fault = lambda _: Fault(fail_every=2)
    records = [{"Data": bytes([i]), "PartitionKey": "k"} for i in range(4)]
    status, response = call("PutRecords", StreamName="orders", Records=records)
    assert (status, response["FailedRecordCount"]) == (200, 2)
    assert [result.get("ErrorCode") for result in response["Records"]] == [None, "InternalFailure"] * 2


def test_a_body_of_a_fault_is_sent_as_it_is(emulator: Emulator, call: Call) -> None:
    """The bytes of a fault are not translated. An empty page is."""
    emulator.settings.fault = lambda _: Fault(body=b"\xa1\x61a\x01", status=200)
    assert call("ListStreams") == (200, {"a": 1})
    emulator.settings.fault = None
    emulator.put("orders", "x")
    found = iterator(call)
    emulator.settings.fault = lambda _: Fault(empty_page=True, millis_behind=5)
    _, page = call("GetRecords", ShardIterator=found)
    assert (page["Records"], page["MillisBehindLatest"]) == ([], 5)


def test_halves_of_characters(emulator: Emulator, call: Call) -> None:
    """JSON can have a half of a character in a key. In CBOR a question mark stands for it."""
    call("PutRecord", JSON, StreamName="orders", Data="", PartitionKey="a\ud800")
    _, page = call("GetRecords", ShardIterator=iterator(call))
    assert page["Records"][0]["PartitionKey"] == "a?"
    assert len(emulator.records("orders")) == 1


def test_calls_are_counted_by_their_format(emulator: Emulator, call: Call) -> None:
    """A test can tell in which format a client spoke."""
    call("ListStreams")
    call("ListStreams", JSON)
    call("ListStreams", JSON)
    assert emulator.calls.count("ListStreams") == 3
    assert emulator.calls.count("ListStreams", wire_format="cbor") == 1
    assert emulator.calls.count(wire_format="json") == 2
    assert emulator.calls.by_action() == {"ListStreams": 3}
