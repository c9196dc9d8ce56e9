"""
The part of CBOR that AWS's SDKs speak to Kinesis, strictly.

A time is tag 1 with milliseconds as an integer, where RFC 8949 has seconds. Strings, arrays and maps may have an indefinite length.
Keys are text. Everything else is refused: other tags, repeated keys, bytes after the value, deep nesting.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

_DEEPEST = 32
_INDEFINITE = 31
_BREAK = 0xFF
_TIME_TAG = 1
_SIMPLE = {20: False, 21: True, 22: None}
_SIMPLE_HEADS = {value: 0xE0 + info for info, value in _SIMPLE.items()}
_FLOATS = {25: ">e", 26: ">f", 27: ">d"}
_UINT, _NEGATIVE, _BYTES, _TEXT, _ARRAY, _MAP, _TAG, _OTHER = range(8)


@dataclass(frozen=True)
class Time:
    """A time in milliseconds since the epoch."""

    epoch_ms: int


def encode(value: Any) -> bytes:
    """
    Return *value* as CBOR: None, bool, int of 64 bits, float, str, bytes, `Time`, and lists and dicts of these.

    Raises:
        TypeError, OverflowError: It has a value of another type, or a longer integer.
    """
    parts: list[bytes] = []
    _write(value, parts)
    return b"".join(parts)


def encode_head(kind: int, number: int) -> bytes:
    """Return the head of an item of a major type, with its value or length."""
    if number < 24:
        return bytes([kind << 5 | number])
    for info, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if number < 1 << 8 * size:
            return bytes([kind << 5 | info]) + number.to_bytes(size, "big")
    raise OverflowError(f"{number} has more than 64 bits")


def _write(value: Any, parts: list[bytes]) -> None:
    match value:
        case Time(epoch_ms):
            parts += (encode_head(_TAG, _TIME_TAG), _scalar(epoch_ms))
        case list():
            parts.append(encode_head(_ARRAY, len(value)))
            for item in value:
                _write(item, parts)
        case dict():
            parts.append(encode_head(_MAP, len(value)))
            for key, item in value.items():
                parts.append(_scalar(key))
                _write(item, parts)
        case _:
            parts.append(_scalar(value))


def _scalar(value: Any) -> bytes:
    match value:
        case None | bool():
            return bytes([_SIMPLE_HEADS[value]])
        case int():
            return encode_head(_UINT, value) if value >= 0 else encode_head(_NEGATIVE, -1 - value)
        case float():
            return b"\xfb" + struct.pack(">d", value)
        case bytes():
            return encode_head(_BYTES, len(value)) + value
        case str():
            text = value.encode()
            return encode_head(_TEXT, len(text)) + text
    raise TypeError(f"CBOR here has no {type(value).__name__}")


def decode(data: bytes) -> Any:
    """
    Return the value that *data* consists of, in the types that `encode` takes.

    Raises:
        ValueError: It is not one such value.
    """
    reader = _Reader(data)
    value = reader.value(_DEEPEST)
    if reader.index != len(data):
        raise ValueError("there are bytes after the value")
    return value


class _Reader:
    """The bytes, and the index of the next one. A length takes no memory before its items have come."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.index = 0

    def value(self, depth: int) -> Any:
        kind, info = divmod(self._take(1)[0], 32)
        if kind == _OTHER:
            return self._other(info)
        if depth == 0:
            raise ValueError("the value nests too deeply")
        number = None if info == _INDEFINITE else self._number(info)
        if kind in (_BYTES, _TEXT):
            return self._string(kind, number)
        if kind in (_ARRAY, _MAP):
            return (self._array if kind == _ARRAY else self._map)(number, depth - 1)
        if number is None:
            raise ValueError("a number or tag has an indefinite length")
        if kind == _TAG:
            return self._time(number, depth - 1)
        return number if kind == _UINT else -1 - number

    def _take(self, count: int) -> bytes:
        taken = self.data[self.index : self.index + count]
        if len(taken) < count:
            raise ValueError("the value is cut short")
        self.index += count
        return taken

    def _number(self, info: int) -> int:
        if info < 24:
            return info
        if info > 27:
            raise ValueError(f"the head has the reserved value {info}")
        return int.from_bytes(self._take(1 << info - 24), "big")

    def _other(self, info: int) -> Any:
        if info in _FLOATS:
            return struct.unpack(_FLOATS[info], self._take(1 << info - 24))[0]
        if info not in _SIMPLE:
            raise ValueError(f"the simple value {info} is not known")
        return _SIMPLE[info]

    def _ends(self) -> bool:
        """Skip the break that ends an indefinite length. Return False if something else comes next."""
        is_end = self.data[self.index : self.index + 1] == bytes([_BREAK])
        self.index += is_end
        return is_end

    def _string(self, kind: int, length: int | None) -> bytes | str:
        if length is not None:
            raw = self._take(length)
            return raw if kind == _BYTES else raw.decode()
        chunks: list[Any] = []
        while not self._ends():
            chunk_kind, info = divmod(self._take(1)[0], 32)
            if chunk_kind != kind or info == _INDEFINITE:
                raise ValueError("a string has a chunk of another type")
            chunks.append(self._string(kind, self._number(info)))
        return b"".join(chunks) if kind == _BYTES else "".join(chunks)

    def _array(self, length: int | None, depth: int) -> list[Any]:
        items: list[Any] = []
        while not self._ends() if length is None else len(items) < length:
            items.append(self.value(depth))
        return items

    def _map(self, length: int | None, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        while not self._ends() if length is None else len(members) < length:
            key = self.value(depth)
            if not isinstance(key, str) or key in members:
                raise ValueError(f"the key {key!r} is not text, or occurs twice")
            members[key] = self.value(depth)
        return members

    def _time(self, tag: int, depth: int) -> Time:
        value = self.value(depth)
        if tag != _TIME_TAG or isinstance(value, bool) or not isinstance(value, int):
            raise ValueError("a tag is not a time in milliseconds")
        return Time(value)
