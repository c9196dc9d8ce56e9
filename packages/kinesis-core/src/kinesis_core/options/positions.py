"""Parsers of starting and ending positions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve

from kinesis_core.errors import OffsetError
from kinesis_core.model import (
    OFFSET_VERSION,
    After,
    At,
    AtTimestamp,
    Cut,
    EndingPosition,
    ForeignCheckpoint,
    KclApplication,
    Latest,
    PerShard,
    PerStream,
    ShardEnd,
    StartingPosition,
    TrimHorizon,
)
from kinesis_core.options.foreign import (
    Document,
    is_application,
    is_checkpoint,
    is_databricks_time,
    read_application,
    read_checkpoint,
    read_databricks_time,
    read_number,
)
from kinesis_core.options.option import BadValueError, Parser, show_in_code
from kinesis_core.options.times import parse_time
from kinesis_credentials.advice import Advice
from kinesis_credentials.base import shorten

_TIMESTAMP = re.compile(r"AT_TIMESTAMP\s+(\S.*)", re.IGNORECASE | re.DOTALL)
_SHARD_ID = re.compile(r"shardId-[a-zA-Z0-9_.-]{1,120}")
_STREAM = re.compile(r"[a-zA-Z0-9_.-]{1,128}|arn:\S+")
_BETWEEN = re.compile(r"(?:\s|v\d+(?=\s)|-(?=\s|$))*")
"""Text between the JSON objects of Spark's offset log: its version, and a dash for a source without an offset."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_FORMS = (
    "LATEST",
    "a time such as 2026-01-31T09:00:00Z",
    "AT_TIMESTAMP with seconds or milliseconds since the epoch",
)
_BY_SHARD = 'a position for each shard such as {"shardId-000000000000": "LATEST"}'


def _any_of(*forms: str) -> str:
    return f"{', '.join(forms[:-1])}, or {forms[-1]}"


STARTS_OF_ALL_SHARDS = _any_of("TRIM_HORIZON", *_FORMS)
"""The forms of a start that is the same for all shards, as a sentence lists them."""


def starting_position() -> Parser[StartingPosition]:
    """Return a parser of positions to start reading from. Only positions that are a word can be shown."""
    words = {"TRIM_HORIZON": TrimHorizon(), "EARLIEST": TrimHorizon(), "LATEST": Latest()}
    domain = _any_of("TRIM_HORIZON (or EARLIEST)", *_FORMS, _BY_SHARD)
    return Parser(domain, lambda text: _parse(text, words), show=_show_by(words))


def ending_position() -> Parser[EndingPosition]:
    """Return a parser of positions where a batch read ends. Only positions that are a word can be shown."""
    words = {"LATEST": Latest()}
    domain = _any_of(*_FORMS, _BY_SHARD)
    return Parser(domain, lambda text: _parse_end(text, words), show=_show_by(words))


Words = Mapping[str, Any]
"""The positions that are written as one word."""


def _show_by(words: Words) -> Callable[[object], str]:
    return lambda position: show_in_code(next(word for word, each in words.items() if each == position))


def _parse(text: str, words: Words) -> Any:
    begin = _end_of_filler(text, 0)
    if text[begin : begin + 1] == "{":
        try:
            return _position(_read_json(text, begin), words)
        except RecursionError:
            raise BadValueError("The JSON is nested too deeply.") from None
    return _parse_word(text, words)


def _parse_end(text: str, words: Words) -> Any:
    try:
        position = _parse(text, words)
    except OffsetError as error:
        raise OffsetError(error.what, advice=Advice.GIVE_END) from error
    parts = position.positions.values() if isinstance(position, PerStream) else [position]
    if any(isinstance(part, (ForeignCheckpoint, KclApplication)) for part in parts):
        raise BadValueError("A checkpoint is a starting position, not an ending position.")
    return position


def _parse_word(text: str, words: Words) -> Any:
    if match := _TIMESTAMP.fullmatch(text):
        return AtTimestamp(_parse_time(match[1].strip()))
    if _DATE.match(text):
        return AtTimestamp(_parse_time(text.strip()))
    try:
        return words[text.upper()]
    except KeyError:
        hint = "A number is a time only after AT_TIMESTAMP." if text.strip().isdigit() else ""
        raise BadValueError(hint) from None


def _parse_time(text: str) -> int:
    try:
        return parse_time(text)
    except BadValueError as error:
        raise BadValueError(error.hint or "An example of a time is 2026-01-31T09:00:00Z.") from None


def _read_json(text: str, begin: int) -> list[Document]:
    """Return the JSON objects in *text*: usually one, or several for the files of a checkpoint."""
    decoder = json.JSONDecoder(object_pairs_hook=_refuse_repeated_names)
    documents: list[Document] = []
    while begin < len(text):
        try:
            document, begin = decoder.raw_decode(text, begin)
        except BadValueError:
            raise
        except ValueError as error:
            raise BadValueError(f"The text is not JSON: {error}.") from None
        if not isinstance(document, dict):
            raise BadValueError("Each part of the text must be a JSON object.")
        documents.append(document)
        begin = _end_of_filler(text, begin)
    return documents


def _end_of_filler(text: str, begin: int) -> int:
    match = _BETWEEN.match(text, begin)
    return match.end() if match else begin


def _refuse_repeated_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise BadValueError("The JSON object has a name twice.")
    return document


def _position(documents: list[Document], words: Words, in_stream: bool = False) -> Any:
    for document in documents:
        _refuse_saved_offset(document)
    pasted = [document for document in documents if is_checkpoint(document)]
    others = [document for document in documents if not is_checkpoint(document)]
    if pasted:
        by_hand = {s: cut for each in others for s, cut in _parse_map(each, words).cuts.items()}
        return read_checkpoint(pasted, by_hand)
    if len(others) > 1 and is_application(others[0]):
        application = _parse_object(others[0], words, in_stream)
        by_hand = {s: cut for each in others[1:] for s, cut in _parse_map(each, words).cuts.items()}
        return evolve(application, cuts={**application.cuts, **by_hand})
    if len(others) > 1:
        raise BadValueError("Several JSON objects are accepted only for the files of a checkpoint.")
    return _parse_object(others[0], words, in_stream)


def _refuse_saved_offset(document: Document) -> None:
    """Refuse an offset. Its version is a number; the position of a stream with the name 'version' is a text or an object."""
    version = document.get("version", "")
    if version is None or isinstance(version, (int, float)):
        if type(version) is int and version == OFFSET_VERSION:
            raise OffsetError("The text is a saved offset, not a position.", advice=Advice.GIVE_POSITION)
        raise OffsetError(
            f"The saved offset has version {json.dumps(version)}. This release reads version {OFFSET_VERSION}.",
            advice=Advice.USE_ITS_RELEASE,
        )


def _parse_object(document: Document, words: Words, in_stream: bool) -> Any:
    if not document:
        raise BadValueError("The JSON object must have at least one shard.")
    if is_application(document):
        return read_application(document, lambda shards: _parse_map(shards, words).cuts)
    if is_databricks_time(document):
        return AtTimestamp(read_databricks_time(document))
    if any(_SHARD_ID.fullmatch(key) for key in document) or not all(map(_STREAM.fullmatch, document)):
        return _parse_map(document, words)
    if in_stream:
        raise BadValueError()
    return PerStream({stream: _parse_in_stream(stream, value, words) for stream, value in document.items()})


def _parse_in_stream(stream: str, value: Any, words: Words) -> Any:
    try:
        return (
            _parse_word(value.strip(), words) if isinstance(value, str) else _position([value], words, True)
        )
    except (BadValueError, AttributeError, TypeError) as error:
        hint = f" {error.hint}" if isinstance(error, BadValueError) else ""
        raise BadValueError(f"The position of stream {stream!r} is not valid.{hint}") from None


def _parse_map(document: Document, words: Words) -> PerShard:
    for shard_id in document:
        if not _SHARD_ID.fullmatch(shard_id):
            raise BadValueError(f"{shorten(shard_id)!r} is not a shard id such as shardId-000000000000.")
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
        raise BadValueError(f"The position of {shard_id} is not valid.{hint}") from None
    raise BadValueError(f"The position of {shard_id} is not valid.")


_CUT_KINDS: dict[str, Callable[[str], Cut]] = {
    "AT_TIMESTAMP": lambda text: AtTimestamp(parse_time(text.strip())),
    "AT": lambda text: At(read_number(text)),
    "AT_SEQUENCE_NUMBER": lambda text: At(read_number(text)),
    "AFTER": lambda text: After(read_number(text)),
    "AFTER_SEQUENCE_NUMBER": lambda text: After(read_number(text)),
}
