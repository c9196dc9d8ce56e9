"""What the conditions of a query say about where its records are. They narrow a batch read, and Spark applies them as well."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta, timezone
from typing import Any

from attrs import evolve, frozen

from kinesis_core.model import (
    AtTimestamp,
    EndingPosition,
    Latest,
    PerStream,
    RangeGroup,
    StartingPosition,
    TrimHorizon,
)
from kinesis_core.shards import MARGIN_MS

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)


@frozen
class Wanted:
    """The records that can meet the conditions. None means that there is no such condition."""

    since_ms: int | None = None
    """Records that arrived before this time are not wanted."""
    until_ms: int | None = None
    """Records that arrived at this time or later are not wanted."""
    shards: frozenset[str] | None = None
    streams: frozenset[str] | None = None
    """The names of streams, even if they were given by ARN."""

    @property
    def is_nothing(self) -> bool:
        """Whether the conditions contradict each other."""
        is_empty_time = (
            self.since_ms is not None and self.until_ms is not None and self.since_ms >= self.until_ms
        )
        return is_empty_time or self.shards == frozenset() or self.streams == frozenset()

    def start(self, position: StartingPosition, certain_from_ms: int, now_ms: int) -> StartingPosition:
        """
        Return where reading starts: *position*, or a later time before which no wanted record arrived.

        The times of a shard's records do not increase strictly, hence a margin. If records since then may have expired, which
        is so before *certain_from_ms*, the position stays: it decides whether that is an error.
        """
        if self.since_ms is None:
            return position
        since = AtTimestamp(min(self.since_ms, now_ms) - MARGIN_MS)
        if since.epoch_ms < certain_from_ms:
            return position
        narrowed: StartingPosition = _each(
            position, lambda start: since if _is_before(start, since) else start
        )
        return narrowed

    def end(self, position: EndingPosition, now_ms: int) -> EndingPosition:
        """Return where reading ends: *position*, or an earlier time after which no wanted record arrived."""
        if self.until_ms is None or self.until_ms + MARGIN_MS > now_ms - MARGIN_MS:
            return position
        until = AtTimestamp(max(0, self.until_ms + MARGIN_MS))

        def earlier(end: Any) -> Any:
            is_later = isinstance(end, AtTimestamp) and end.epoch_ms > until.epoch_ms
            return until if is_later or isinstance(end, Latest) else end

        narrowed: EndingPosition = _each(position, earlier)
        return narrowed

    def groups(self, groups: Iterable[RangeGroup], names: dict[str, str]) -> list[RangeGroup]:
        """Return *groups* with the ranges of wanted shards. *names* has the name of each stream by its label."""
        found = (
            tuple(
                each
                for each in group
                if (self.shards is None or each.shard_id in self.shards)
                and (self.streams is None or names[each.stream] in self.streams)
            )
            for group in groups
        )
        return [group for group in found if group]


def read_filters(filters: Iterable[Any]) -> Wanted:
    """Return what *filters*, all of which a row meets, say. Filters of other kinds and columns say nothing."""
    wanted = Wanted()
    for each in filters:
        kind, (column, *nested) = type(each).__name__, getattr(each, "attribute", ("",))
        if nested:
            continue
        match column.lower():
            case "approximatearrivaltimestamp":
                wanted = _narrow_time(wanted, kind, each)
            case "shardid":
                wanted = evolve(wanted, shards=_both(wanted.shards, _values(kind, each)))
            case "streamname":
                wanted = evolve(wanted, streams=_both(wanted.streams, _values(kind, each)))
    return wanted


def _values(kind: str, each: Any) -> frozenset[Any] | None:
    """Return the values that the column can have; None if the filter does not list them."""
    if kind == "In":
        return frozenset(each.value) - {None}
    return (
        frozenset([each.value]) if kind in ("EqualTo", "EqualNullSafe") and each.value is not None else None
    )


def _both(known: frozenset[str] | None, values: frozenset[str] | None) -> frozenset[str] | None:
    if known is None or values is None:
        return values if known is None else known
    return known & values


def _narrow_time(wanted: Wanted, kind: str, each: Any) -> Wanted:
    """Return *wanted* within the times of a filter. A row holds whole milliseconds, and the filter microseconds."""
    values = _values(kind, each)
    if values is None and kind in ("GreaterThan", "GreaterThanOrEqual", "LessThan", "LessThanOrEqual"):
        values = frozenset([each.value])
    # A time without a zone is no instant.
    if values is None or not all(isinstance(value, datetime) and value.tzinfo for value in values):
        return wanted
    if not values:
        return evolve(wanted, shards=frozenset())
    since = until = None
    if not kind.startswith("Less"):
        since = _ms_at_or_after(min(values), 1 if kind == "GreaterThan" else 0)
    if not kind.startswith("Greater"):
        until = _ms_at_or_after(max(values), 0 if kind == "LessThan" else 1)
    return evolve(
        wanted,
        since_ms=_combined(max, wanted.since_ms, since),
        until_ms=_combined(min, wanted.until_ms, until),
    )


def _combined(choose: Callable[[int, int], int], known: int | None, other: int | None) -> int | None:
    if known is None or other is None:
        return other if known is None else known
    return choose(known, other)


def _ms_at_or_after(moment: datetime, more_us: int) -> int:
    """Return the first whole millisecond that is not before *moment* and *more_us* after it, which may be in the year 10000."""
    return -(-((moment - _EPOCH) // _MICROSECOND + more_us) // 1000)


def _each(position: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(position, PerStream):
        return PerStream({stream: change(part) for stream, part in position.positions.items()})
    return change(position)


def _is_before(start: Any, since: AtTimestamp) -> bool:
    return isinstance(start, TrimHorizon) or (
        isinstance(start, AtTimestamp) and start.epoch_ms < since.epoch_ms
    )
