"""
The part of CBOR that AWS's SDKs speak to Kinesis, strictly.

A time is tag 1 with milliseconds as an integer, where RFC 8949 has seconds. Strings, arrays and maps may have an indefinite length.
Keys are text. Everything else is refused: other tags, repeated keys, bytes after the value, deep nesting.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_DEEPEST = 32
_INDEFINITE = 31
_BREAK = 0xFF
_TIME_TAG = 1
_SIMPLE = {20: False, 21: True, 22: None}
_SIMPLE_HEADS = {value: 0xE0 + info for info, value in _SIMPLE.items()}
_FLOATS = {25: ">e", 26: ">f", 27: ">d"}
_UINT, _NEGATIVE, BYTES, _TEXT, ARRAY, MAP, _TAG, _OTHER = range(8)
_STRINGS = (_TEXT, BYTES)
_CUT = "the value is cut short"


@dataclass(frozen=True)
class Time:
    """A time in milliseconds since the epoch."""

    epoch_ms: int


def encode(value: Any) -> bytes:
    """
    Return *value* as CBOR: None, bool, int of 64 bits, float, str, bytes, `Time`, and lists and dicts of these.

    Half a character of UTF-16, which JSON can have in a text, becomes a question mark.

    Raises:
        TypeError, OverflowError: It has a value of another type, or a longer integer.
    """
    parts: list[bytes] = []
    _write(value, parts.append)
    return b"".join(parts)


@lru_cache(1024)
def encode_head(kind: int, number: int) -> bytes:
    """Return the head of an item of a major type, with its value or length."""
    if number < 24:
        return bytes([kind << 5 | number])
    for info, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if number < 1 << 8 * size:
            return bytes([kind << 5 | info]) + number.to_bytes(size, "big")
    raise OverflowError(f"{number} has more than 64 bits")


def _write(value: Any, add: Callable[[bytes], None]) -> None:
    """Give the parts of *value* to *add*."""
    kind = type(value)
    if kind is str:
        add(encode_text(value))
    elif kind is dict:
        add(encode_head(MAP, len(value)))
        for name, item in value.items():
            add(_name(name))
            _write(item, add)
    elif kind is list:
        add(encode_head(ARRAY, len(value)))
        for item in value:
            _write(item, add)
    else:
        add(_scalar(value))


_TIME_HEAD = encode_head(_TAG, _TIME_TAG)


def encode_text(text: str) -> bytes:
    """Return a text as CBOR."""
    raw = text.encode(errors="replace")
    return encode_head(_TEXT, len(raw)) + raw


def encode_time(epoch_ms: int) -> bytes:
    """Return a time as CBOR."""
    return _TIME_HEAD + _scalar(epoch_ms)


_name = lru_cache(1024)(encode_text)


def _scalar(value: Any) -> bytes:
    match value:
        case None | bool():
            return bytes([_SIMPLE_HEADS[value]])
        case int():
            return encode_head(_UINT, value) if value >= 0 else encode_head(_NEGATIVE, -1 - value)
        case float():
            return b"\xfb" + struct.pack(">d", value)
        case bytes():
            return encode_head(BYTES, len(value)) + value
        case Time(epoch_ms):
            return encode_time(epoch_ms)
    raise TypeError(f"CBOR here has no {type(value).__name__}")


def decode(data: bytes) -> Any:
    """
    Return the value that *data* consists of, in the types that `encode` takes.

    Raises:
        ValueError: It is not one such value.
    """
    reader = _Reader(data)
    try:
        value = reader.value(_DEEPEST)
    except IndexError:
        raise ValueError(_CUT) from None
    if reader.index != len(data):
        raise ValueError("there are bytes after the value")
    return value


class _Reader:
    """The bytes, and the index of the next one. A length takes no memory before its items have come."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.index = 0
        self._size = len(data)

    def value(self, depth: int) -> Any:
        head = self.data[self.index]
        self.index += 1
        kind, info = head >> 5, head & 31
        if kind == _OTHER:
            return self._other(info)
        number = info if info < 24 else self._length(info)
        if kind not in _STRINGS or number is None:
            return self._composed(kind, number, depth)
        start = self.index
        end = self.index = start + number
        if end > self._size:
            raise ValueError(_CUT)
        raw = self.data[start:end]
        return raw if kind == BYTES else raw.decode()

    def _composed(self, kind: int, number: int | None, depth: int) -> Any:
        if depth == 0:
            raise ValueError("the value nests too deeply")
        if kind == MAP:
            return self._map(number, depth - 1)
        if kind == ARRAY:
            return self._array(number, depth - 1)
        if number is None:
            return self._parts(kind)
        if kind == _TAG:
            return self._time(number, depth - 1)
        return number if kind == _UINT else -1 - number

    def _length(self, info: int) -> int | None:
        """Return the number of a head with *info*, which can be in the bytes after it. None is an indefinite length."""
        if info == 24:
            self.index += 1
            return self.data[self.index - 1]
        if info == _INDEFINITE:
            return None
        if info > 27:
            raise ValueError(f"the head has the reserved value {info}")
        return int.from_bytes(self._take(1 << info - 24), "big")

    def _take(self, count: int) -> bytes:
        start = self.index
        self.index += count
        taken = self.data[start : self.index]
        if len(taken) < count:
            raise ValueError(_CUT)
        return taken

    def _other(self, info: int) -> Any:
        if info in _FLOATS:
            return struct.unpack(_FLOATS[info], self._take(1 << info - 24))[0]
        if info not in _SIMPLE:
            raise ValueError(f"the simple value {info} is not known")
        return _SIMPLE[info]

    def _items(self, length: int | None) -> Iterable[object]:
        """Iterate once for each item of an array, a map or a string in parts."""
        return iter(self._ends, True) if length is None else range(length)

    def _ends(self) -> bool:
        """Skip the break that ends an indefinite length. Return False if something else comes next."""
        is_end = self.data[self.index] == _BREAK
        self.index += is_end
        return is_end

    def _parts(self, kind: int) -> bytes | str:
        """Return a string in parts, each of which has its length."""
        if kind not in _STRINGS:
            raise ValueError("a number or tag has an indefinite length")
        parts = [self._part(kind) for _ in self._items(None)]
        return b"".join(parts) if kind == BYTES else "".join(parts)

    def _part(self, kind: int) -> Any:
        head = self.data[self.index]
        if head >> 5 != kind or head & 31 == _INDEFINITE:
            raise ValueError("a string has a part of another type")
        return self.value(1)

    def _array(self, length: int | None, depth: int) -> list[Any]:
        return [self.value(depth) for _ in self._items(length)]

    def _map(self, length: int | None, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for _ in self._items(length):
            key = self.value(depth)
            if type(key) is not str or key in members:
                raise ValueError(f"the key {key!r} is not text, or occurs twice")
            members[key] = self.value(depth)
        return members

    def _time(self, tag: int, depth: int) -> Time:
        value = self.value(depth)
        if tag != _TIME_TAG or isinstance(value, bool) or not isinstance(value, int):
            raise ValueError("a tag is not a time in milliseconds")
        return Time(value)
