"""
Whole calls over HTTPS: client, signing, transport and record batch, compared with boto3.

    python -m tests.bench.bench_call
"""

from __future__ import annotations

import json
import multiprocessing
import random
import socket
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import botocore.session
import pyarrow as pa
from botocore.credentials import Credentials

from kinesis_core.aws import RetryPolicy
from kinesis_core.aws.client import BotoStreamApi
from kinesis_core.aws.fast.fast_path import FastPath, install_raw_bodies
from kinesis_core.clock import SystemClock
from kinesis_core.model import After, PutEntry
from kinesis_core.reading.arrow import BatchBuilder
from tests.bench.bench_decode import (
    RECORDS_PER_CPU_S,
    SCHEMA,
    SHARD,
    STREAM,
    page_body,
    random_payloads,
    user_batch,
)
from tests.bench.harness import Row, measure, show
from tests.support.certificates import HOST, make_certificate

REPEAT = 9
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
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = make_certificate(Path(folder))
        return [
            _call(10_000, 100, certificate, key, target=11),
            _call(1_000, 1_000, certificate, key, target=5),
            _call(1_000, 10_000, certificate, key, target=3),
            *(_small_call(action, certificate, key) for action in SMALL),
        ]


def _call(records: int, size_bytes: int, certificate: Path, key: Path, target: float | None) -> Row:
    body = page_body(random_payloads(records, size_bytes))
    builder = BatchBuilder(SCHEMA.names)
    with _responding(body, certificate, key) as port:
        api = _stream_api(_client(port, certificate))
        boto = _client(port, certificate)

        def ours() -> pa.RecordBatch:
            return builder.build(api.get_records("iterator", MAX_RECORDS), STREAM, SHARD)

        def theirs() -> pa.RecordBatch:
            response = boto.get_records(ShardIterator="iterator", Limit=MAX_RECORDS)
            return user_batch(response["Records"])

        if not ours().equals(theirs()):
            raise AssertionError("both must build the same batch")
        measured = measure(ours, theirs, REPEAT)
    return measured.row(
        "call over HTTPS", f"{records:,} x {size_bytes:,} B", records, RECORDS_PER_CPU_S, target
    )


def _small_call(action: str, certificate: Path, key: Path) -> Row:
    response, our_call, their_call = SMALL[action]
    with _responding(json.dumps(response).encode(), certificate, key) as port:
        api, boto = _stream_api(_client(port, certificate)), _client(port, certificate)
        measured = measure(lambda: our_call(api), lambda: their_call(boto), REPEAT)
    return measured.row("small call over HTTPS", action, 1, "calls per CPU second", target=4)


def _client(port: int, certificate: Path) -> Any:
    return botocore.session.get_session().create_client(
        "kinesis",
        region_name="us-east-1",
        endpoint_url=f"https://{HOST}:{port}",
        verify=str(certificate),
        aws_access_key_id="invented",
        aws_secret_access_key="invented",
    )


def _stream_api(client: Any) -> BotoStreamApi:
    install_raw_bodies(client)
    calls = FastPath(client, Credentials("invented", "invented"))
    return BotoStreamApi(client, STREAM, None, RetryPolicy(), SystemClock(), random.Random(0), calls)


@contextmanager
def _responding(body: bytes, certificate: Path, key: Path) -> Iterator[int]:
    """Respond with *body* to every request on the port yielded, in another process, so that its CPU time does not count."""
    context = multiprocessing.get_context("spawn")
    ours, its = context.Pipe()
    server = context.Process(target=_serve, args=(its, body, str(certificate), str(key)), daemon=True)
    server.start()
    try:
        yield ours.recv()
    finally:
        server.terminate()
        server.join()
        server.close()


def _serve(parent: Connection, body: bytes, certificate: str, key: str) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.1\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_server((HOST, 0)) as listener:
        parent.send(listener.getsockname()[1])
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(
                socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
            )  # otherwise the client waits for the end of the response
            wrapped = tls.wrap_socket(connection, server_side=True)
            threading.Thread(target=_response, args=(wrapped, head.encode() + body), daemon=True).start()


def _response(connection: ssl.SSLSocket, response: bytes) -> None:
    """Respond to the requests of one connection until the client closes it."""
    with connection, connection.makefile("rb") as requests:
        while requests.readline():
            length = 0
            while (line := requests.readline().strip().lower()) != b"":
                name, _, value = line.partition(b":")
                if name == b"content-length":
                    length = int(value)
            requests.read(length)
            connection.sendall(response)


if __name__ == "__main__":
    show(run())
