"""
Writing: user records to PutRecords bodies, and to a server, against boto3 and aws_kinesis_agg.

    python -m tests.bench.bench_produce
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import lru_cache
from typing import Any

import botocore.serialize
import botocore.session

from kinesis_core import Producer, ProducerSettings
from kinesis_emulator.wire_formats import JSON, BodyFormat
from tests.bench.accepting_api import AcceptingApi
from tests.bench.bench_decode import STREAM, aws_kinesis_agg, random_payloads
from tests.bench.canned import CannedResponses, CannedStream, number_at
from tests.bench.harness import Row, measure, one_core, show
from tests.bench.server import serving, trusted_certificate
from tests.support.streams import connection_to, make_client

SHARDS = 4
KEYS = 50
ROWS_A_CALL = 10_000
"""As many rows as Spark puts into one Arrow batch."""
MAX_AGGREGATE_BYTES = 51_200
MAX_PUT_RECORDS = 500
AGGREGATES_A_REQUEST = 200
"""Keeps a request under 10 MiB."""


def run() -> list[Row]:
    """Return one row for each way of writing and record size."""
    with one_core(), trusted_certificate() as tls, serving(_Accepting, tls=tls) as server:
        return [
            _encode(100, KEYS, target=4),
            _encode(1_000, KEYS, target=4),
            _encode(100, ROWS_A_CALL, target=None),
            _write(server.endpoint_url, 100, target=3.5),
            _write(server.endpoint_url, 1_000, target=2.5),
            _write(server.endpoint_url, 10_000, target=1.8),
            _write(server.endpoint_url, 100, target=None, connections=ProducerSettings().max_connections),
        ]


def _encode(size_bytes: int, distinct_keys: int, target: float | None) -> Row:
    """Aggregate, and build the bodies of the requests. Nothing is sent."""
    data, keys = _rows(size_bytes, distinct_keys)
    aggregate, serialize = aws_kinesis_agg("aggregator"), _botocore_serializer()
    with closing(Producer(AcceptingApi.of(SHARDS))) as producer:

        def ours() -> int:
            producer.put_columns(data, keys)
            return producer.flush().user_records

        def theirs() -> object:
            aggregator = aggregate.RecordAggregator(MAX_AGGREGATE_BYTES)
            pairs = zip(keys, data, strict=True)
            full = [made for key, payload in pairs if (made := aggregator.add_user_record(key, payload))]
            full.append(aggregator.clear_and_get())
            return [
                serialize(chunk) for chunk in _chunks([_entry(made) for made in full], AGGREGATES_A_REQUEST)
            ]

        if ours() != len(data):
            raise AssertionError("every record must be written")
        case = f"{size_bytes:,} B, {distinct_keys:,} keys"
        return measure("aggregate, against `aws_kinesis_agg`", case, ours, theirs, len(data), target)


def _write(endpoint_url: str, size_bytes: int, target: float | None, connections: int = 1) -> Row:
    """
    Write over HTTPS, a record for each user record.

    With one connection, as in the loop of boto3, the ratio compares the work. With several connections, switching
    threads costs CPU time too. They save time if responses take long.
    """
    data, keys = _rows(size_bytes)
    boto = make_client(endpoint_url)
    settings = ProducerSettings(aggregation_enabled=False, max_connections=connections)
    with Producer.open(STREAM, **connection_to(endpoint_url), settings=settings) as producer:

        def ours() -> int:
            producer.put_columns(data, keys)
            return producer.flush().user_records

        def theirs() -> None:
            records = [
                {"Data": payload, "PartitionKey": key} for payload, key in zip(data, keys, strict=True)
            ]
            for chunk in _chunks(records, MAX_PUT_RECORDS):
                if boto.put_records(StreamName=STREAM, Records=chunk)["FailedRecordCount"]:
                    raise AssertionError("every record must be written")

        if ours() != len(data):
            raise AssertionError("every record must be written")
        case = f"{size_bytes:,} B" if connections == 1 else f"{size_bytes:,} B, {connections} connections"
        return measure(
            "write over HTTPS, against boto3 and `aws_kinesis_agg`", case, ours, theirs, len(data), target
        )


def _rows(size_bytes: int, distinct_keys: int = KEYS) -> tuple[list[bytes], list[str]]:
    count = min(ROWS_A_CALL, 20_000_000 // size_bytes)
    return random_payloads(count, size_bytes), [f"user-{index % distinct_keys}" for index in range(count)]


def _chunks(records: Sequence[dict[str, Any]], most: int) -> Iterator[Sequence[dict[str, Any]]]:
    for start in range(0, len(records), most):
        yield records[start : start + most]


def _entry(made: Any) -> dict[str, Any]:
    key, _, data = made.get_contents()
    return {"Data": data, "PartitionKey": key}


def _botocore_serializer() -> Callable[[Sequence[dict[str, Any]]], object]:
    """Return boto3's serializer of PutRecords requests, without the call around it."""
    model = botocore.session.get_session().get_service_model("kinesis").operation_model("PutRecords")
    serializer = botocore.serialize.create_serializer("json", include_validation=True)
    return lambda records: serializer.serialize_to_request({"StreamName": STREAM, "Records": records}, model)


class _Accepting(CannedResponses):
    """Accepts everything and stores nothing."""

    def __init__(self) -> None:
        super().__init__(CannedStream(shards=SHARDS, records=1))

    def body(self, action: str, request: bytes, wire_format: BodyFormat = JSON) -> tuple[bytes, ...] | None:
        if action == "PutRecords":
            return (_put_response(request.count(b'"PartitionKey"')),)
        return super().body(action, request, wire_format)


@lru_cache
def _put_response(records: int) -> bytes:
    results = [
        {"SequenceNumber": str(number_at(index)), "ShardId": f"shardId-{index % SHARDS:012d}"}
        for index in range(records)
    ]
    return json.dumps({"FailedRecordCount": 0, "Records": results}, separators=(",", ":")).encode()


if __name__ == "__main__":
    show(run())
