"""
From the bytes of a subscription to record batches, compared with pages of GetRecords and with boto3's event stream.

Decoding an event also costs its checksum, at 4 GB/s. A response of GetRecords has none.

    python -m tests.bench.bench_fan_out
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa
from attrs import frozen
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from kinesis_core.aws import RetryPolicy
from kinesis_core.aws.event_stream import Frame, read_frames
from kinesis_core.aws.fast.wire import decode_event, decode_page
from kinesis_core.aws.subscriptions import BotoSubscribeApi, take_connection
from kinesis_core.clock import SystemClock
from kinesis_core.model import SubscribedPage, TrimHorizon
from kinesis_core.reading.arrow import BatchBuilder
from kinesis_emulator.wire_formats import event_frame
from tests.bench.bench_call import stream_api
from tests.bench.bench_decode import SCHEMA, SHARD, STREAM, page_body, random_payloads, user_batch
from tests.bench.harness import Row, compare_batches, show
from tests.support.streams import make_client

EVENTS = 4
PIECE_BYTES = 65536
"""The most that urllib3 returns at once."""
CONSUMER = "arn:aws:kinesis:us-east-1:000000000000:stream/orders/consumer/me:1"
Read = Callable[[], list[pa.RecordBatch]]


def run() -> list[Row]:
    """Return three rows per record size: decoding alone, with the calls, and against boto3."""
    return [
        row
        for records, size_bytes, target in ((10_000, 100, 15), (1_000, 1_000, 7), (200, 10_000, None))
        for row in (
            _decoding(records, size_bytes),
            _against_polling(records, size_bytes),
            _against_boto3(records, size_bytes, target),
        )
    ]


def _decoding(records: int, size_bytes: int) -> Row:
    body = page_body(random_payloads(records, size_bytes))
    pieces, page = _pieces(event_frame("SubscribeToShardEvent", _event(body)) * EVENTS), _pieces(body)
    builder = BatchBuilder(SCHEMA.names)

    def subscribed() -> list[pa.RecordBatch]:
        return [builder.build(_event_in(frame), STREAM, SHARD) for frame in read_frames(pieces)]

    def polled() -> list[pa.RecordBatch]:
        return [builder.build(decode_page(b"".join(page)), STREAM, SHARD) for _ in range(EVENTS)]

    return _row(records, size_bytes, "decoding alone, against polling", subscribed, polled, None)


def _event_in(frame: Frame) -> SubscribedPage:
    return decode_event(frame.received, True, frame.start, frame.stop)


def _against_polling(records: int, size_bytes: int) -> Row:
    body = page_body(random_payloads(records, size_bytes))
    subscribed, builder = _subscribed(body), BatchBuilder(SCHEMA.names)
    api = stream_api(_client(_pieces(body)))

    def polled() -> list[pa.RecordBatch]:
        pages = [api.get_records("iterator", records) for _ in range(EVENTS)]
        return [builder.build(page, STREAM, SHARD) for page in pages]

    return _row(records, size_bytes, "with the calls, against polling", subscribed, polled, None)


def _against_boto3(records: int, size_bytes: int, target: float | None) -> Row:
    body = page_body(random_payloads(records, size_bytes))
    boto = _client(_response(body))

    def theirs() -> list[pa.RecordBatch]:
        response = boto.subscribe_to_shard(
            ConsumerARN=CONSUMER, ShardId=SHARD, StartingPosition={"Type": "TRIM_HORIZON"}
        )
        with closing(response["EventStream"]) as events:
            return [user_batch(event["SubscribeToShardEvent"]["Records"]) for event in events]

    return _row(records, size_bytes, "against boto3", _subscribed(body), theirs, target)


def _subscribed(body: bytes) -> Read:
    """Return a function that subscribes and reads all events."""
    client, builder = _client(_response(body)), BatchBuilder(SCHEMA.names)
    take_connection(client)
    rng = random.Random(0)
    api = BotoSubscribeApi(client, STREAM, None, RetryPolicy(), SystemClock(), rng, CONSUMER)

    def read() -> list[pa.RecordBatch]:
        with closing(api.subscribe(SHARD, TrimHorizon())) as events:
            return [builder.build(page, STREAM, SHARD) for page in events]

    return read


def _row(records: int, size_bytes: int, what: str, ours: Read, theirs: Read, target: float | None) -> Row:
    if len(ours()) != EVENTS:
        raise AssertionError("each event must come once")
    case = f"{records:,} x {size_bytes:,} B, {what}"
    return compare_batches("fan-out", case, ours, theirs, EVENTS * records, target)


def _event(body: bytes) -> bytes:
    """Return the payload of an event with the records of the page *body*."""
    page = json.loads(body)
    del page["NextShardIterator"]
    page["ContinuationSequenceNumber"] = page["Records"][-1]["SequenceNumber"]
    return json.dumps(page, separators=(",", ":")).encode()


def _response(body: bytes) -> list[bytes]:
    """Return the bytes that a subscription sends, with the records of the page *body* in each event."""
    events = event_frame("SubscribeToShardEvent", _event(body)) * EVENTS
    return [event_frame("initial-response", b"{}"), *_pieces(events)]


def _pieces(data: bytes) -> list[bytes]:
    return [data[start : start + PIECE_BYTES] for start in range(0, len(data), PIECE_BYTES)]


@frozen
class _Connection:
    """The body of a response as urllib3 returns it."""

    pieces: list[bytes]

    def stream(self, **_: Any) -> Iterator[bytes]:
        yield from self.pieces

    def close(self) -> None:
        pass


def _client(pieces: list[bytes]) -> Any:
    """Return a client whose calls all get *pieces* as response, so that everything but the network is measured."""
    client = make_client("https://127.0.0.1")

    def response(**_: Any) -> AWSResponse:
        return AWSResponse("https://127.0.0.1", 200, HTTPHeaders(), _Connection(pieces))

    client.meta.events.register("before-send.kinesis", response)
    return client


if __name__ == "__main__":
    show(run())
