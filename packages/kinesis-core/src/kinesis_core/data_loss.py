"""Records that left the stream before they were read: noticing it, and stopping or going on as the user wants."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from kinesis_core.cuts import After, At, TrimHorizon
from kinesis_core.errors import DataLossError
from kinesis_core.logs import get_logger
from kinesis_core.offsets import Position
from kinesis_core.shard_view import ShardView

log = get_logger("kinesis_core")


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
        if not view.is_fresh or begun.arrived_ms is None or not isinstance(begun.cut, (At, After)):
            return begun
        hours = self.retention_hours()
        if begun.arrived_ms >= view.now_ms() - hours * 3_600_000:
            return begun
        oldest = view.page_at(TrimHorizon(), 1, None).records
        if not oldest or oldest[0].number <= begun.cut.number:
            return begun
        what = f"the position is older than the retention of {hours} h, the oldest record is {oldest[0].sequence_number}"
        return self._skip(view, begun, what)

    def _skip(self, view: ShardView, begun: Position, what: str) -> Position:
        self.report(view.shard_id, begun, what)
        view.lost_behind = begun.cut
        return Position(TrimHorizon())
