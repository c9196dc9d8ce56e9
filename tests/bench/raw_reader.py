"""The minimal reader in Python: a TLS socket, and a decoder of JSON and base64, without checks or signing."""

from __future__ import annotations

import json
import socket
import ssl
import time
from pathlib import Path

import msgspec

from tests.support.certificates import HOST

_LARGEST = 16 * 1024 * 1024


class _Record(msgspec.Struct, gc=False):
    SequenceNumber: str
    ApproximateArrivalTimestamp: float
    Data: bytes
    PartitionKey: str


class _Response(msgspec.Struct):
    Records: list[_Record]
    NextShardIterator: str
    MillisBehindLatest: int


class RawReader:
    """Reads shards one after the other on one connection. A context manager."""

    def __init__(self, port: int, certificate: Path) -> None:
        trust = ssl.create_default_context(cafile=certificate)
        self._socket = trust.wrap_socket(socket.create_connection((HOST, port)), server_hostname=HOST)
        self._buffer = memoryview(bytearray(_LARGEST))
        self._decoder = msgspec.json.Decoder(_Response)

    def read_shards(self, count: int) -> float:
        """Read *count* shards to their tips, and return the CPU seconds."""
        started_s = time.process_time()
        for index in range(count):
            self._read_shard(f"shardId-{index:012}")
        return time.process_time() - started_s

    def _read_shard(self, shard_id: str) -> None:
        start = {"StreamName": "orders", "ShardId": shard_id, "ShardIteratorType": "TRIM_HORIZON"}
        iterator, behind_ms = msgspec.json.decode(self.call("GetShardIterator", start))["ShardIterator"], 1
        while behind_ms:
            page = self.decode(self.call("GetRecords", {"ShardIterator": iterator}))
            iterator, behind_ms = page.NextShardIterator, page.MillisBehindLatest

    def decode(self, body: bytes | memoryview) -> _Response:
        return self._decoder.decode(body)

    def call(self, action: str, request: dict[str, str]) -> memoryview:
        """Return the body of the response, which is valid until the next call."""
        body = json.dumps(request).encode()
        head = f"POST / HTTP/1.1\r\nX-Amz-Target: Kinesis_20131202.{action}\r\nContent-Length: {len(body)}\r\n\r\n"
        self._socket.sendall(head.encode() + body)
        received = self._socket.recv_into(self._buffer)
        start = bytes(self._buffer[:1024]).index(b"\r\n\r\n") + 4  # short headers in one piece
        length = bytes(self._buffer[:start]).lower().partition(b"content-length: ")[2]
        stop = start + int(length.partition(b"\r\n")[0])
        while received < stop:
            received += self._socket.recv_into(self._buffer[received:])
        return self._buffer[start:stop]

    def __enter__(self) -> RawReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
