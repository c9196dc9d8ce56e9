"""Records that left the stream before they were read: noticing it, and stopping or going on as the user wants."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from attrs import evolve, frozen

from kinesis_core.errors import DataLossError, IteratorExpiredError, ThrottledError
from kinesis_core.logs import get_logger
from kinesis_core.model import (
    MIN_RETENTION_HOURS,
    After,
    At,
    AtTimestamp,
    Cut,
    Page,
    Record,
    Shard,
    ShardOffset,
    TrimHorizon,
    is_after,
)
from kinesis_core.planning.probe import GAP_CALLS
from kinesis_core.planning.shard_state import ShardState
from kinesis_core.planning.stream_facts import StreamFacts

log = get_logger("kinesis_core")

_HOUR_MS = 3_600_000
_OLDEST = ShardOffset(TrimHorizon())
_MARGIN_MS = 60_000
"""How long before its time a record counts as leaving the stream: arrival times and clocks are not exact."""
_STAMPS = 4
"""How often in a retention an idle shard's position is written anew; this costs one empty batch."""


@frozen
class DataLoss:
    """
    What happens to lost records of one stream.

    A position carries a time (`ShardOffset.arrived_ms`): no record behind the position arrived before it. While that is
    younger than the retention, nothing can be lost. Later it is in doubt, until the stream shows a record that is older than
    all that was promised.
    """

    stream: str
    is_fatal: bool
    """Whether the user wants to stop then."""
    facts: StreamFacts

    def report(self, shard_id: str, started: ShardOffset, what: str) -> None:
        """
        Log that records behind *begun* are lost.

        Raises:
            DataLossError: The user wants to stop then.
        """
        position = started.to_json()
        if self.is_fatal:
            raise DataLossError(
                f"Records may be lost: {what}. Set failOnDataLoss=false to go on with the oldest record that is left, "
                f"or start with a new checkpoint. [stream={self.stream} shard={shard_id} position={position}]"
            )
        log.warning("data.lost", reason=what, stream=self.stream, shard=shard_id, position=position)

    def report_gone(self, view: ShardState, started: ShardOffset, listed: Shard | None) -> None:
        """
        Report that Kinesis no longer knows the shard, as `report` does. *listed* is the shard as it was listed last.

        Where reading begins at a time within the shortest retention, nothing is lost: a closed shard leaves with records that
        arrived before.
        """
        is_open = listed is not None and listed.is_open
        since_ms = started.cut.epoch_ms if isinstance(started.cut, AtTimestamp) else 0
        if is_open or _is_older(since_ms, view, MIN_RETENTION_HOURS):
            self.report(view.shard_id, started, "Kinesis no longer knows the shard")

    def plan(
        self,
        view: ShardState,
        started: ShardOffset,
        plan: Callable[[ShardOffset], ShardOffset],
        target: ShardOffset | None = None,
    ) -> ShardOffset:
        """
        Return what *plan* makes of *begun*, or of the oldest record where those behind *begun* are lost.

        *target* is an end that was seen to be in the shard. Only doubts cost calls, and only when the plan is made: what it
        found is whole if something older is still there afterwards. *begun* is returned until a doubt is settled.

        Raises:
            DataLossError: Records are lost, and the user wants to stop then.
        """
        if view.lost_behind == started.cut:
            return plan(_OLDEST)
        before = view.empty, view.ended_behind
        promised_ms = self.seen(view, started).arrived_ms
        was_old = _is_older(promised_ms, view, MIN_RETENTION_HOURS)
        try:
            end = started if view.is_stuck else plan(started)
        except BaseException:
            if was_old:  # what an empty page said may be what is left of a loss
                view.empty, view.ended_behind = before
            raise
        expected = _first_known(view, started.cut, target)
        is_old = was_old or _is_older(promised_ms, view, MIN_RETENTION_HOURS)
        if self._is_doubtful(view, started, end, expected, is_old=is_old):
            found = view.empty, view.ended_behind
            view.empty, view.ended_behind = before  # until it is settled
            if not self._is_left(view, started.cut):
                page = view.oldest_page(None if view.is_thorough else GAP_CALLS)
                if page is None:
                    return started
                what = self._what_is_lost(view, started, page, expected, promised_ms)
                if what is None and view.is_stuck:
                    what = "Kinesis finds no way on from the position"
                if what is not None:
                    self.report(view.shard_id, started, what)
                    view.lost_behind = started.cut
                    return plan(_OLDEST)
            view.empty, view.ended_behind = found
        self._see_next(view, started, end)
        return end

    def seen(self, view: ShardState | None, started: ShardOffset) -> ShardOffset:
        """
        Return *begun* with a later time before which nothing behind it arrived, if one is known.

        Without it, the first record after a silence longer than the retention would look like what is left of many.
        """
        empty_ms = None if view is None else view.empty_until_ms(started.cut)
        if empty_ms is None or empty_ms <= (started.arrived_ms or 0):
            return started
        return evolve(started, arrived_ms=empty_ms)

    def is_outdated(self, view: ShardState | None, started: ShardOffset) -> bool:
        """
        Return whether what `seen` adds is worth a batch of its own.

        That is so a few times in a retention, and for the first time that is known: without it, a query that is started again
        would be in doubt.
        """
        seen_ms = self.seen(view, started).arrived_ms
        if seen_ms is None or seen_ms == started.arrived_ms:
            return False
        return seen_ms - (started.arrived_ms or 0) > self.facts.retention_hours() * _HOUR_MS // _STAMPS

    def _see_next(self, view: ShardState, started: ShardOffset, end: ShardOffset) -> None:
        """Note what comes next where a plan ends that is far behind, or it would be in doubt when the end has left."""
        far_ms = view.now_ms() - self.facts.retention_hours() * _HOUR_MS // _STAMPS
        is_far = end.arrived_ms is not None and end.arrived_ms < far_ms
        is_known = view.next_record(end.cut) is not None or view.empty_until_ms(end.cut) is not None
        if is_far and isinstance(end.cut, (At, After)) and end.cut != started.cut and not is_known:
            with suppress(ThrottledError, IteratorExpiredError):
                view.see_next(end.cut)

    def _is_doubtful(
        self, view: ShardState, started: ShardOffset, end: ShardOffset, expected: int | None, *, is_old: bool
    ) -> bool:
        if view.is_stuck:
            return True
        if end.cut == started.cut:
            return is_old or (expected is not None and view.is_at_tip)
        if end.first is not None and end.first == _following(view, started.cut):
            return False
        # Who begins at the oldest record was promised none that leaves before it is planned.
        is_missing = (
            isinstance(started.cut, (At, After))
            and expected is not None
            and end.first is not None
            and end.first > expected
        )
        return is_missing or is_old

    def _is_left(self, view: ShardState, cut: Cut) -> bool:
        """Return whether the record that *cut* names is still there: then so is all behind it."""
        if view.is_stuck or not isinstance(cut, (At, After)) or view.not_found == cut:
            return False
        behind_ms = view.millis_behind
        try:
            records = view.page_at(At(cut.number), 1, 1).records
        finally:
            view.millis_behind = behind_ms  # which is how far the plan is
        is_left = bool(records) and records[0].number == cut.number
        view.not_found = None if is_left else cut
        return is_left

    def _what_is_lost(
        self,
        view: ShardState,
        started: ShardOffset,
        page: Page,
        expected: int | None,
        promised_ms: int | None,
    ) -> str | None:
        """Return what may be lost behind *begun*, given the page of the oldest record; None when nothing is."""
        if not page.records and expected is not None:
            return f"record {expected} has left the stream, and nothing is left"
        hours = self.facts.current_retention_hours()
        is_old, old = _is_older(promised_ms, view, hours), f"older than the retention of {hours} h"
        if not page.records:
            what = f"the position is {old}, and nothing is left: what came behind it may have left the stream"
            return what if is_old else None
        oldest, following = page.records[0], view.next_record(started.cut)
        if not _is_lost_before(oldest, started.cut, promised_ms):
            return None
        if following is not None and oldest.number <= following.number:
            return None
        if is_old:
            return f"the position is {old}, the oldest record is {oldest.sequence_number}"
        if expected is not None and oldest.number > expected:
            return f"record {expected} has left the stream, the oldest record is {oldest.sequence_number}"
        return None


def _is_older(promised_ms: int | None, view: ShardState, hours: int) -> bool:
    """Return whether a record that arrived at *promised_ms* may have left the stream."""
    return promised_ms is not None and promised_ms < view.now_ms() - hours * _HOUR_MS + _MARGIN_MS


def _following(view: ShardState, cut: Cut) -> int | None:
    """Return the very next record behind *cut*, if it is known."""
    if isinstance(cut, At):
        return cut.number
    following = view.next_record(cut)
    return None if following is None else following.number


def _first_known(view: ShardState, cut: Cut, target: ShardOffset | None) -> int | None:
    """Return the first record that was seen behind *cut*, if any was."""
    following, first = view.next_record(cut), None if target is None else target.first
    latest = view.latest if isinstance(cut, (At, After)) else None
    seen = (first, latest, None if following is None else following.number)
    return min((number for number in seen if number is not None and is_after(number, cut)), default=None)


def _is_lost_before(oldest: Record, cut: Cut, promised_ms: int | None) -> bool:
    """Return whether there may have been records between *cut* and the oldest one that is left."""
    match cut:
        case AtTimestamp(epoch_ms):
            since_ms = max(epoch_ms, promised_ms or 0)
            return oldest.arrived_ms is None or oldest.arrived_ms >= since_ms
        case At(number):
            return oldest.number > number
        case TrimHorizon() if oldest.arrived_ms is not None and promised_ms is not None:
            return oldest.arrived_ms >= promised_ms
        case _:
            return is_after(oldest.number, cut)
