"""Parsers of starting and ending positions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve, frozen

from kinesis_core.clock import SystemClock
from kinesis_core.errors import OffsetError
from kinesis_core.model import (
    OFFSET_VERSIONS,
    OFFSET_VERSIONS_TEXT,
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
from kinesis_core.options.times import EXAMPLE, parse_moment
from kinesis_credentials.advice import Advice
from kinesis_credentials.base import shorten

_TIMESTAMP = re.compile(r"AT_TIMESTAMP\s+(\S.*)", re.IGNORECASE | re.DOTALL)
_SHARD_ID = re.compile(r"shardId-[a-zA-Z0-9_.-]{1,120}")
_STREAM = re.compile(r"[a-zA-Z0-9_.-]{1,128}|arn:\S+")
_BETWEEN = re.compile(r"(?:\s|v\d+(?=\s)|-(?=\s|$))*")
"""Text between the JSON objects of Spark's offset log: its version, and a dash for a source without an offset."""
_NUMBER = re.compile(r"[\d.]+")
_MOMENT = re.compile(r"\d|[+-]|pt?\d|in\s", re.IGNORECASE)
_FORMS = (
    "LATEST",
    "a time such as 2026-01-31T09:00:00Z",
    "a time before now such as 3h ago",
    "AT_TIMESTAMP with seconds or milliseconds since the epoch",
)
_BY_SHARD = 'a position for each shard such as {"shardId-000000000000": "LATEST"}'


def _any_of(*forms: str) -> str:
    return f"{', '.join(forms[:-1])}, or {forms[-1]}"


STARTS_OF_ALL_SHARDS = _any_of("TRIM_HORIZON", *_FORMS)
"""The forms of a start that is the same for all shards, as a sentence lists them."""


NowMs = Callable[[], int]
"""Returns the time from which durations count back, in milliseconds since the epoch."""


def _system_now_ms() -> int:
    return int(SystemClock().now_s() * 1000)


def starting_position(now_ms: NowMs = _system_now_ms, zone: str = "") -> Parser[StartingPosition]:
    """
    Return a parser of positions to start reading from. Only positions that are a word can be shown.

    A duration becomes a time when it is parsed. *zone* is that of times without one; without it they are refused.
    """
    words = {"TRIM_HORIZON": TrimHorizon(), "EARLIEST": TrimHorizon(), "LATEST": Latest()}
    domain = _any_of("TRIM_HORIZON (or EARLIEST)", *_FORMS, _BY_SHARD)
    return Parser(domain, lambda text: _parse(text, _Forms(words, now_ms(), zone)), show=_show_by(words))


def ending_position(now_ms: NowMs = _system_now_ms, zone: str = "") -> Parser[EndingPosition]:
    """Return a parser of positions where a batch read ends, as `starting_position` does for starts."""
    words = {"LATEST": Latest()}
    domain = _any_of(*_FORMS, _BY_SHARD)
    return Parser(domain, lambda text: _parse_end(text, _Forms(words, now_ms(), zone)), show=_show_by(words))


Words = Mapping[str, Any]
"""The positions that are written as one word."""


@frozen
class _Forms:
    """What a position may be made of."""

    words: Words
    now_ms: int
    zone: str

    def moment(self, text: str) -> AtTimestamp:
        try:
            return AtTimestamp(parse_moment(text.strip(), self.now_ms, self.zone))
        except BadValueError as error:
            raise BadValueError(error.hint or f"{EXAMPLE} A duration is 3h or PT3H.") from None


def _show_by(words: Words) -> Callable[[object], str]:
    return lambda position: show_in_code(next(word for word, each in words.items() if each == position))


def _parse(text: str, forms: _Forms) -> Any:
    begin = _end_of_filler(text, 0)
    if text[begin : begin + 1] == "{":
        try:
            return _position(_read_json(text, begin), forms)
        except RecursionError:
            raise BadValueError("The JSON is nested too deeply.") from None
    return _parse_word(text, forms)


def _parse_end(text: str, forms: _Forms) -> Any:
    try:
        position = _parse(text, forms)
    except OffsetError as error:
        raise OffsetError(error.what, advice=Advice.GIVE_END) from error
    parts = position.positions.values() if isinstance(position, PerStream) else [position]
    if any(isinstance(part, (ForeignCheckpoint, KclApplication)) for part in parts):
        raise BadValueError("A checkpoint is a starting position, not an ending position.")
    return position


def _parse_word(text: str, forms: _Forms) -> Any:
    if match := _TIMESTAMP.fullmatch(text):
        return forms.moment(match[1])
    if _NUMBER.fullmatch(text.strip()):
        raise BadValueError("A number is a time only after AT_TIMESTAMP. A duration has a unit, as in 10m.")
    if _MOMENT.match(text):
        return forms.moment(text)
    try:
        return forms.words[text.upper()]
    except KeyError:
        raise BadValueError() from None


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


def _position(documents: list[Document], forms: _Forms, in_stream: bool = False) -> Any:
    for document in documents:
        _refuse_saved_offset(document)
    pasted = [document for document in documents if is_checkpoint(document)]
    others = [document for document in documents if not is_checkpoint(document)]
    if pasted:
        by_hand = {s: cut for each in others for s, cut in _parse_map(each, forms).cuts.items()}
        return read_checkpoint(pasted, by_hand)
    if len(others) > 1 and is_application(others[0]):
        application = _parse_object(others[0], forms, in_stream)
        by_hand = {s: cut for each in others[1:] for s, cut in _parse_map(each, forms).cuts.items()}
        return evolve(application, cuts={**application.cuts, **by_hand})
    if len(others) > 1:
        raise BadValueError("Several JSON objects are accepted only for the files of a checkpoint.")
    return _parse_object(others[0], forms, in_stream)


def _refuse_saved_offset(document: Document) -> None:
    """Refuse an offset. Its version is a number; the position of a stream with the name 'version' is a text or an object."""
    version = document.get("version", "")
    if version is None or isinstance(version, (int, float)):
        if type(version) is int and version in OFFSET_VERSIONS:
            raise OffsetError("The text is a saved offset, not a position.", advice=Advice.GIVE_POSITION)
        raise OffsetError(
            f"The saved offset has version {json.dumps(version)}. This release reads versions {OFFSET_VERSIONS_TEXT}.",
            advice=Advice.USE_ITS_RELEASE,
        )


def _parse_object(document: Document, forms: _Forms, in_stream: bool) -> Any:
    if not document:
        raise BadValueError("The JSON object must have at least one shard.")
    if is_application(document):
        return read_application(document, lambda shards: _parse_map(shards, forms).cuts)
    if is_databricks_time(document):
        return AtTimestamp(read_databricks_time(document))
    if any(_SHARD_ID.fullmatch(key) for key in document) or not all(map(_STREAM.fullmatch, document)):
        return _parse_map(document, forms)
    if in_stream:
        raise BadValueError()
    return PerStream({stream: _parse_in_stream(stream, value, forms) for stream, value in document.items()})


def _parse_in_stream(stream: str, value: Any, forms: _Forms) -> Any:
    try:
        return (
            _parse_word(value.strip(), forms) if isinstance(value, str) else _position([value], forms, True)
        )
    except (BadValueError, AttributeError, TypeError) as error:
        hint = f" {error.hint}" if isinstance(error, BadValueError) else ""
        raise BadValueError(f"The position of stream {stream!r} is not valid.{hint}") from None


def _parse_map(document: Document, forms: _Forms) -> PerShard:
    for shard_id in document:
        if not _SHARD_ID.fullmatch(shard_id):
            raise BadValueError(f"{shorten(shard_id)!r} is not a shard id such as shardId-000000000000.")
    return PerShard({shard_id: _parse_cut(shard_id, value, forms) for shard_id, value in document.items()})


def _parse_cut(shard_id: str, value: Any, forms: _Forms) -> Cut | Latest:
    try:
        if isinstance(value, str):
            if value.upper() == "SHARD_END":
                return ShardEnd()
            return _parse_word(value.strip(), forms)  # type: ignore[no-any-return] # words are cuts or Latest
        if isinstance(value, dict) and len(value) == 1:
            [(kind, argument)] = value.items()
            if kind.upper() == "AT_TIMESTAMP":
                return forms.moment(str(argument))
            return _CUT_KINDS[kind.upper()](str(argument))
    except (BadValueError, KeyError) as error:
        hint = f" {error.hint}" if isinstance(error, BadValueError) else ""
        raise BadValueError(f"The position of {shard_id} is not valid.{hint}") from None
    raise BadValueError(f"The position of {shard_id} is not valid.")


_CUT_KINDS: dict[str, Callable[[str], Cut]] = {
    "AT": lambda text: At(read_number(text)),
    "AT_SEQUENCE_NUMBER": lambda text: At(read_number(text)),
    "AFTER": lambda text: After(read_number(text)),
    "AFTER_SEQUENCE_NUMBER": lambda text: After(read_number(text)),
}
