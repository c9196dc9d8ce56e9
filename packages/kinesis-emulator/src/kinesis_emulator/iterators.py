"""Shard iterators and next tokens: opaque text with a position and the time of creation."""

from __future__ import annotations

import base64
import json
import time
import zlib
from dataclasses import dataclass
from typing import Any

from kinesis_emulator.errors import AwsError, invalid_argument

_MAGIC = b"\0\0\0\0\0\0\0\1"
_HEAD_BYTES = len(_MAGIC) + 4
_SHORTEST_BYTES, _BLOCK_BYTES = 152, 16
"""AWS's iterators are encrypted in blocks. Source: https://github.com/mhart/kinesalite, whose tests were run against AWS."""


@dataclass(frozen=True)
class LogPosition:
    """The index of the next record to read, and the arrival time up to which the log has been searched."""

    index: int
    scanned_ms: int


@dataclass(frozen=True)
class ShardIterator:
    """The content of a shard iterator."""

    stream_arn: str
    shard_id: str
    opened_s: int
    """Distinguishes the shard from one of the same id in a recreated stream."""
    position: LogPosition
    created_ms: int


def encode_iterator(iterator: ShardIterator) -> str:
    at, shard = iterator.position, (iterator.stream_arn, iterator.shard_id, iterator.opened_s)
    return _seal([*shard, at.index, at.scanned_ms, iterator.created_ms])


def decode_iterator(text: str) -> ShardIterator:
    """Return the content of *text*; raise an InvalidArgumentException if `encode_iterator` did not make it."""
    fields = _unseal(text)
    if not isinstance(fields, list):
        raise invalid_argument("Invalid ShardIterator.")
    arn, shard_id, opened_s, index, scanned_ms, created_ms = fields
    return ShardIterator(arn, shard_id, opened_s, LogPosition(index, scanned_ms), created_ms)


def check_iterator_age(iterator: ShardIterator, now_ms: int, life_s: float) -> None:
    """Refuse an iterator older than *life_s* with an ExpiredIteratorException."""
    if now_ms - iterator.created_ms > life_s * 1000:
        raise AwsError(
            "ExpiredIteratorException",
            f"Iterator expired. The iterator was created at time {_java_date(iterator.created_ms)} while right now "
            f"it is {_java_date(now_ms)} which is further in the future than the tolerated delay of "
            f"{round(life_s * 1000)} milliseconds.",
        )


def encode_token(state: dict[str, Any], now_ms: int) -> str:
    """Return a NextToken that holds *state*."""
    return _seal({**state, "created_ms": now_ms})


def decode_token(text: str, now_ms: int, life_s: float) -> dict[str, Any]:
    """Return the state in a NextToken; raise an error if it is not one of ours or has expired."""
    state = _unseal(text)
    if not isinstance(state, dict):
        raise invalid_argument("NextToken is invalid.")
    if now_ms - state["created_ms"] > life_s * 1000:
        raise AwsError(
            "ExpiredNextTokenException", f"NextToken has expired. It is valid for {round(life_s)} seconds."
        )
    return state


def _seal(value: Any) -> str:
    payload = json.dumps(value, separators=(",", ":")).encode()
    payload += b" " * (-(_HEAD_BYTES + len(payload) - _SHORTEST_BYTES) % _BLOCK_BYTES)
    return base64.b64encode(_MAGIC + zlib.crc32(payload).to_bytes(4, "big") + payload).decode()


def _unseal(text: str) -> Any:
    """Return the sealed value, or None if *text* was not sealed by `_seal`."""
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    head = len(_MAGIC)
    payload = raw[head + 4 :]
    if raw[:head] != _MAGIC or raw[head : head + 4] != zlib.crc32(payload).to_bytes(4, "big"):
        return None
    return json.loads(payload)


def _java_date(epoch_ms: int) -> str:
    return time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime(epoch_ms / 1000))
