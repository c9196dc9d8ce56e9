"""The rates at which the emulator takes and returns records: it must never be the bottleneck of a test."""

from __future__ import annotations

import base64
import http.client
import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from kinesis_emulator import EmulatorProcess, cbor
from tests.bench.harness import TURNS, Row, show

GROUP = "Emulator, against what is asked for"
IN_CBOR = "Emulator in CBOR, against JSON"
PUTS_S = 3.0
READS = 40
CALLS_A_TURN = 20
FIRST_READ = 10_000
JSON, CBOR = "application/x-amz-json-1.1", "application/x-amz-cbor-1.1"


def run() -> list[Row]:
    with EmulatorProcess({"orders": 1}) as emulator:
        client = _Client(emulator.endpoint_url)
        puts = _puts_a_second(client)
        megabytes = _megabytes_a_second(client)
        beside_json = _beside_json(client)
    return [
        Row.of(GROUP, "PutRecords, 500 x 100 B", "records/s", [(puts, 20_000)], 1.0),
        Row.of(GROUP, "GetRecords, 1 KB records", "MB/s", [(megabytes, 100)], 1.0),
        *beside_json,
    ]


class _Client:
    """The thinnest client: it does not sign requests, and does not parse responses."""

    def __init__(self, endpoint_url: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(endpoint_url).netloc)

    def call(self, action: str, body: bytes, content_type: str = JSON) -> bytes:
        headers = {"X-Amz-Target": f"Kinesis_20131202.{action}", "Content-Type": content_type}
        self._connection.request("POST", "/", body, headers)
        response = self._connection.getresponse()
        text = response.read()
        if response.status != 200:
            raise RuntimeError(f"{action}: {response.status} {text[:200]!r}")
        return text


def _records(count: int, size: int) -> bytes:
    data = base64.b64encode(b"x" * size).decode()
    records = [{"Data": data, "PartitionKey": f"key-{i}"} for i in range(count)]
    return json.dumps({"StreamName": "orders", "Records": records}).encode()


def _puts_a_second(client: _Client) -> float:
    body, put, started = _records(500, 100), 0, time.perf_counter()
    while time.perf_counter() - started < PUTS_S:
        client.call("PutRecords", body)
        put += 500
    return put / (time.perf_counter() - started)


def _megabytes_a_second(client: _Client) -> float:
    body = _records(500, 1024)
    for _ in range(20):
        client.call("PutRecords", body)
    iterator = _latest_page_iterator(client)
    request = json.dumps({"ShardIterator": iterator, "Limit": 10_000}).encode()
    records = len(json.loads(client.call("GetRecords", request))["Records"])
    started = time.perf_counter()
    for _ in range(READS):
        client.call("GetRecords", request)
    return READS * records * 1024 / 1e6 / (time.perf_counter() - started)


def _beside_json(client: _Client) -> list[Row]:
    """Return the rates in CBOR beside those in JSON, of the calls of the other rows."""
    records = [{"Data": b"x" * 100, "PartitionKey": f"key-{i}"} for i in range(500)]
    put = cbor.encode({"StreamName": "orders", "Records": records}), _records(500, 100)
    page = {"ShardIterator": _latest_page_iterator(client), "Limit": 10_000}
    get = cbor.encode(page), _json(page)
    megabytes = 1024 / 1e6 * len(cbor.decode(client.call("GetRecords", get[0], CBOR))["Records"])
    return [
        _both(client, "PutRecords, 500 x 100 B", "PutRecords", put, 500, "records/s"),
        _both(client, "GetRecords, 1 KB records", "GetRecords", get, megabytes, "MB/s"),
        _first_reads(client),
    ]


def _first_reads(client: _Client) -> Row:
    """Return the rates at which records that were put in JSON are read for the first time."""
    return Row.of(
        IN_CBOR,
        "GetRecords, put in JSON, first read",
        "MB/s",
        [(_first_read(client, cbor.encode, CBOR), _first_read(client, _json, JSON)) for _ in range(TURNS)],
    )


def _first_read(client: _Client, encode: Callable[[dict[str, Any]], bytes], content_type: str) -> float:
    start = {"StreamName": "orders", "ShardId": "shardId-000000000000", "ShardIteratorType": "LATEST"}
    page = {"ShardIterator": json.loads(client.call("GetShardIterator", _json(start)))["ShardIterator"]}
    body = _records(500, 1024)
    for _ in range(FIRST_READ // 500):
        client.call("PutRecords", body)
    started = time.perf_counter()
    client.call("GetRecords", encode(page), content_type)
    return FIRST_READ * 1024 / 1e6 / (time.perf_counter() - started)


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode()


def _both(
    client: _Client, case: str, action: str, bodies: tuple[bytes, bytes], work: float, unit: str
) -> Row:
    def rate(body: bytes, content_type: str) -> float:
        started = time.perf_counter()
        for _ in range(CALLS_A_TURN):
            client.call(action, body, content_type)
        return CALLS_A_TURN * work / (time.perf_counter() - started)

    in_cbor, in_json = bodies
    turns = [(rate(in_cbor, CBOR), rate(in_json, JSON)) for _ in range(TURNS)]
    return Row.of(IN_CBOR, case, unit, turns, 0.7)


def _latest_page_iterator(client: _Client) -> str:
    """Return an iterator at the first page of the larger records."""
    request: dict[str, Any] = {"StreamName": "orders", "ShardId": "shardId-000000000000"}
    iterator = json.loads(
        client.call("GetShardIterator", json.dumps({**request, "ShardIteratorType": "TRIM_HORIZON"}).encode())
    )["ShardIterator"]
    while True:
        page = json.loads(client.call("GetRecords", json.dumps({"ShardIterator": iterator}).encode()))
        if len(page["Records"][0]["Data"]) > 1000:
            return str(iterator)
        iterator = page["NextShardIterator"]


if __name__ == "__main__":
    show(run())
