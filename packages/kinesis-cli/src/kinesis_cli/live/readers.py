"""Readers on the screens: how far they are behind, and how fast they read, which Kinesis itself reports in CloudWatch only."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from attrs import define, field

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


SHORTEST_MS = 5000
"""A lag moves in steps, batch by batch: over less time it shows no speed."""
LONGEST_MS = 60_000


@define
class Speeds:
    """The lags of readers over the last minute."""

    _lags: dict[str, deque[tuple[int, int]]] = field(factory=dict, init=False)

    def note(self, readers: Iterable[LiveReader], at_ms: int) -> None:
        """Remember the lag of each reader at a time."""
        for reader in readers:
            if reader.lag_ms is None:
                continue
            lags = self._lags.setdefault(reader.name, deque())
            if not lags or lags[-1][0] < at_ms:
                lags.append((at_ms, reader.lag_ms))
            while lags[0][0] < at_ms - LONGEST_MS:
                lags.popleft()

    def of(self, name: str) -> float | None:
        """
        Return how much of a stream's time a reader reads per second: 1 keeps up, 0 stands still, above 1 catches up.

        None: this is not known yet.
        """
        lags = self._lags.get(name)
        if not lags or lags[-1][0] - lags[0][0] < SHORTEST_MS:
            return None
        (first_ms, first_lag_ms), (last_ms, last_lag_ms) = lags[0], lags[-1]
        return max(0.0, 1 - (last_lag_ms - first_lag_ms) / (last_ms - first_ms))
