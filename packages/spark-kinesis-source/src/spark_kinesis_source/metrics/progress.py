"""Reads Spark's progress report of a query: what it says of Kinesis, as values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from math import isfinite
from typing import Any

from attrs import evolve, field, frozen

HOUR_S = 3600.0


@frozen
class StreamProgress:
    """What a report says of one stream. None where it says nothing, as on Spark 4.0 and 4.1."""

    lag_s: float | None = None
    """How far behind its newest record the batch ends, in the shard that is furthest behind."""
    retention_s: float | None = None
    losses: int | None = None
    """How many losses the planner has logged since the query started."""


@frozen
class SourceProgress:
    """What a report says of one Kinesis source of the query."""

    streams: Mapping[str, StreamProgress]
    """By the name or ARN that the user gave."""
    rows: int = 0
    input_rows_per_s: float | None = None
    processed_rows_per_s: float | None = None
    index: int = 0
    """Where it is in Spark's list of all sources of the query."""

    @property
    def label(self) -> str:
        """The stream. Spark counts the rows of a source of several streams together, so they share a label."""
        return ",".join(self.streams)


@frozen
class QueryProgress:
    """One report of a query that reads Kinesis."""

    query: str
    """The query's name, or its id if it has no name."""
    sources: tuple[SourceProgress, ...]
    batch: int | None = None
    started_s: float | None = None
    """When the batch started, in seconds since 1970."""
    durations_s: Mapping[str, float] = field(factory=dict)
    """By Spark's name of the phase. `triggerExecution` is all of it."""

    def by_label(self) -> dict[str, SourceProgress]:
        """Return the sources by their labels. Rows and rates of several sources of one label are added up."""
        found: dict[str, SourceProgress] = {}
        for source in self.sources:
            found[source.label] = _sum(found[source.label], source) if source.label in found else source
        return found

    def by_stream(self) -> dict[str, StreamProgress]:
        """Return what the report says of each stream. Of several sources of one stream the one furthest behind counts."""
        found: dict[str, StreamProgress] = {}
        for name, stream in (item for source in self.sources for item in source.streams.items()):
            if name not in found or (stream.lag_s or 0) > (found[name].lag_s or 0):
                found[name] = stream
        return found


def read_progress(progress: Mapping[str, Any]) -> QueryProgress | None:
    """
    Return the facts of Spark's report, a parsed JSON. None if the query does not read Kinesis.

    Parts that are missing or of an unexpected form are left out. Nothing is raised.
    """
    sources = tuple(_sources(progress.get("sources")))
    if not sources:
        return None
    batch = _number(progress.get("batchId"))
    durations = _mapping(progress.get("durationMs"))
    in_ms = {phase: _number(millis) for phase, millis in durations.items()}
    return QueryProgress(
        query=query_label(progress),
        sources=sources,
        batch=None if batch is None else int(batch),
        started_s=epoch_s(progress.get("timestamp")),
        durations_s={phase: millis / 1000 for phase, millis in in_ms.items() if millis is not None},
    )


def query_label(progress: Mapping[str, Any]) -> str:
    """Return the name of the query, or its id if it has no name."""
    return str(progress.get("name") or progress.get("id") or "")


def epoch_s(timestamp: object) -> float | None:
    """Return the time of Spark's ISO 8601 text in seconds since 1970. None for anything else."""
    try:
        return datetime.fromisoformat(str(timestamp).replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _sources(sources: object) -> Iterator[SourceProgress]:
    for index, source in enumerate(sources if isinstance(sources, (list, tuple)) else ()):
        if isinstance(source, Mapping) and (streams := _streams(source)):
            yield SourceProgress(
                streams,
                int(_number(source.get("numInputRows")) or 0),
                _number(source.get("inputRowsPerSecond")),
                _number(source.get("processedRowsPerSecond")),
                index,
            )


def _sum(one: SourceProgress, other: SourceProgress) -> SourceProgress:
    def added(first: float | None, second: float | None) -> float | None:
        return second if first is None else first + (second or 0)

    return evolve(
        one,
        rows=one.rows + other.rows,
        input_rows_per_s=added(one.input_rows_per_s, other.input_rows_per_s),
        processed_rows_per_s=added(one.processed_rows_per_s, other.processed_rows_per_s),
    )


def _streams(source: Mapping[str, Any]) -> dict[str, StreamProgress]:
    """
    Return what *source* says of its streams. Empty if it is not a Kinesis source.

    The form of the offset tells: Spark describes every Python source by the same class.
    """
    offset = _mapping(source.get("endOffset"))
    streams = _mapping(offset.get("streams"))
    names = [name for name, stream in streams.items() if _mapping(stream).keys() & {"shards", "packed"}]
    if "version" not in offset or not names:
        return {}
    report = _mapping(source.get("latestOffset"))
    lags = _mapping(report.get("msBehindLatest"))
    hours, losses = _mapping(report.get("retentionHours")), _mapping(report.get("dataLosses"))
    return {name: _stream(lags.get(name), hours.get(name), losses.get(name)) for name in sorted(names)}


def _stream(lag_ms: object, hours: object, losses: object) -> StreamProgress:
    by_shard = [millis for millis in map(_number, _mapping(lag_ms).values()) if millis is not None]
    retention, lost = _number(hours), _number(losses)
    return StreamProgress(
        max(by_shard) / 1000 if by_shard else None,
        None if retention is None else retention * HOUR_S,
        None if lost is None else int(lost),
    )


def _mapping(value: object) -> Mapping[str, Any]:
    """Return *value* as a mapping. Spark has an offset as text in one form of its report, and parsed in another."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, Mapping) else {}


def _number(value: object) -> float | None:
    """Return *value* if it is a number. Spark's JSON leaves out a rate that is infinite, and its objects do not."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value) if isfinite(value) else None
    except OverflowError:
        return None
