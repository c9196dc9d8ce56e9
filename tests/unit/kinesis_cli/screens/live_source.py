"""A source for `kinesis top` with fixed values, or with those that a test says."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, evolve, field

from kinesis_cli.live import LiveReader, ShardLine, StreamView
from kinesis_cli.stream_lines import StreamLine
from kinesis_cli.traffic import Sample
from kinesis_core.model import HASH_KEYS, StreamSummary
from support.lineages import name

AT_MS = 1_790_000_000_000
_LOADS = (0.31, 0.97, 0.06, 0.55)


def summary_of(stream: str, shards: int, *, is_on_demand: bool = False, consumers: int = 0) -> StreamSummary:
    arn = f"arn:aws:kinesis:eu-west-1:000000000000:stream/{stream}"
    return StreamSummary(
        stream, arn, "ACTIVE", 0, 24, is_on_demand=is_on_demand, open_shards=shards, consumers=consumers
    )


def view_of(stream: str) -> StreamView:
    """Return a stream with four shards, of which one is hot, and three readers."""
    count = len(_LOADS)
    shards = tuple(
        ShardLine(
            name(number),
            HASH_KEYS * number // count,
            HASH_KEYS * (number + 1) // count - 1,
            Sample(round(load * 10_000), round(load * 10_000), round(load * 3_000_000), 10_000),
        )
        for number, load in enumerate(_LOADS)
    )
    readers = (
        LiveReader("billing", "application", 850, "", AT_MS, AT_MS - 700),
        LiveReader("reports", "checkpoint", 754_000, "", AT_MS, AT_MS - 480_000),
        LiveReader("fraud", "enhanced fan-out", status="ACTIVE"),
    )
    return StreamView(summary_of(stream, count, consumers=1), AT_MS, shards, readers)


@define
class FixedSource:
    """Returns the same values each time, or raises `problem`."""

    problem: Exception | None = None
    views: dict[str, StreamView] = field(
        factory=lambda: {"orders": view_of("orders"), "teas": view_of("teas")}
    )
    calls: list[str] = field(factory=list)

    def streams(self) -> Sequence[StreamLine]:
        self._call("")
        return [
            StreamLine("clicks", summary_of("clicks", 40, is_on_demand=True, consumers=2)),
            StreamLine("orders", summary_of("orders", 4, consumers=1)),
            StreamLine("teas"),
        ]

    def stream(self, name_or_arn: str) -> StreamView:
        self._call(name_or_arn)
        return self.views[name_or_arn]

    def lag(self, stream: str, reader: int, lag_ms: int, at_ms: int) -> None:
        """Let a reader have another lag and a new commit at another time, at which the other readers are as they were."""
        view = self.views[stream]
        readers = [each if each.lag_ms is None else evolve(each, measured_ms=at_ms) for each in view.readers]
        readers[reader] = evolve(readers[reader], lag_ms=lag_ms, committed_ms=at_ms)
        self.views[stream] = evolve(view, readers=tuple(readers), at_ms=at_ms)

    def _call(self, what: str) -> None:
        self.calls.append(what)
        if self.problem is not None:
            raise self.problem
