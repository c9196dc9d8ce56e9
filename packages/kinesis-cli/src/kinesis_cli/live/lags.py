"""The lag of readers whose positions are known, for the screens."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kinesis_cli.lag import ReaderLag, StreamLag
from kinesis_cli.live.views import LiveReader, ReadersOf

_HOW = {"application": "application", "": "unknown"}
"""What a reader is known by; a checkpoint unless it is listed here."""


def readers_by(measure: Callable[[str], StreamLag]) -> ReadersOf:
    """Return a function that measures the lag of readers of a stream."""

    def readers_of(name_or_arn: str) -> Sequence[LiveReader]:
        return [_reader(each) for each in measure(name_or_arn).readers]

    return readers_of


def _reader(measured: ReaderLag) -> LiveReader:
    how = _HOW.get(measured.kind, "checkpoint")
    return LiveReader(measured.reader, how, measured.lag_ms, _status(measured))


def _status(measured: ReaderLag) -> str:
    if measured.problem is not None:
        return measured.problem
    if measured.lost:
        return f"records lost in {measured.lost} of {len(measured.shards)} shards"
    if measured.behind:
        return f"behind in {measured.behind} of {measured.unfinished} shards"
    return "current"
