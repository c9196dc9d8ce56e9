"""
The form of a record as text: `%t %k %s`.

Everything that is not printable is shown escaped, so that no payload can control the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from kinesis_cli.ending import UsageError
from kinesis_cli.output import show_time

if TYPE_CHECKING:
    from kinesis_core import UserRecord

DEFAULT_TEMPLATE = "%t %k %s"
_NOTHING = "-"
_SPECIAL = re.compile(r"%(.)|\\([nt0\\])")
_ESCAPES = {"n": "\n", "t": "\t", "0": "\0", "\\": "\\"}
_TOKENS = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*|true|false|null)')
_DIM, _KEY, _NAME, _TEXT, _NUMBER, _PLAIN = "\33[2m", "\33[36m", "\33[34m", "\33[32m", "\33[33m", "\33[0m"

Field = Callable[["UserRecord"], str]


def show_payload(data: bytes) -> str:
    """Return *data* as one line of printable text: JSON without line breaks, other text and bytes with escapes."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1").translate(_BYTES)
    if text.isprintable():
        return text
    if data[:1] in (b"{", b"["):
        with suppress(msgspec.MsgspecError, ValueError, RecursionError):
            text = msgspec.json.format(data, indent=-1).decode()
    return escape(text)


def escape(text: str) -> str:
    """Return *text* with escapes such as `\\n` and `\\x1b` for what is not printable."""
    text = text.translate(_CONTROLS)
    return text if text.isprintable() else "".join(map(_escape_one, text))


def _escape_one(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


_CONTROLS = {number: _escape_one(chr(number)) for number in (*range(0x20), *range(0x7F, 0xA0))}
"""The most frequent ones, which `str.translate` replaces at once."""
_BYTES = {**_CONTROLS, **{number: f"\\x{number:02x}" for number in range(0x80, 0x100)}}
"""The same for bytes that are not text."""


def paint_json(text: str) -> str:
    """Return *text* with colours for the names, texts and numbers of JSON."""

    def paint(match: re.Match[str]) -> str:
        quoted, colon, number = match.groups()
        if quoted is None:
            return f"{_NUMBER}{number}{_PLAIN}"
        return f"{_TEXT if colon is None else _NAME}{quoted}{_PLAIN}{colon or ''}"

    # The pattern takes long for what is no JSON.
    return _TOKENS.sub(paint, text) if text[:1] in ("{", "[") and _is_json(text) else text


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False
    return True


_FIELDS: dict[str, tuple[str, Field]] = {
    "t": ("arrival time", lambda record: show_time(record.arrived_ms)),
    "T": ("arrival time in milliseconds since 1970", lambda record: str(record.arrived_ms or _NOTHING)),
    "k": ("partition key", lambda record: _show_key(record.partition_key)),
    "h": ("explicit hash key", lambda record: _show_key(record.explicit_hash_key)),
    "s": ("payload", lambda record: show_payload(record.data)),
    "S": ("size of the payload in bytes", lambda record: str(len(record.data))),
    "p": ("shard", lambda record: record.shard_id),
    "q": ("sequence number", lambda record: record.sequence_number),
    "u": ("sub-sequence number", lambda record: str(record.sub_sequence_number)),
}
_PAINTED: dict[str, Field] = {
    "t": lambda record: f"{_DIM}{show_time(record.arrived_ms)}{_PLAIN}",
    "p": lambda record: f"{_DIM}{record.shard_id}{_PLAIN}",
    "k": lambda record: f"{_KEY}{_show_key(record.partition_key)}{_PLAIN}",
    "s": lambda record: paint_json(show_payload(record.data)),
}


def _show_key(key: str | None) -> str:
    return _NOTHING if key is None else escape(key)


def compile_template(template: str, colour: bool) -> Field:
    """
    Return a function that shows a record, without a newline at the end.

    Raises:
        UsageError: The template has an unknown field.
    """
    parts: list[str | Field] = []
    end = 0
    for match in _SPECIAL.finditer(template):
        parts += [template[end : match.start()], _part(match, colour)]
        end = match.end()
    if template[end:].endswith("%"):
        raise _unknown("%")
    parts.append(template[end:])
    return lambda record: "".join([part if isinstance(part, str) else part(record) for part in parts])


def _part(match: re.Match[str], colour: bool) -> str | Field:
    name, escaped = match.groups()
    if escaped is not None:
        return _ESCAPES[escaped]
    if name == "%":
        return "%"
    if name not in _FIELDS:
        raise _unknown(f"%{name}")
    return _PAINTED[name] if colour and name in _PAINTED else _FIELDS[name][1]


def _unknown(found: str) -> UsageError:
    known = ", ".join(f"%{name} ({meaning})" for name, (meaning, _) in _FIELDS.items())
    return UsageError(f"-f has an unknown field '{found}'. Fields: {known}, %% (a percent sign).")
