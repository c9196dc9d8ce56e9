"""Records that left the stream before they were read: noticing it, and stopping or going on as the user wants."""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve, frozen

from kinesis_core.cuts import AtTimestamp, Cut, TrimHorizon, is_behind
from kinesis_core.errors import DataLossError
from kinesis_core.logs import get_logger
from kinesis_core.offsets import Position
from kinesis_core.pages import Record
from kinesis_core.shard_view import ShardView

log = get_logger("kinesis_core")

_HOUR_MS = 3_600_000
_STAMPS = 4
"""How often in a retention an idle shard's position is written anew; this costs one empty batch."""


@frozen
class DataLoss:
    """What happens to lost records of one stream."""

    stream: str
    is_fatal: bool
    """Whether the user wants to stop then."""
    retention_hours: Callable[[], int]

    def report(self, shard_id: str, begun: Position, what: str) -> None:
        """
        Log that records behind *begun* are lost.

        Raises:
            DataLossError: The user wants to stop then.
        """
        position = begun.to_json()
        if self.is_fatal:
            raise DataLossError(
                f"Records may be lost: {what}. Set failOnDataLoss=false to go on with the oldest record that is left, "
                f"or start with a new checkpoint. [stream={self.stream} shard={shard_id} position={position}]"
            )
        log.warning("data.lost", reason=what, stream=self.stream, shard=shard_id, position=position)

    def check(self, view: ShardView, begun: Position) -> Position:
        """
        Return where to go on: *begun*, or the oldest record where those behind *begun* are lost.

        A position older than the retention is checked once per run, and one that brings nothing but empty pages.
        """
        if view.lost_behind == begun.cut:
            return Position(TrimHorizon())
        if view.is_stuck:
            return self._skip(view, begun, "Kinesis finds no way on from the position")
        if not view.is_fresh or begun.arrived_ms is None:
            return begun
        hours = self.retention_hours()
        if begun.arrived_ms >= view.now_ms() - hours * _HOUR_MS:
            return begun
        oldest = view.page_at(TrimHorizon(), 1, None).records
        if not oldest or not _is_behind(oldest[0], begun.cut):
            return begun
        what = f"the position is older than the retention of {hours} h, the oldest record is {oldest[0].sequence_number}"
        return self._skip(view, begun, what)

    def seen(self, view: ShardView | None, begun: Position) -> Position:
        """
        Return *begun* with the time at which nothing was seen to lie behind it.

        Without it, the first record after a silence longer than the retention would look like what is left of many.
        """
        idle_ms = None if view is None else view.idle_at_ms(begun.cut)
        if idle_ms is None or idle_ms <= (begun.arrived_ms or 0):
            return begun
        return evolve(begun, arrived_ms=idle_ms)

    def is_outdated(self, view: ShardView | None, begun: Position) -> bool:
        """Return whether what `seen` adds is worth a batch of its own, which comes a few times in a retention."""
        seen_ms = self.seen(view, begun).arrived_ms
        if seen_ms is None or begun.arrived_ms is None:
            return False
        return seen_ms - begun.arrived_ms > self.retention_hours() * _HOUR_MS // _STAMPS

    def _skip(self, view: ShardView, begun: Position, what: str) -> Position:
        self.report(view.shard_id, begun, what)
        view.lost_behind = begun.cut
        return Position(TrimHorizon())


def _is_behind(record: Record, cut: Cut) -> bool:
    if isinstance(cut, AtTimestamp):
        return record.arrived_ms is None or record.arrived_ms >= cut.epoch_ms
    return is_behind(record.number, cut)
