"""Divides a copy into parts. After each of them the position can be saved."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from kinesis_cli.ending import UsageError
from kinesis_cli.moments import parse_end, parse_start, refuse_future
from kinesis_core import AtTimestamp, EndingPosition, Latest, StartingPosition, Stream

if TYPE_CHECKING:
    from kinesis_cli.copying.state import CopyState
    from kinesis_core import Batch

_FIRST, _SHORTEST_MS = 64, 60_000
"""The first slice of time is a 64th of the whole, and none is shorter than a minute: to find where it ends costs calls."""
_QUICK_S, _SLOW_S, _LONGER = 5.0, 60.0, 4
"""A slice that took less than `_QUICK_S` makes the next one longer. A slice that took more than `_SLOW_S` makes it shorter."""
_HOUR_MS = 3_600_000


@frozen
class CopyPart:
    """Some of the records, in their order."""

    batch: Batch
    reached_ms: int
    """About the time of the last of them."""


@frozen
class CopyPlan:
    """What to copy."""

    start: StartingPosition
    end: EndingPosition
    follow: bool

    def parts(
        self, stream: Stream, saved: CopyState | None, retention_hours: int | None
    ) -> Iterator[CopyPart]:
        """
        Yield the parts, each of which begins where the one before ended.

        Without *retention_hours*, when the position is not saved, all that is there is one part.

        Raises:
            OptionError, OffsetError, DataLossError, ServiceError: As in `Stream.read`.
        """
        end_ms = self._end_ms(stream.now_ms())
        start: StartingPosition | Mapping[str, Any] = self.start if saved is None else saved.offset
        if retention_hours is not None:
            at_ms = self._begin_ms(end_ms, retention_hours) if saved is None else saved.reached_ms
            length_ms = max(_SHORTEST_MS, (end_ms - at_ms) // _FIRST)
            while at_ms + length_ms < end_ms:
                at_ms += length_ms
                started_s = time.monotonic()
                batch = stream.read(start, AtTimestamp(at_ms))
                yield CopyPart(batch, at_ms)
                start = batch.offset
                length_ms = next_length(length_ms, time.monotonic() - started_s)
        batch = stream.read(start, self.end)
        yield CopyPart(batch, max(saved.reached_ms if saved else 0, self._end_ms(stream.now_ms())))
        if self.follow:
            yield from (CopyPart(batch, stream.now_ms()) for batch in stream.follow(batch.offset))

    def _begin_ms(self, now_ms: int, retention_hours: int) -> int:
        match self.start:
            case AtTimestamp(epoch_ms):
                return max(epoch_ms, now_ms - retention_hours * _HOUR_MS)
            case Latest():
                return now_ms
            case _:
                return now_ms - retention_hours * _HOUR_MS

    def _end_ms(self, now_ms: int) -> int:
        return min(self.end.epoch_ms, now_ms) if isinstance(self.end, AtTimestamp) else now_ms


def plan_copy(since: str, until: str | None, *, follow: bool, now_ms: int) -> CopyPlan:
    """
    Return what the options name.

    Raises:
        UsageError: They name no positions, or contradict each other.
    """
    if follow and until is not None:
        raise UsageError("--follow and --until exclude each other.")
    end = Latest() if until is None else parse_end(until, "--until", now_ms)
    refuse_future(end, until, now_ms, "--follow copies what comes later.")
    return CopyPlan(parse_start(since, "--since", now_ms), end, follow)


def next_length(length_ms: int, took_s: float) -> int:
    """Return the length of the next slice, after one of *length_ms* took *took_s* to copy."""
    if took_s < _QUICK_S:
        return length_ms * _LONGER
    return max(_SHORTEST_MS, length_ms // 2) if took_s > _SLOW_S else length_ms
