"""
Writing: user records to PutRecords bodies, and to a server, against boto3 and aws_kinesis_agg.

    python -m tests.bench.bench_produce
"""

from __future__ import annotations

import json
import multiprocessing
import os
import socket
import ssl
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import botocore.serialize
import botocore.session
from attrs import frozen

from kinesis_core import Producer, ProducerSettings
from kinesis_core.aws.fast.wire import encode_put
from kinesis_core.model import PutEntry, PutResponse, PutResult, Shard, StreamSummary
from kinesis_core.producing.shard_map import MAX_HASH_KEY, ShardMap
from kinesis_credentials import StaticKeys
from tests.bench.bench_decode import RECORDS_PER_CPU_S, STREAM, random_payloads
from tests.bench.harness import Row, measure, one_core, show
from tests.support.certificates import HOST, make_certificate

REPEAT = 9
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
    with one_core(), tempfile.TemporaryDirectory() as folder, _responding(Path(folder)) as server:
        return [
            _encode(100, KEYS, target=4),
            _encode(1_000, KEYS, target=4),
            _encode(100, ROWS_A_CALL, target=None),
            _write(server, 100, target=3.5),
            _write(server, 1_000, target=2.5),
            _write(server, 10_000, target=1.8),
            _write(server, 100, target=None, connections=ProducerSettings().max_connections),
        ]


def _encode(size_bytes: int, distinct_keys: int, target: float | None) -> Row:
    """Aggregate, and build the bodies of the requests. Nothing is sent."""
    data, keys = _rows(size_bytes, distinct_keys)
    aggregate, serialize = _aws_kinesis_agg(), _botocore_serializer()
    with closing(Producer(EncodingApi.create())) as producer:

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
        measured = measure(ours, theirs, REPEAT)
    case = f"{size_bytes:,} B, {distinct_keys:,} keys"
    return measured.row("aggregate", case, len(data), RECORDS_PER_CPU_S, target)


def _write(server: Server, size_bytes: int, target: float | None, connections: int = 1) -> Row:
    """
    Write over HTTPS, a record for each user record.

    With one connection, as in the loop of boto3, the ratio compares the work. With several connections, switching
    threads costs CPU time too. They save time if responses take long.
    """
    data, keys = _rows(size_bytes)
    boto = server.client()
    with closing(server.producer(connections)) as producer:

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
        measured = measure(ours, theirs, REPEAT)
    case = f"{size_bytes:,} B" if connections == 1 else f"{size_bytes:,} B, {connections} connections"
    return measured.row("write over HTTPS", case, len(data), RECORDS_PER_CPU_S, target)


def _rows(size_bytes: int, distinct_keys: int = KEYS) -> tuple[list[bytes], list[str]]:
    count = min(ROWS_A_CALL, 20_000_000 // size_bytes)
    return random_payloads(count, size_bytes), [f"user-{index % distinct_keys}" for index in range(count)]


def _chunks(records: Sequence[dict[str, Any]], most: int) -> Iterator[Sequence[dict[str, Any]]]:
    for start in range(0, len(records), most):
        yield records[start : start + most]


def _entry(made: Any) -> dict[str, Any]:
    key, _, data = made.get_contents()
    return {"Data": data, "PartitionKey": key}


def _aws_kinesis_agg() -> Any:
    """Import the library, and undo its changes to sys.path."""
    path = list(sys.path)
    from aws_kinesis_agg import aggregator

    sys.path[:] = path
    return aggregator


def _botocore_serializer() -> Callable[[Sequence[dict[str, Any]]], object]:
    """Return boto3's serializer of PutRecords requests, without the call around it."""
    model = botocore.session.get_session().get_service_model("kinesis").operation_model("PutRecords")
    serializer = botocore.serialize.create_serializer("json", include_validation=True)
    return lambda records: serializer.serialize_to_request({"StreamName": STREAM, "Records": records}, model)


def _shards() -> list[Shard]:
    width = (MAX_HASH_KEY + 1) // SHARDS
    starts = [index * width for index in range(SHARDS)]
    return [
        Shard(f"shardId-{index:012d}", None, None, start, start + width - 1, 1, None)
        for index, start in enumerate(starts)
    ]


@frozen
class EncodingApi:
    """An API without a server: requests are encoded, and the response says that they are written."""

    shards: ShardMap

    @classmethod
    def create(cls) -> EncodingApi:
        return cls(ShardMap.of(_shards()))

    def describe(self, *, with_retries: bool = True) -> StreamSummary:  # noqa: ARG002 # the API's
        return StreamSummary(
            STREAM, f"arn:aws:kinesis:us-east-1:000000000000:stream/{STREAM}", "ACTIVE", 0, 24
        )

    def list_shards(self, *, with_retries: bool = True, only_open: bool = False) -> list[Shard]:  # noqa: ARG002 # the API's
        return _shards()

    def put_records(self, entries: Sequence[PutEntry], with_results: bool = True) -> PutResponse:  # noqa: ARG002 # the API's
        encode_put(entries, STREAM, None)
        return PutResponse(
            0, [PutResult(self.shards.shard_of(int(entry.explicit_hash_key or 0))) for entry in entries]
        )


@frozen
class Server:
    """The address of a process that accepts everything and stores nothing."""

    port: int

    def client(self) -> Any:
        return botocore.session.get_session().create_client(
            "kinesis",
            region_name="us-east-1",
            endpoint_url=f"https://{HOST}:{self.port}",
            aws_access_key_id="invented",
            aws_secret_access_key="invented",
        )

    def producer(self, connections: int) -> Producer:
        return Producer.open(
            STREAM,
            region="us-east-1",
            endpoint_url=f"https://{HOST}:{self.port}",
            credentials=StaticKeys("invented", "invented"),
            settings=ProducerSettings(aggregation_enabled=False, max_connections=connections),
        )


@contextmanager
def _responding(folder: Path) -> Iterator[Server]:
    """Serve requests in another process, whose time does not count."""
    certificate, key = make_certificate(folder)
    context = multiprocessing.get_context("spawn")
    ours, its = context.Pipe()
    process = context.Process(target=_serve, args=(its, str(certificate), str(key)), daemon=True)
    process.start()
    os.environ["AWS_CA_BUNDLE"] = str(certificate)
    try:
        yield Server(ours.recv())
    finally:
        del os.environ["AWS_CA_BUNDLE"]
        process.terminate()
        process.join()
        process.close()


def _serve(parent: Connection, certificate: str, key: str) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    with socket.create_server((HOST, 0)) as listener:
        parent.send(listener.getsockname()[1])
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            wrapped = tls.wrap_socket(connection, server_side=True)
            threading.Thread(target=_serve_connection, args=(wrapped,), daemon=True).start()


def _serve_connection(connection: ssl.SSLSocket) -> None:
    with connection, connection.makefile("rb") as requests:
        while requests.readline():
            headers = dict(iter(lambda: _header(requests.readline()), (b"", b"")))
            body = requests.read(int(headers[b"content-length"]))
            response = _response(headers[b"x-amz-target"].rpartition(b".")[2], body)
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.1\r\nContent-Length: %d\r\n\r\n"
                % len(response)
                + response
            )


def _header(line: bytes) -> tuple[bytes, bytes]:
    name, _, value = line.strip().partition(b":")
    return name.lower(), value.strip()


def _response(action: bytes, body: bytes) -> bytes:
    if action == b"PutRecords":
        return _put_response(body.count(b'"PartitionKey"'))
    return _DESCRIPTIONS[action]


@lru_cache
def _put_response(records: int) -> bytes:
    results = [
        {
            "SequenceNumber": str(
                49_660_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000 + index
            ),
            "ShardId": f"shardId-{index % SHARDS:012d}",
        }
        for index in range(records)
    ]
    return json.dumps({"FailedRecordCount": 0, "Records": results}, separators=(",", ":")).encode()


_SUMMARY = {
    "StreamName": STREAM,
    "StreamARN": f"arn:aws:kinesis:us-east-1:000000000000:stream/{STREAM}",
    "StreamStatus": "ACTIVE",
    "RetentionPeriodHours": 24,
    "StreamCreationTimestamp": 1_780_000_000,
    "EnhancedMonitoring": [],
    "OpenShardCount": SHARDS,
}
_LISTING = [
    {
        "ShardId": shard.shard_id,
        "HashKeyRange": {"StartingHashKey": str(shard.hash_start), "EndingHashKey": str(shard.hash_end)},
        "SequenceNumberRange": {"StartingSequenceNumber": "1"},
    }
    for shard in _shards()
]
_DESCRIPTIONS = {
    b"DescribeStreamSummary": json.dumps({"StreamDescriptionSummary": _SUMMARY}).encode(),
    b"ListShards": json.dumps({"Shards": _LISTING}).encode(),
}


if __name__ == "__main__":
    show(run())
