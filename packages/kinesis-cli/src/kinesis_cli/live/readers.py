"""Readers on the screens: how far they are behind, and how fast they read, which Kinesis itself reports in CloudWatch only."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from attrs import define, field, frozen

from kinesis_cli.lag import ReaderLag, StreamLag
from kinesis_cli.live.views import LiveReader, ReadersOf

_HOW = {"application": "application", "": "unknown"}
"""What a reader is known by; a checkpoint unless it is listed here."""


def readers_by(measure: Callable[[str], StreamLag]) -> ReadersOf:
    """Return a function that measures the lag of readers of a stream."""

    def readers_of(name_or_arn: str) -> Sequence[LiveReader]:
        lag = measure(name_or_arn)
        return [_reader(each, lag.measured_ms) for each in lag.readers]

    return readers_of


def _reader(reader: ReaderLag, measured_ms: int) -> LiveReader:
    how = _HOW.get(reader.kind, "checkpoint")
    return LiveReader(reader.reader, how, reader.lag_ms, _status(reader), measured_ms, reader.committed_ms)


def _status(measured: ReaderLag) -> str:
    if measured.problem is not None:
        return measured.problem
    if measured.lost:
        return f"records lost in {measured.lost} of {len(measured.shards)} shards"
    if measured.behind:
        return f"behind in {measured.behind} of {measured.unfinished} shards"
    return "current"


SHORTEST_MS = 5000
"""A lag moves in steps, batch by batch: over less time it shows no speed."""
LONGEST_MS = 60_000


@frozen
class _Seen:
    at_ms: int
    lag_ms: int
    committed_ms: int | None


@define
class Speeds:
    """The measurements of readers over the last minute."""

    _seen: dict[str, deque[_Seen]] = field(factory=dict, init=False)

    def note(self, readers: Iterable[LiveReader]) -> None:
        """Remember the measurement of each reader."""
        for reader in readers:
            if reader.lag_ms is None or reader.measured_ms is None:
                self._seen.pop(reader.name, None)
                continue
            seen = self._seen.setdefault(reader.name, deque())
            seen.append(_Seen(reader.measured_ms, reader.lag_ms, reader.committed_ms))
            while seen[0].at_ms < seen[-1].at_ms - LONGEST_MS:
                seen.popleft()

    def of(self, name: str) -> float | None:
        """
        Return how much of a stream's time a reader reads per second: 1 keeps up, 0 stands still, above 1 catches up.

        None: this is not known yet, or the reader has committed nothing in this time. Then it reads nothing: its lag changes only
        because of what others write.
        """
        seen = self._seen.get(name)
        if not seen or seen[-1].at_ms - seen[0].at_ms < SHORTEST_MS:
            return None
        first, last = seen[0], seen[-1]
        if last.committed_ms is not None and last.committed_ms == first.committed_ms:
            return None
        return max(0.0, 1 - (last.lag_ms - first.lag_ms) / (last.at_ms - first.at_ms))
