"""
Data loss: whether the plan of a shard is whole, or records before its end expired unread.

A shard offset carries a time (`ShardOffset.arrived_ms`): no record after its cut arrived before it. While that time is younger than the
shortest retention, nothing can be lost. Later there is a doubt, until the stream shows a record that is older than all that was
promised. `loss` judges values, and this module makes the calls.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from attrs import frozen

from kinesis_core.errors import OffsetError, ThrottledError
from kinesis_core.model import MIN_RETENTION_HOURS, After, At, AtTimestamp, Shard, ShardOffset, TrimHorizon
from kinesis_core.planning.loss import (
    Doubt,
    Loss,
    LossReport,
    NoProgress,
    OffsetExpired,
    describe,
    find_doubt,
    judge,
)
from kinesis_core.planning.offset_times import seen
from kinesis_core.planning.progress import Gone, is_lost, lose
from kinesis_core.planning.settings import Limits
from kinesis_core.planning.shard_state import ShardState, Unsettled
from kinesis_core.planning.stream_facts import StreamFacts
from kinesis_core.shards import Passed, Unseen, certain_from_ms, is_expiring
from kinesis_credentials import Advice

FindEnd = Callable[[ShardOffset], ShardOffset]
"""Finds where a batch ends in one shard, given where it starts; the start itself where nothing is new."""

_OLDEST = ShardOffset(TrimHorizon())


@frozen
class Planned:
    """The batch ends here in the shard, and no record before that is lost."""

    end: ShardOffset


@frozen
class Doubtful:
    """Records may be lost, or none can be read now. The shard stays where it is, and the next plan looks again."""


@frozen
class Lost:
    """Records after the start have expired, or may have."""

    loss: Loss
    promised_ms: int | None
    """No record after the start arrived before this time."""


PlanOutcome = Planned | Doubtful | Lost


@frozen
class DataLoss:
    """Guards the plans of one stream against lost records."""

    reports: LossReport
    facts: StreamFacts

    def find_end(
        self,
        state: ShardState,
        started: ShardOffset,
        find: FindEnd,
        target: ShardOffset | None = None,
        limits: Limits | None = None,
    ) -> ShardOffset:
        """
        Return the end of a plan, *started* while that is doubtful. A loss is reported, and then the plan starts at the oldest record.

        Raises:
            DataLossError: Records are lost, or may be, and a loss stops the query.
            UnavailableError: Pages have been empty for too long, and no record is known to be lost.
            OffsetError: *started* names a record that the shard never had.
        """
        while True:
            match self.plan(state, started, find, target, limits):
                case Planned(end):
                    return end
                case Doubtful():
                    return started
                case Lost() as lost:
                    self._report(state, started, lost)
                    state.progress = lose(state.progress, started.cut)

    def plan(
        self,
        state: ShardState,
        started: ShardOffset,
        find: FindEnd,
        target: ShardOffset | None,
        limits: Limits | None,
    ) -> PlanOutcome:
        """
        Return what *find* finds from *started*; from the oldest record where a loss after *started* was reported.

        *target* is an end that was seen in the shard, *limits* are those of *find*; None if it ends at the tip. Only doubts cost calls,
        and only after the plan: what it found is complete if something older is still there afterwards. What a plan with limits found
        is kept for the next one until a doubt is settled.
        """
        if is_lost(state.progress, started.cut):
            return _unless_stuck(state, _OLDEST, find(_OLDEST))
        found: ShardOffset | Unsettled | None
        found, state.cache.unsettled = state.cache.unsettled, None
        if found is None or not found.serves(started, target, limits):
            found = self._find(state, started, find, target, limits)
        if isinstance(found, Unsettled):
            state.cache.unsettled = None if found.is_in_gap else found
            unsettled = self._settle(state, found.doubt)
            if unsettled is not None:
                return unsettled
            state.settle(found)
            found = found.end
        self._see_next(state, started, found)
        return _unless_stuck(state, started, found)

    def _find(
        self,
        state: ShardState,
        started: ShardOffset,
        find: FindEnd,
        target: ShardOffset | None,
        limits: Limits | None,
    ) -> ShardOffset | Unsettled:
        """Return what *find* finds. While that is in doubt, the state does not show it."""
        emptiness, promised = state.evidence.emptiness, seen(state, started)
        was_old = self._is_old(state, promised)
        try:
            end = find(started)
        except BaseException:
            if was_old:
                state.withdraw(emptiness)
            raise
        doubt = find_doubt(
            promised,
            end,
            state.evidence,
            target,
            is_old=was_old or self._is_old(state, promised),
            is_stuck=state.is_stuck(started.cut),
            at_tip=state.is_at_tip,
        )
        if doubt is None:
            return end
        found = Unsettled(started, target, limits, end, doubt, state.progress, state.evidence.emptiness)
        state.withdraw(emptiness)
        return found

    def _is_old(self, state: ShardState, promised: ShardOffset) -> bool:
        return is_expiring(promised.arrived_ms, state.calls.now_ms(), MIN_RETENTION_HOURS)

    def _settle(self, state: ShardState, doubt: Doubt) -> Doubtful | Lost | None:
        """Look for the record that the cut names, and for the oldest one left. Return None where they show that nothing is lost."""
        found = state.look_for(doubt.cut)
        if found is None:
            return Doubtful()
        if isinstance(found, Unseen):
            state.stalls(doubt.cut)
            return Doubtful()
        if isinstance(found, Passed) and found.is_absent and doubt.names_seen:
            raise OffsetError(
                f"The saved offset is at a record that {state.shard_id} never had: {doubt.cut}. The shard still has older records, "
                "and those expire first.",
                advice=Advice.RESTORE,
                stream=self.facts.name,
                shard=state.shard_id,
                cut=doubt.cut,
            )
        loss = judge(doubt, found, self.facts.current_kept_hours, state.calls.now_ms)
        # The shard may have stalled, and can be read again since the oldest record was looked for.
        if loss is None or (isinstance(loss, NoProgress) and state.moves(doubt.cut)):
            return None
        return Lost(loss, doubt.promised_ms)

    def _see_next(self, state: ShardState, started: ShardOffset, end: ShardOffset) -> None:
        """Look at the record after the end of a plan that is far behind. Without it, the next plan would be in doubt once the end has expired."""
        if end.arrived_ms is None or end.cut == started.cut or not isinstance(end.cut, (At, After)):
            return
        if end.arrived_ms >= state.calls.now_ms() - self.facts.stamp_ms():
            return
        if state.evidence.next_record(end.cut) is None and state.empty_until_ms(end.cut) is None:
            with suppress(ThrottledError):
                state.see_next(end.cut)

    def _report(self, state: ShardState, started: ShardOffset, lost: Lost) -> None:
        """Report a loss: as one of the start if reading starts in this process, and its records had expired before that."""
        match started.cut, lost.loss:
            case AtTimestamp() as asked, OffsetExpired(_, hours) if is_expiring(
                lost.promised_ms, self.facts.started_ms, hours
            ):
                left_ms = certain_from_ms(state.calls.now_ms(), hours)
                self.reports.report_start(state.shard_id, asked, left_ms, hours)
            case _, loss:
                self.reports.report(state.shard_id, started, describe(loss, started.cut))

    def report_gone(self, state: ShardState, started: ShardOffset, listed: Shard | None) -> None:
        """
        Note that Kinesis no longer knows the shard, and report the loss once. *listed* is the shard as it was listed last.

        Nothing is lost where reading starts at a time within the retention: the records that left with a closed shard arrived
        before that.

        Raises:
            DataLossError: A loss stops the query.
        """
        if state.progress == Gone(started.cut):
            return  # a plan that nobody took has reported it
        is_open = listed is not None and listed.is_open
        since_ms = started.cut.epoch_ms if isinstance(started.cut, AtTimestamp) else 0
        if is_open or is_expiring(since_ms, state.calls.now_ms(), self.facts.current_kept_hours()):
            what = f"Kinesis no longer knows the shard, and its records after {started.cut} were not read"
            self.reports.report(state.shard_id, started, what)
        state.progress = Gone(started.cut)


def _unless_stuck(state: ShardState, started: ShardOffset, end: ShardOffset) -> Planned | Doubtful:
    """Return the *end* of a plan from *started*. Where pages stay empty from there, nothing is certain."""
    if state.is_stuck(started.cut):
        state.stalls(started.cut)
        return Doubtful()
    state.stall.ends()
    return Planned(end)
