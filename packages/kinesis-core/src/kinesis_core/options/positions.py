"""Where reading begins and ends, as users write it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from kinesis_core.cuts import After, At, AtTimestamp, Cut, ShardEnd, TrimHorizon
from kinesis_core.options.option import BadValueError, Parser
from kinesis_core.options.times import parse_java_time, parse_time


@frozen
class Latest:
    """Behind the newest record at the moment of planning."""


@frozen
class PerShard:
    """
    A position for each shard by its id.

    Of the shards that are not named, the ancestors of named ones count as read, and any other begins with its
    oldest record; as an end, an unnamed shard is read to its tip.
    """

    cuts: Mapping[str, Cut | Latest]


StartingPosition = Latest | TrimHorizon | AtTimestamp | PerShard
EndingPosition = Latest | AtTimestamp | PerShard

_TIMESTAMP = re.compile(r"AT_TIMESTAMP\s+(\S.*)", re.IGNORECASE | re.DOTALL)
_SHARD_ID = re.compile(r"shardId-[a-zA-Z0-9_.-]{1,120}")
_NUMBER = re.compile(r"\d{1,129}")
_FORMS = "AT_TIMESTAMP with an ISO 8601 time or seconds or milliseconds since the epoch, or JSON"
_CHECKPOINT_HINT = (
    "This is the checkpoint of another connector, and going on from one is not supported in this version yet. "
    'Give the shards\' sequence numbers as {"shardId-...": {"AFTER": "number"}}.'
)


def starting_position() -> Parser[StartingPosition]:
    """Return a parser of the places to start reading from."""
    words = {"LATEST": Latest(), "TRIM_HORIZON": TrimHorizon(), "EARLIEST": TrimHorizon()}
    return Parser(f"LATEST, TRIM_HORIZON, EARLIEST, {_FORMS}", lambda text: _parse(text, words))


def ending_position() -> Parser[EndingPosition]:
    """Return a parser of the places where a batch read ends."""
    words = {"LATEST": Latest()}
    return Parser(f"LATEST, {_FORMS}", lambda text: _parse(text, words))


Words = Mapping[str, Any]
"""The positions that a bare word stands for."""


def _parse(text: str, words: Words) -> Any:
    if text.startswith("{"):
        return _parse_json(text, words)
    return _parse_word(text, words)


def _parse_word(text: str, words: Words) -> Any:
    if match := _TIMESTAMP.fullmatch(text):
        return AtTimestamp(parse_time(match[1].strip()))
    try:
        return words[text.upper()]
    except KeyError:
        raise BadValueError() from None


def _parse_json(text: str, words: Words) -> AtTimestamp | PerShard:
    try:
        document: dict[str, Any] = json.loads(text, object_pairs_hook=_refuse_twins)
    except ValueError as error:
        if isinstance(error, BadValueError):
            raise
        raise BadValueError(f"It is not JSON: {error}.") from None
    except RecursionError:
        raise BadValueError("It is nested too deeply.") from None
    keys = {key.lower() for key in document}
    if "at_timestamp" in keys:
        return _parse_databricks_time(document)
    if "metadata" in keys or any(isinstance(v, dict) and "iteratorType" in v for v in document.values()):
        raise BadValueError(_CHECKPOINT_HINT)
    return _parse_map(document, words)


def _refuse_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise BadValueError("It has one name twice.")
    return document


def _parse_databricks_time(document: dict[str, Any]) -> AtTimestamp:
    parts = {key.lower(): value for key, value in document.items()}
    if set(parts) - {"at_timestamp", "format"} or len(parts) < len(document):
        raise BadValueError("Beside at_timestamp there may be format only.")
    if isinstance(parts["at_timestamp"], int) and not isinstance(parts["at_timestamp"], bool):
        parts["at_timestamp"] = str(parts["at_timestamp"])
    if not all(isinstance(value, str) for value in parts.values()):
        raise BadValueError("at_timestamp and format are texts.")
    time = parts["at_timestamp"].strip()
    return AtTimestamp(parse_java_time(time, parts["format"]) if "format" in parts else parse_time(time))


def _parse_map(document: dict[str, Any], words: Words) -> PerShard:
    for shard_id in document:
        if not _SHARD_ID.fullmatch(shard_id):
            raise BadValueError(f"{shard_id!r} is not the id of a shard, such as shardId-000000000000.")
    if not document:
        raise BadValueError("Name at least one shard.")
    return PerShard({shard_id: _parse_cut(shard_id, value, words) for shard_id, value in document.items()})


def _parse_cut(shard_id: str, value: Any, words: Words) -> Cut | Latest:
    try:
        if isinstance(value, str):
            if value.upper() == "SHARD_END":
                return ShardEnd()
            return _parse_word(value.strip(), words)  # type: ignore[no-any-return] # the words are cuts or Latest
        if isinstance(value, dict) and len(value) == 1:
            [(kind, argument)] = value.items()
            return _CUT_KINDS[kind.upper()](str(argument))
    except (BadValueError, KeyError) as error:
        hint = f" {error.hint}" if isinstance(error, BadValueError) else ""
        raise BadValueError(f"The position of {shard_id} is not one.{hint}") from None
    raise BadValueError(f"The position of {shard_id} is not one.")


def _read_number(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise BadValueError("A sequence number is 1 to 129 digits.")
    return int(text)


_CUT_KINDS: dict[str, Callable[[str], Cut]] = {
    "AT_TIMESTAMP": lambda text: AtTimestamp(parse_time(text.strip())),
    "AT": lambda text: At(_read_number(text)),
    "AT_SEQUENCE_NUMBER": lambda text: At(_read_number(text)),
    "AFTER": lambda text: After(_read_number(text)),
    "AFTER_SEQUENCE_NUMBER": lambda text: After(_read_number(text)),
}
