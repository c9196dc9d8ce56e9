"""The keys of records: a constant, or a field of each record's JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from attrs import field, frozen

from kinesis_cli.ending import UsageError
from kinesis_core.aggregation import is_hash_key

_STEP = re.compile(
    r'\.?\[(\d+)\]|\.([A-Za-z_][A-Za-z0-9_-]*)|\.?\["((?:[^"\\]|\\.)*)"\]|\."((?:[^"\\]|\\.)*)"'
)
_NOT_FOUND = object()
_MAX_CHARS = 256
"""Of a partition key."""
_FAULTS = (msgspec.MsgspecError, ValueError, RecursionError)
"""What msgspec raises for bytes that are no JSON."""


def _decode() -> Callable[[bytes], Any]:
    # A number with a point stays the text that it is: keys are compared as text.
    return msgspec.json.Decoder(float_hook=str).decode


@frozen
class KeyRule:
    """The key of each record: *constant*, or what is at *path* in its JSON."""

    option: str
    text: str
    constant: str | None = None
    path: tuple[str | int, ...] = ()
    _read: Callable[[bytes], Any] = field(factory=_decode, repr=False, eq=False)

    def column(self, data: Sequence[bytes]) -> tuple[list[str | None], dict[int, str]]:
        """Return the key of each record, and why some have none, by index."""
        if self.constant is not None:
            return [self.constant] * len(data), {}
        keys: list[str | None] = []
        faults: dict[int, str] = {}
        for index, record in enumerate(data):
            try:
                keys.append(self._find(record))
            except _FAULTS as error:
                keys.append(None)
                faults[index] = str(error) if isinstance(error, _NoKeyError) else "is not JSON"
        return keys, faults

    def _find(self, record: bytes) -> str:
        value = self._read(record)
        for step in self.path:
            value = _step(value, step)
        match value:
            case str():
                return value
            case bool():
                return "true" if value else "false"
            case int():
                return str(value)
        if value is _NOT_FOUND:
            raise _NoKeyError(f"has no {self.text}")
        kind = "an object" if isinstance(value, dict) else "an array" if isinstance(value, list) else "null"
        raise _NoKeyError(f"has {kind} at {self.text}, which is not a key")


class _NoKeyError(ValueError):
    """A record is JSON, and has no key."""


def _step(value: Any, step: str | int) -> Any:
    match value:
        case dict():
            return value.get(step, _NOT_FOUND)
        case list() if isinstance(step, int) and step < len(value):
            return value[step]
        case _:
            return _NOT_FOUND


def parse_key(text: str, option: str) -> KeyRule:
    """
    Return the rule that *text* names: `.customer.id` is a field, `=TEXT` is the constant TEXT, and so is any other text.

    Raises:
        UsageError: It begins with a dot and is not a path. The message names *option*.
    """
    if text.startswith("="):
        return KeyRule(option, text, constant=text[1:])
    if not text.startswith("."):
        return KeyRule(option, text, constant=text)
    steps: list[str | int] = []
    end = 0
    while end < len(text) and (found := _STEP.match(text, end)):
        index, plain, bracketed, quoted = found.groups()
        name = plain if plain is not None else _unquoted(bracketed if bracketed is not None else quoted)
        steps.append(int(index) if index is not None else name)
        end = found.end()
    if end < len(text) or not steps:
        raise UsageError(
            f"{option} does not accept '{text}'. A field is a path such as .customer, .customer.id, .items[0] or "
            f'."customer id"; a constant that begins with a dot is written ={text}'
        )
    return KeyRule(option, text, path=tuple(steps))


def check_constants(key: KeyRule | None, hash_key: KeyRule | None) -> None:
    """
    Check what all records would have.

    Raises:
        UsageError: A constant is not a partition key, or not an explicit hash key.
    """
    if key and key.constant is not None:
        if not 1 <= len(key.constant) <= _MAX_CHARS:
            raise UsageError(
                f"{key.option} has {len(key.constant)} characters. Use 1 to {_MAX_CHARS}. Nothing was written."
            )
        if not key.constant.isascii() and key.constant.encode(errors="ignore").decode() != key.constant:
            raise UsageError(f"{key.option} is {key.constant!a}. Use text in UTF-8. Nothing was written.")
    if hash_key and hash_key.constant is not None and not is_hash_key(hash_key.constant):
        raise UsageError(
            f"{hash_key.option} is '{hash_key.constant}'. Use a whole number from 0 to 2**128 - 1. Nothing was written."
        )


def _unquoted(text: str | None) -> str:
    try:
        return str(msgspec.json.decode(f'"{text or ""}"'.encode()))
    except (msgspec.MsgspecError, ValueError) as error:
        raise UsageError(f'A name in a path is quoted as in JSON; got "{text}".') from error
