"""
Whole calls over HTTPS: client, signing, transport and record batch, compared with boto3.

    python -m tests.bench.bench_call
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from attrs import field, frozen
from botocore.credentials import Credentials

from kinesis_core.aws import RetryPolicy
from kinesis_core.aws.client import BotoStreamApi
from kinesis_core.aws.fast.fast_path import FastPath, install_raw_bodies
from kinesis_core.clock import SystemClock
from kinesis_core.model import After, PutEntry
from kinesis_core.reading.arrow import BatchBuilder
from tests.bench.bench_decode import SCHEMA, SHARD, STREAM, page_body, random_payloads, user_batch
from tests.bench.harness import Row, compare_batches, measure, show
from tests.bench.server import TlsFiles, response, serving, trusted_certificate
from tests.support.streams import KEY_ID, SECRET, make_client

MAX_RECORDS = 10_000
"""The largest Limit of a call."""
NUMBER = 49_660_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000
PAYLOADS = random_payloads(500, 100)
SMALL: dict[str, tuple[Any, Callable[[BotoStreamApi], object], Callable[[Any], object]]] = {
    "GetShardIterator": (
        {"ShardIterator": "A" * 220},
        lambda api: api.get_iterator(SHARD, After(NUMBER)),
        lambda boto: boto.get_shard_iterator(
            StreamName=STREAM,
            ShardId=SHARD,
            ShardIteratorType="AFTER_SEQUENCE_NUMBER",
            StartingSequenceNumber=str(NUMBER),
        ),
    ),
    "GetRecords, an empty page": (
        {"Records": [], "NextShardIterator": "A" * 220, "MillisBehindLatest": 0},
        lambda api: api.get_records("A" * 220, MAX_RECORDS),
        lambda boto: boto.get_records(ShardIterator="A" * 220, Limit=MAX_RECORDS),
    ),
    "PutRecords, 500 x 100 B": (
        {"FailedRecordCount": 0, "Records": [{"ShardId": SHARD, "SequenceNumber": str(NUMBER)}] * 500},
        lambda api: api.put_records([PutEntry(data, "key") for data in PAYLOADS], with_results=False),
        lambda boto: boto.put_records(
            StreamName=STREAM, Records=[{"Data": data, "PartitionKey": "key"} for data in PAYLOADS]
        ),
    ),
}
"""For each action: the server's response, our call, and boto3's call."""


def run() -> list[Row]:
    """Return one row per size of page, and one per call with a small response."""
    with trusted_certificate() as tls:
        return [
            _call(10_000, 100, tls, target=11),
            _call(1_000, 1_000, tls, target=5),
            _call(1_000, 10_000, tls, target=3),
            *(_small_call(action, tls) for action in SMALL),
        ]


def _call(records: int, size_bytes: int, tls: TlsFiles, target: float | None) -> Row:
    body = page_body(random_payloads(records, size_bytes))
    builder = BatchBuilder(SCHEMA.names)
    with serving(_Always, response(body), tls=tls) as server:
        api, boto = stream_api(make_client(server.endpoint_url)), make_client(server.endpoint_url)

        def ours() -> pa.RecordBatch:
            return builder.build(api.get_records("iterator", MAX_RECORDS), STREAM, SHARD)

        def theirs() -> pa.RecordBatch:
            response = boto.get_records(ShardIterator="iterator", Limit=MAX_RECORDS)
            return user_batch(response["Records"])

        case = f"{records:,} x {size_bytes:,} B"
        return compare_batches("call over HTTPS, against boto3", case, ours, theirs, records, target)


def _small_call(action: str, tls: TlsFiles) -> Row:
    body, our_call, their_call = SMALL[action]
    with serving(_Always, response(json.dumps(body).encode()), tls=tls) as server:
        api, boto = stream_api(make_client(server.endpoint_url)), make_client(server.endpoint_url)
        ours, theirs = (lambda: our_call(api)), (lambda: their_call(boto))
        group, metric = "small call over HTTPS, against boto3", "calls per CPU second"
        return measure(group, action, ours, theirs, 1, target=4, metric=metric)


def stream_api(client: Any) -> BotoStreamApi:
    """Return our API on a client of boto3."""
    install_raw_bodies(client)
    calls = FastPath(client, Credentials(KEY_ID, SECRET))
    return BotoStreamApi(client, STREAM, None, RetryPolicy(), SystemClock(), random.Random(0), calls)


@frozen
class _Always:
    """Sends *response* for every request."""

    response: tuple[bytes, ...]
    calls: Mapping[str, int] = field(factory=dict, init=False)

    def respond(self, head: bytes, body: bytes) -> tuple[bytes, ...]:  # noqa: ARG002 # of any request
        return self.response


if __name__ == "__main__":
    show(run())
