"""HTTP/2 with prior knowledge, with a client that sees each frame."""

from __future__ import annotations

import base64
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import h2.errors
import pytest
from botocore.eventstream import EventStreamBuffer
from hyperframe.frame import GoAwayFrame

from kinesis_emulator import Emulator, EventFault, Fault, Limits, ManualClock, Request, Settings, server
from support.http2_client import Answer, Http2Client
from support.waiting import PATIENCE_S, wait_until

STREAM = "orders"
SHARD = "shardId-000000000000"
MIB = 1024 * 1024
GOODBYE = GoAwayFrame(0).serialize()
"""By h2 itself a client cannot go on after it."""


@pytest.fixture
def http2(emulator: Emulator) -> Iterator[Http2Client]:
    with Http2Client(emulator.port) as client:
        yield client


def events_of(answer: Answer) -> list[bytes]:
    """Return the payloads of the events that have come."""
    buffer = EventStreamBuffer()
    buffer.add_data(answer.body)
    events = [event.to_response_dict() for event in buffer]
    return [event["body"] for event in events if event["headers"][":event-type"] == "SubscribeToShardEvent"]


def subscribe(client: Http2Client, consumer: str, shard_id: str = SHARD) -> int:
    start = {"Type": "TRIM_HORIZON"}
    return client.call("SubscribeToShard", ConsumerARN=consumer, ShardId=shard_id, StartingPosition=start)


def put(emulator: Emulator, count: int, size_bytes: int = 10) -> None:
    for _ in range(count):
        emulator.put(STREAM, bytes(size_bytes))


def test_calls_share_a_connection(http2: Http2Client) -> None:
    """Calls of one connection get their responses, errors among them, with a request id each."""
    listed, unknown = http2.answer(http2.call("ListStreams")), http2.answer(http2.call("Nonsense"))
    assert (listed.status, listed.json["StreamNames"]) == (200, [STREAM])
    assert (unknown.status, unknown.json["__type"]) == (400, "UnknownOperationException")
    assert listed.headers["content-length"] == str(len(listed.body))
    assert listed.headers["x-amzn-requestid"] != unknown.headers["x-amzn-requestid"]


def test_both_versions_on_one_port(emulator: Emulator, http2: Http2Client, post: Callable[..., Any]) -> None:
    """The same port speaks HTTP/1.1 and HTTP/2, and counts the calls of each."""
    for _ in range(2):
        assert http2.answer(http2.call("ListStreams")).status == 200
    assert post("ListStreams")[0].status == 200
    assert emulator.calls.count("ListStreams", http_version="2") == 2
    assert emulator.calls.count("ListStreams", http_version="1.1") == 1
    assert emulator.calls.count("ListStreams") == 3


def test_a_slow_call_stops_no_other(emulator: Emulator, http2: Http2Client) -> None:
    """Calls of one connection run at the same time: one that takes long delays none."""
    goes_on = threading.Event()

    def wait(request: Request) -> None:
        if request.action == "ListShards":
            goes_on.wait(PATIENCE_S)

    emulator.settings.fault = wait
    slow = http2.call("ListShards", StreamName=STREAM)
    try:
        for _ in range(3):
            assert http2.answer(http2.call("ListStreams")).status == 200
        assert not http2.answers[slow].headers
    finally:
        goes_on.set()
    assert len(http2.answer(slow).json["Shards"]) == 1


def test_megabytes_in_both_directions(http2: Http2Client) -> None:
    """Requests and responses of more than ten megabytes pass, although the windows are smaller."""
    data = bytes(range(256)) * 4000
    records = [{"Data": base64.b64encode(data).decode(), "PartitionKey": "k"}] * 9
    put_all = http2.answer(http2.call("PutRecords", StreamName=STREAM, Records=records))
    assert put_all.json["FailedRecordCount"] == 0
    start = {"StreamName": STREAM, "ShardId": SHARD, "ShardIteratorType": "TRIM_HORIZON"}
    iterator = http2.answer(http2.call("GetShardIterator", **start)).json["ShardIterator"]
    page = http2.answer(http2.call("GetRecords", ShardIterator=iterator))
    assert len(page.body) > 11 * MIB
    assert [base64.b64decode(record["Data"]) for record in page.json["Records"]] == [data] * 9


@pytest.mark.parametrize("frame_bytes", [16_384, 2**20])
def test_frames_are_as_large_as_the_client_takes(emulator: Emulator, frame_bytes: int) -> None:
    """A response comes in frames of the size that the client has asked for. A larger one would be an error of the client."""
    put(emulator, 4, 500_000)
    start = {"StreamName": STREAM, "ShardId": SHARD, "ShardIteratorType": "TRIM_HORIZON"}
    with Http2Client(emulator.port, frame_bytes=frame_bytes) as http2:
        iterator = http2.answer(http2.call("GetShardIterator", **start)).json["ShardIterator"]
        assert len(http2.answer(http2.call("GetRecords", ShardIterator=iterator)).json["Records"]) == 4


def test_a_body_in_pieces_and_trailers(http2: Http2Client) -> None:
    """A body may come in many frames, with trailers after it."""
    stream = http2.begin("DescribeStreamSummary")
    for byte in b'{"StreamName": "orders"}':
        http2.send(stream, bytes([byte]), end=False)
    http2.state.send_headers(stream, [("x-checksum", "1")], end_stream=True)
    http2.flush()
    assert http2.answer(stream).json["StreamDescriptionSummary"]["StreamName"] == STREAM


def test_a_body_that_is_too_large(http2: Http2Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A body above the bound is refused before it has all come, and the connection goes on."""
    from kinesis_emulator import http2 as module

    monkeypatch.setattr(module, "MAX_BODY_BYTES", 100_000)
    stream = http2.begin("PutRecords")
    http2.send(stream, bytes(100_001), end=False)
    answer = http2.wait(stream, lambda answer: answer.reset is not None)
    assert (answer.status, answer.reset) == (413, h2.errors.ErrorCodes.NO_ERROR)
    assert http2.answer(http2.call("ListStreams")).status == 200


def test_many_subscriptions_share_a_connection(emulator: Emulator, http2: Http2Client) -> None:
    """One connection carries a subscription to each of twenty shards, and calls between their events."""
    emulator.scale(STREAM, 20)
    consumer, shards = emulator.register_consumer(STREAM, "one"), emulator.shard_ids(STREAM)
    streams = [subscribe(http2, consumer, shard_id) for shard_id in shards]
    for stream in streams:
        http2.wait(stream, events_of)
    assert sorted(emulator.subscriptions(STREAM)) == sorted(("one", shard_id) for shard_id in shards)
    keys = [2**128 * i // 20 for i in range(20)]
    for key in keys:
        emulator.put(STREAM, b"tea", explicit_hash_key=key)
    for stream in streams:
        http2.wait(stream, lambda answer: any(b"PartitionKey" in event for event in events_of(answer)))
    assert http2.answer(http2.call("ListStreams")).status == 200


def test_a_subscription_that_nobody_reads(clock: ManualClock) -> None:
    """A client that does not read one subscription stops that one only, and it keeps no events for it."""
    one_each = replace(Limits.unlimited(), event_max_records=1)
    with Emulator(settings=Settings(limits=one_each), clock=clock) as emulator:
        emulator.create_stream(STREAM)
        put(emulator, 100, 100_000)
        consumer = emulator.register_consumer(STREAM, "one")
        with Http2Client(emulator.port) as http2:
            stream = subscribe(http2, consumer)
            http2.holds.add(stream)
            http2.wait(stream, lambda answer: len(answer.body) == 65_535)  # the window is used up
            assert http2.answer(http2.call("ListStreams")).status == 200
            # What was not made yet is gone now. Events that were kept for the client would still come.
            emulator.trim(STREAM, SHARD, 99)
            http2.release(stream)
            http2.wait(stream, lambda answer: len(events_of(answer)) > 1)
            emulator.put(STREAM, b"last")
            http2.wait(stream, lambda answer: base64.b64encode(b"last") in b"".join(events_of(answer)))
            assert len(events_of(http2.answers[stream])) <= 4


@pytest.mark.parametrize("ending", ["reset", "goaway", "close"])
def test_a_client_ends_its_subscriptions(emulator: Emulator, http2: Http2Client, ending: str) -> None:
    """RST_STREAM ends one subscription. GOAWAY with an error and the end of the connection end all."""
    emulator.scale(STREAM, 2)
    consumer, shards = emulator.register_consumer(STREAM, "one"), emulator.shard_ids(STREAM)
    streams = [subscribe(http2, consumer, shard_id) for shard_id in shards]
    for stream in streams:
        http2.wait(stream, events_of)
    left: list[tuple[str, str]] = []
    if ending == "reset":
        http2.state.reset_stream(streams[0])
        http2.flush()
        left = [("one", shards[1])]
    elif ending == "goaway":
        http2.state.close_connection(h2.errors.ErrorCodes.INTERNAL_ERROR)
        http2.flush()
    else:
        http2.socket.close()
    wait_until(lambda: emulator.subscriptions(STREAM) == left)


def test_a_client_that_leaves_gets_its_responses() -> None:
    """
    After a GOAWAY without an error the calls that have begun go on. The connection ends with the last of them.

    The SDK for JavaScript sends it as soon as a subscription has begun.
    """
    clock = ManualClock()
    with Emulator(clock=clock) as other, Http2Client(other.port) as http2:
        other.create_stream(STREAM)
        consumer = other.register_consumer(STREAM, "one")
        stream = subscribe(http2, consumer)
        http2.wait(stream, events_of)
        http2.socket.sendall(GOODBYE)
        other.put(STREAM, b"later")
        http2.wait(stream, lambda answer: base64.b64encode(b"later") in b"".join(events_of(answer)))
        clock.advance(other.settings.subscription_life_s)
        assert http2.answer(stream).is_whole
        with pytest.raises(EOFError):
            http2.receive()


@pytest.mark.parametrize(
    ("fault", "part"),
    [
        (Fault(drop_request=True), b""),
        (Fault(drop_response=True), b""),
        (Fault(body=b"0123456789", status=200, cut_response=True), b"01234"),
    ],
)
def test_a_broken_call_resets_its_stream(
    emulator: Emulator, http2: Http2Client, fault: Fault, part: bytes
) -> None:
    """A fault that breaks a call off ends its stream with RST_STREAM. The connection goes on."""
    emulator.settings.fault = lambda request: fault if request.action == "ListShards" else None
    answer = http2.answer(http2.call("ListShards", StreamName=STREAM))
    assert (answer.body, answer.reset) == (part, h2.errors.ErrorCodes.INTERNAL_ERROR)
    assert http2.answer(http2.call("ListStreams")).status == 200


@pytest.mark.parametrize(
    ("fault", "part"),
    [
        (Fault(drop_response=True), b""),
        (Fault(body=b"0123456789", status=200, cut_response=True), b"01234"),
    ],
)
def test_a_broken_call_ends_the_connection(
    emulator: Emulator, http2: Http2Client, fault: Fault, part: bytes
) -> None:
    """As the settings say, a call that is broken off ends the connection, with GOAWAY or without. It resets nothing."""
    emulator.settings.fault = lambda _: fault
    emulator.settings.broken_http2 = "goaway"
    stream = http2.call("ListShards", StreamName=STREAM)
    answer = http2.wait(stream, lambda _: http2.ended)
    assert http2.ended is not None
    assert (answer.body, answer.is_over, http2.ended.error_code) == (
        part,
        False,
        h2.errors.ErrorCodes.NO_ERROR,
    )
    assert [one.calls for one in emulator.connections()] == [1]  # it is the client that closes the connection
    http2.socket.close()
    wait_until(lambda: not emulator.connections())
    emulator.settings.broken_http2 = "connection"
    with Http2Client(emulator.port) as other:
        stream = other.call("ListShards", StreamName=STREAM)
        with pytest.raises((EOFError, ConnectionError)):  # a window update meets a closed connection
            other.answer(stream)
        assert (other.answers[stream].is_over, other.ended) == (False, None)


def test_connections_are_shown(emulator: Emulator, http2: Http2Client, post: Callable[..., Any]) -> None:
    """Each open connection is listed with what it speaks, and with its number of requests."""
    for _ in range(3):
        http2.answer(http2.call("ListStreams"))
    post("ListStreams")
    first, second = emulator.connections()
    assert (first.protocol, first.calls, second.protocol, second.calls) == ("HTTP/2", 3, "HTTP/1.1", 1)
    assert first.number < second.number
    http2.socket.close()
    wait_until(lambda: emulator.connections() == [second])


def test_a_cut_subscription(emulator: Emulator, http2: Http2Client) -> None:
    """A subscription that a fault cuts ends with RST_STREAM in the middle of an event."""
    put(emulator, 3)
    emulator.settings.fault = lambda _: Fault(events=EventFault(cut=True))
    answer = http2.answer(subscribe(http2, emulator.register_consumer(STREAM, "one")))
    assert (events_of(answer), answer.reset) == ([], h2.errors.ErrorCodes.INTERNAL_ERROR)
    assert b"SubscribeToShardEvent" in answer.body


@pytest.mark.parametrize(
    "fault", [Fault(drop_request=True, reset=True), Fault(drop_response=True, reset=True)]
)
def test_a_reset_connection(emulator: Emulator, http2: Http2Client, fault: Fault) -> None:
    """A fault with `reset` ends the connection, and all its calls, by a TCP RST."""
    emulator.settings.fault = lambda _: fault
    with pytest.raises(ConnectionError):
        http2.answer(http2.call("ListShards", StreamName=STREAM))


def test_a_response_that_stalls(emulator: Emulator, http2: Http2Client) -> None:
    """A response may pause in its middle, and is whole then."""
    emulator.settings.fault = lambda _: Fault(body=b"0123456789", status=200, stall_s=0.01)
    assert http2.answer(http2.call("ListStreams")).body == b"0123456789"


def test_stopping_ends_connections_and_threads() -> None:
    """A stopped emulator has no thread left, although a client has a connection with open subscriptions."""
    before = set(threading.enumerate())
    running = Emulator(settings=Settings(limits=Limits.unlimited()))
    running.start()
    running.create_stream(STREAM)
    with Http2Client(running.port) as http2:
        http2.wait(subscribe(http2, running.register_consumer(STREAM, "one")), events_of)
        running.stop()
        with pytest.raises((EOFError, ConnectionError)):
            http2.answer(http2.begin("ListStreams", end=True))
    wait_until(lambda: set(threading.enumerate()) <= before)


def test_without_h2(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Without the package h2 the client gets GOAWAY with what is missing, and the log has one line."""
    monkeypatch.setattr(server, "HAS_HTTP2", False)
    caplog.set_level(logging.INFO, "kinesis_emulator")
    with Http2Client(emulator.port) as http2:
        stream = http2.begin("ListStreams")
        http2.wait(stream, lambda _: http2.ended)
        assert http2.ended is not None
        assert http2.ended.error_code == h2.errors.ErrorCodes.HTTP_1_1_REQUIRED
        assert b'pip install "kinesis-emulator[http2]"' in (http2.ended.additional_data or b"")
    assert [line.partition("reason=")[2] for line in caplog.messages] == [
        'HTTP/2, which needs the package h2: pip install "kinesis-emulator[http2]".'
    ]


def test_http2_that_is_not_wanted(caplog: pytest.LogCaptureFixture) -> None:
    """An emulator that is told not to speak HTTP/2 refuses its clients with a reason."""
    with Emulator(http2=False) as emulator, Http2Client(emulator.port) as http2:
        http2.wait(http2.begin("ListStreams"), lambda _: http2.ended)
        assert http2.ended is not None
        assert http2.ended.error_code == h2.errors.ErrorCodes.HTTP_1_1_REQUIRED
    (line,) = caplog.messages
    assert line.endswith("reason=HTTP/2, which this emulator was told not to speak.")


def test_malformed_http2(emulator: Emulator, caplog: pytest.LogCaptureFixture) -> None:
    """A client that breaks the rules gets GOAWAY, and the log says why."""
    with Http2Client(emulator.port) as http2:
        http2.socket.sendall(b"\0\0\1\0\0\0\0\0\1x")  # DATA for a stream that was never opened
        with pytest.raises((EOFError, ConnectionError)):
            http2.wait(http2.begin("ListStreams"), lambda answer: answer.is_over)
        assert http2.ended is not None
        assert http2.ended.error_code == h2.errors.ErrorCodes.PROTOCOL_ERROR
    (line,) = caplog.messages
    assert "reason=malformed HTTP/2: " in line
