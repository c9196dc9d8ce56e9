"""Calls over plain HTTP in JSON or CBOR, by a client that does not know AWS."""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Callable, Iterator
from typing import Any

from kinesis_emulator import cbor
from support.waiting import PATIENCE_S

JSON = "application/x-amz-json-1.1"
CBOR = "application/x-amz-cbor-1.1"
SHARD = "shardId-000000000000"
ENCODE: dict[str, Callable[[Any], bytes]] = {
    JSON: lambda value: json.dumps(value).encode(),
    CBOR: cbor.encode,
}
DECODE: dict[str, Callable[[bytes], Any]] = {JSON: json.loads, CBOR: cbor.decode}
Call = Callable[..., tuple[int, Any]]


def calls_to(port: int) -> Iterator[Call]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)

    def call(
        action: str, content_type: str = CBOR, raw: bytes | None = None, **params: Any
    ) -> tuple[int, Any]:
        body = ENCODE[content_type](params) if raw is None else raw
        target = f"Kinesis_20131202.{action}"
        connection.request("POST", "/", body, {"X-Amz-Target": target, "Content-Type": content_type})
        response = connection.getresponse()
        assert response.getheader("Content-Type") == content_type
        text = response.read()
        return response.status, DECODE[content_type](text) if text else None

    yield call
    connection.close()


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
