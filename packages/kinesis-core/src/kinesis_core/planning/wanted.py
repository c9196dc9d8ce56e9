"""What the conditions of a query say about where its records are. They narrow a batch read, and the query engine applies them as well."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta, timezone
from enum import Enum
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from kinesis_core.planning.planner import Planner

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)


class Comparison(Enum):
    """How a condition compares a column with a value, or with several of which one must be equal."""

    EQUAL = "="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="
    LESS = "<"
    LESS_OR_EQUAL = "<="


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

    def narrowed(self, column: str, comparison: Comparison, values: Collection[Any]) -> Wanted:
        """
        Return what also meets a condition on *column*, whose name may be in any case.

        *values* has one value, or several for `EQUAL`: one of them. None is equal to nothing. Conditions on other columns, and
        values of other types, say nothing.
        """
        is_equal = comparison is Comparison.EQUAL
        match column.lower():
            case "approximatearrivaltimestamp":
                return self._within(comparison, values)
            case "shardid" if is_equal:
                return evolve(self, shards=_both(self.shards, values))
            case "streamname" if is_equal:
                return evolve(self, streams=_both(self.streams, values))
            case _:
                return self

    def _within(self, comparison: Comparison, values: Collection[Any]) -> Wanted:
        """Return what also arrived at such a time. A record has whole milliseconds, and a value microseconds."""
        known = [value for value in values if value is not None]
        # A time without a zone is no instant.
        if not all(isinstance(value, datetime) and value.tzinfo for value in known):
            return self
        if not known:
            return evolve(self, shards=frozenset())
        since, until = self.since_ms, self.until_ms
        if comparison not in (Comparison.LESS, Comparison.LESS_OR_EQUAL):
            is_later = comparison is Comparison.GREATER
            since = _combined(max, since, _ms_at_or_after(min(known), 1 if is_later else 0))
        if comparison not in (Comparison.GREATER, Comparison.GREATER_OR_EQUAL):
            is_earlier = comparison is Comparison.LESS
            until = _combined(min, until, _ms_at_or_after(max(known), 0 if is_earlier else 1))
        return evolve(self, since_ms=since, until_ms=until)

    def positions(
        self, planner: Planner, start: StartingPosition, end: EndingPosition
    ) -> tuple[StartingPosition, EndingPosition]:
        """Return the positions between which *planner* finds all wanted records that are between *start* and *end*."""
        if self == Wanted():
            return start, end
        certain_from_ms = planner.certain_from_ms()  # its first call shows the service's clock
        now_ms = planner.now_ms()
        return self.start(start, certain_from_ms, now_ms), self.end(end, now_ms)

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


def _both(known: frozenset[str] | None, values: Collection[Any]) -> frozenset[str]:
    found = frozenset(values) - {None}
    return found if known is None else known & found


def _combined(choose: Callable[[int, int], int], known: int | None, other: int) -> int:
    return other if known is None else choose(known, other)


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
