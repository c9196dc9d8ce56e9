"""Records that left the stream before they were read: noticing it, and stopping or going on as the user wants."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from attrs import evolve, frozen

from kinesis_core.cuts import After, At, AtTimestamp, Cut, TrimHorizon, is_behind
from kinesis_core.errors import DataLossError, IteratorExpiredError, ThrottledError
from kinesis_core.logs import get_logger
from kinesis_core.offsets import Position
from kinesis_core.pages import Page, Record
from kinesis_core.shard_looks import GAP_CALLS
from kinesis_core.shard_view import ShardView

log = get_logger("kinesis_core")

_HOUR_MS = 3_600_000
_OLDEST = Position(TrimHorizon())
_MARGIN_MS = 60_000
"""How long before its time a record counts as leaving the stream: arrival times and clocks are not exact."""
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

    def plan(
        self,
        view: ShardView,
        begun: Position,
        plan: Callable[[Position], Position],
        target: Position | None = None,
    ) -> Position:
        """
        Return what *plan* makes of *begun*, or of the oldest record where those behind *begun* are lost.

        *target* is an end that was seen to be in the shard. Only doubts cost calls, and only when the plan is made: what it
        found is whole if something older is still there afterwards. *begun* is returned until a doubt is settled.

        Raises:
            DataLossError: Records are lost, and the user wants to stop then.
        """
        if view.lost_behind == begun.cut:
            return plan(_OLDEST)
        idle, ended, was_old = view.idle, view.ended_behind, self._is_old(view, begun)
        end = begun if view.is_stuck else plan(begun)
        expected = _first_known(view, begun.cut, target)
        is_more_known = expected is not None or (was_old and view.more_behind == begun.cut)
        is_gone = is_more_known and _is_at_tip(view, begun, end)
        found_end = view.ended_behind
        if is_gone:
            view.idle = idle  # for nothing there is no longer idleness
        what = "Kinesis finds no way on from the position" if view.is_stuck else None
        if is_gone or self._is_doubtful(view, begun, end, expected):
            view.ended_behind = ended  # until it is settled
            page = view.oldest_page(None if view.is_thorough else GAP_CALLS)
            if page is None:
                return begun
            what = self._what_is_lost(view, begun, page, expected, is_gone=is_gone) or what
            view.found_good = begun.cut if what is None else None
        if what is None:
            view.ended_behind = found_end
            self._see_next(view, begun, end)
            return end
        self.report(view.shard_id, begun, what)
        view.lost_behind = begun.cut
        return plan(_OLDEST)

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

    def _see_next(self, view: ShardView, begun: Position, end: Position) -> None:
        """Note what comes next where a plan ends that is far behind, or it would be in doubt when the end has left."""
        far_ms = view.now_ms() - self.retention_hours() * _HOUR_MS // _STAMPS
        is_far = end.arrived_ms is not None and end.arrived_ms < far_ms
        is_known = view.next_record(end.cut) is not None or view.idle_at_ms(end.cut) is not None
        if is_far and end.cut != begun.cut and not is_known:
            with suppress(ThrottledError, IteratorExpiredError):
                view.see_next(end.cut)

    def _is_doubtful(self, view: ShardView, begun: Position, end: Position, expected: int | None) -> bool:
        if end.cut != begun.cut:
            # Who begins at the oldest record was promised none that leaves before it is planned.
            is_missing = (
                isinstance(begun.cut, (At, After))
                and expected is not None
                and end.first is not None
                and end.first > expected
            )
            return is_missing or self._is_old(view, begun)
        return view.found_good != begun.cut and self._is_old(view, begun)

    def _is_old(self, view: ShardView, begun: Position) -> bool:
        """Return whether a record that came right behind *begun* may have left the stream."""
        seen_ms = self.seen(view, begun).arrived_ms
        if seen_ms is None:
            return False
        return seen_ms < view.now_ms() - self.retention_hours() * _HOUR_MS + _MARGIN_MS

    def _what_is_lost(
        self, view: ShardView, begun: Position, page: Page, expected: int | None, *, is_gone: bool
    ) -> str | None:
        """Return what is lost behind *begun*, given the page of the oldest record; None when nothing is."""
        if not page.records:
            what = "what was behind the position" if expected is None else f"record {expected}"
            return f"{what} has left the stream, and nothing is left" if is_gone else None
        oldest, following = page.records[0], view.next_record(begun.cut)
        if not _is_lost_before(oldest, begun.cut) or (following and oldest.number <= following.number):
            return None
        if self._is_old(view, begun):
            hours = self.retention_hours()
            return f"the position is older than the retention of {hours} h, the oldest record is {oldest.sequence_number}"
        if expected is not None and oldest.number > expected:
            return f"record {expected} has left the stream, the oldest record is {oldest.sequence_number}"
        return None


def _is_at_tip(view: ShardView, begun: Position, end: Position) -> bool:
    """Return whether the plan from *begun* to *end* found nothing, and nothing that it would have to wait for."""
    return end.cut == begun.cut and view.is_at_tip and not view.is_stuck


def _first_known(view: ShardView, cut: Cut, target: Position | None) -> int | None:
    """Return the first record that was seen behind *cut*, if any was."""
    following, first = view.next_record(cut), None if target is None else target.first
    latest = view.latest if isinstance(cut, (At, After)) else None
    seen = (first, latest, None if following is None else following.number)
    return min((number for number in seen if number is not None and is_behind(number, cut)), default=None)


def _is_lost_before(oldest: Record, cut: Cut) -> bool:
    """Return whether there may have been records between *cut* and the oldest one that is left."""
    match cut:
        case AtTimestamp(epoch_ms):
            return oldest.arrived_ms is None or oldest.arrived_ms >= epoch_ms
        case At(number):
            return oldest.number > number
        case _:
            return is_behind(oldest.number, cut)
