"""
From the bytes of GetRecords to a record batch, compared with boto3's parser and aws_kinesis_agg.

    python -m tests.bench.bench_decode
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import sys
from collections.abc import Callable, Iterable
from datetime import datetime
from importlib import import_module
from typing import Any

import botocore.session
import pyarrow as pa

from kinesis_core.aggregation import MAGIC
from kinesis_core.aws.fast.wire import decode_page
from kinesis_core.reading import DEFAULT_COLUMNS
from kinesis_core.reading.arrow import BatchBuilder
from tests.bench.harness import Row, compare_batches, show

STREAM, SHARD = "orders", "shardId-000000000000"

SCHEMA = BatchBuilder([column.name for column in DEFAULT_COLUMNS]).schema


def run() -> list[Row]:
    """Return one row per measured page and aggregate."""
    return [
        _decode(10_000, 100, target=20),
        _decode(1_000, 1_000, target=10),
        _decode(1_000, 10_000, target=None),
        _deaggregate(100, target=3),
        _deaggregate(1_000, target=None),
    ]


def _decode(records: int, size_bytes: int, target: float | None) -> Row:
    body = page_body(random_payloads(records, size_bytes))
    builder = BatchBuilder(SCHEMA.names)
    parse = _botocore_parser()

    def ours() -> pa.RecordBatch:
        return builder.build(decode_page(body, builder.needs_data), STREAM, SHARD)

    def theirs() -> pa.RecordBatch:
        return user_batch(parse(body)["Records"])

    return compare_batches(
        "decode, against botocore's parser", f"{records:,} x {size_bytes:,} B", ours, theirs, records, target
    )


def _deaggregate(size_bytes: int, target: float | None) -> Row:
    deaggregator = aws_kinesis_agg("deaggregator")
    aggregates = [aggregate(51_200 // size_bytes, size_bytes, seed) for seed in range(100)]
    body = page_body(aggregates)
    page, parsed = decode_page(body), _botocore_parser()(body)["Records"]
    builder = BatchBuilder(SCHEMA.names)

    def ours() -> pa.RecordBatch:
        return builder.build(page, STREAM, SHARD)

    def theirs() -> pa.RecordBatch:
        user_records = [found["kinesis"] for found in deaggregator.iter_deaggregate_records(parsed, "Boto3")]
        return user_batch(
            [
                {
                    "Data": base64.b64decode(user_record["data"]),
                    "PartitionKey": user_record["partitionKey"],
                    "SequenceNumber": user_record["sequenceNumber"],
                    "ApproximateArrivalTimestamp": user_record["approximateArrivalTimestamp"],
                }
                for user_record in user_records
            ]
        )

    case = f"user records of {size_bytes:,} B"
    return compare_batches(
        "de-aggregate, against `aws_kinesis_agg`", case, ours, theirs, ours().num_rows, target
    )


def page_body(payloads: Iterable[bytes]) -> bytes:
    """Return the body of a GetRecords response as Kinesis writes it, with one record for each of *payloads*."""
    first_number = 49_660_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000
    records = [
        {
            "SequenceNumber": str(first_number + index * 2**80),
            "ApproximateArrivalTimestamp": (1_790_000_012_345 + index) / 1000,
            "Data": base64.b64encode(payload).decode(),
            "PartitionKey": f"user-{index % 997}",
        }
        for index, payload in enumerate(payloads)
    ]
    response = {"Records": records, "NextShardIterator": "A" * 220, "MillisBehindLatest": 0}
    return json.dumps(response, separators=(",", ":")).encode()


def random_payloads(count: int, size_bytes: int) -> list[bytes]:
    chance = random.Random(count)
    return [chance.randbytes(size_bytes) for _ in range(count)]


def user_batch(records: list[dict[str, Any]]) -> pa.RecordBatch:
    """Build the batch as a user does from boto3's response: with one list per column."""
    arrivals: list[datetime] = [record["ApproximateArrivalTimestamp"] for record in records]
    columns = [
        pa.array([record["Data"] for record in records], pa.binary()),
        pa.array([STREAM] * len(records), pa.string()),
        pa.array([record["PartitionKey"] for record in records], pa.string()),
        pa.array([record["SequenceNumber"] for record in records], pa.string()),
        pa.array(arrivals, pa.timestamp("us", tz="UTC")),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _botocore_parser() -> Callable[[bytes], dict[str, Any]]:
    """Return boto3's own parser of GetRecords responses, without the call around it."""
    session = botocore.session.get_session()
    operation = session.get_service_model("kinesis").operation_model("GetRecords")
    parser = session.get_component("response_parser_factory").create_parser("json")

    def parse(body: bytes) -> dict[str, Any]:
        response: dict[str, Any] = parser.parse(
            {"headers": {}, "status_code": 200, "body": body}, operation.output_shape
        )
        return response

    return parse


def aws_kinesis_agg(module: str) -> Any:
    """Import a module of the library without its changes to sys.path."""
    path = list(sys.path)
    found = import_module(f"aws_kinesis_agg.{module}")
    sys.path[:] = path
    return found


def aggregate(count: int, size_bytes: int, seed: int) -> bytes:
    """Return an aggregate of *count* user records with 50 partition keys, as Google's protobuf library writes it."""
    chance = random.Random(seed)
    message = aws_kinesis_agg("deaggregator").messages_pb2.AggregatedRecord()
    message.partition_key_table.extend(f"user-{index}" for index in range(50))
    for index in range(count):
        message.records.add(partition_key_index=index % 50, data=chance.randbytes(size_bytes))
    content: bytes = message.SerializeToString()
    return MAGIC + content + hashlib.md5(content, usedforsecurity=False).digest()


if __name__ == "__main__":
    show(run())
