"""Data loss: plans a shard, settles the doubts whether records left it unread, and reports those that did."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from attrs import evolve, frozen

from kinesis_core.errors import IteratorExpiredError, OffsetError, ThrottledError
from kinesis_core.model import (
    MIN_RETENTION_HOURS,
    After,
    At,
    AtTimestamp,
    Record,
    Shard,
    ShardEnd,
    ShardOffset,
    TrimHorizon,
)
from kinesis_core.planning.evidence import Emptiness
from kinesis_core.planning.loss import (
    HOUR_MS,
    Doubt,
    Loss,
    LossReport,
    NoProgress,
    OffsetExpired,
    certain_from_ms,
    describe,
    is_doubtful,
    is_expiring,
    is_unchecked,
    judge,
    judge_emptiness,
    never_was,
)
from kinesis_core.planning.probe import GAP_CALLS
from kinesis_core.planning.progress import Gone, in_doubt, is_lost, lose
from kinesis_core.planning.settings import Limits
from kinesis_core.planning.shard_cache import Unsettled
from kinesis_core.planning.shard_state import ShardState
from kinesis_core.planning.stream_facts import StreamFacts
from kinesis_core.planning.targets import is_further

_OLDEST = ShardOffset(TrimHorizon())
_STAMPS = 4
"""How often per retention the offset of an idle shard is written again. Each time costs one empty batch."""


@frozen
class DataLoss:
    """
    Guards the plans of one stream against lost records.

    A shard offset carries a time (`ShardOffset.arrived_ms`): no record after its cut arrived before it. While that time is
    younger than the shortest retention, nothing can be lost. Later there is a doubt, until the stream shows a record that is older
    than all that was promised. `loss` judges, `loss_report` reports, and this class makes the calls.
    """

    reports: LossReport
    facts: StreamFacts

    def report_gone(self, state: ShardState, started: ShardOffset, listed: Shard | None) -> None:
        """
        Note that Kinesis no longer knows the shard, and report the loss once. *listed* is the shard as it was listed last.

        Nothing is lost where reading starts at a time within the shortest retention: the records that left with a closed
        shard arrived before that.

        Raises:
            DataLossError: A loss stops the query.
        """
        if state.progress == Gone(started.cut):
            return  # a plan that nobody took has reported it
        is_open = listed is not None and listed.is_open
        since_ms = started.cut.epoch_ms if isinstance(started.cut, AtTimestamp) else 0
        if is_open or is_expiring(since_ms, state.calls.now_ms(), MIN_RETENTION_HOURS):
            what = f"Kinesis no longer knows the shard, and its records after {started.cut} were not read"
            self.reports.report(state.shard_id, started, what)
        state.progress = Gone(started.cut)

    def plan(
        self,
        state: ShardState,
        started: ShardOffset,
        plan: Callable[[ShardOffset], ShardOffset],
        target: ShardOffset | None = None,
        limits: Limits | None = None,
    ) -> ShardOffset:
        """
        Return what *plan* returns for *started*, or for the oldest record where records after *started* are lost.

        *target* is an end that was seen in the shard, *limits* are those of *plan*; None if it ends at the tip. Only doubts cost calls,
        and only after the plan: what it found is complete if something older is still there afterwards. Until a doubt is settled,
        *started* is returned, or an error raised, and what a plan with limits found is kept for the next one.

        Where pages stay empty, *started* is returned as well, unless records are lost: the next plan looks again.

        Raises:
            DataLossError: Records are lost, or may be, and a loss stops the query.
            UnavailableError: Pages have been empty for too long, and no record is known to be lost.
            OffsetError: *started* names a record that the shard never had.
        """
        if is_lost(state.progress, started.cut):
            return self._plan_oldest(state, plan)
        found, state.cache.unsettled = state.cache.unsettled, None
        if found is None or not found.serves(started, target, limits):
            found = self._find(state, started, plan, target, limits)
        if found.doubt is not None:
            state.cache.unsettled = None if found.is_in_gap else found
            if not self._is_left(state, found.doubt):
                page = state.oldest_page(None if state.calls.is_thorough else GAP_CALLS)
                if page is None:
                    return started
                if page.is_in_gap:  # nothing can be read, which shows nothing
                    state.stalls(started.cut)
                    return started
                oldest = page.records[0] if page.records else None
                if state.cache.absent == started.cut and never_was(found.doubt, oldest):
                    raise self._unknown_record(state.shard_id, started)
                loss = self._judge(state, found.doubt, oldest)
                if loss is not None:
                    self._report(state, started, found.doubt.promised_ms, loss)
                    state.progress = lose(state.progress, started.cut)
                    return self._plan_oldest(state, plan)
            state.progress = found.progress
            state.evidence = state.evidence.with_emptiness(found.emptiness)
            state.cache.unsettled = None
        if state.is_stuck(started.cut):
            state.stalls(started.cut)
            return started
        state.stall.ends()
        self._see_next(state, started, found.end)
        return found.end

    def _find(
        self,
        state: ShardState,
        started: ShardOffset,
        plan: Callable[[ShardOffset], ShardOffset],
        target: ShardOffset | None,
        limits: Limits | None,
    ) -> Unsettled:
        """Return what *plan* finds. While that is in doubt, the state does not show it."""
        emptiness, promised = state.evidence.emptiness, self.seen(state, started)
        was_old = is_expiring(promised.arrived_ms, state.calls.now_ms(), MIN_RETENTION_HOURS)
        try:
            end = plan(started)
        except BaseException:
            if was_old:
                _withdraw(state, emptiness)
            raise
        doubt = self._doubt(state, promised, end, target, was_old=was_old)
        found = Unsettled(started, target, limits, end, doubt, state.progress, state.evidence.emptiness)
        if doubt is not None:
            _withdraw(state, emptiness)
        return found

    def plan_thoroughly(
        self,
        state: ShardState,
        started: ShardOffset,
        plan: Callable[[ShardOffset], ShardOffset],
        *,
        waits: bool = True,
    ) -> ShardOffset:
        """
        Return what *plan* returns, however many calls it takes: a plan from where it got stuck is part of it.

        *waits*: whether it waits while the shard brings nothing. Otherwise the next plan continues.

        Raises:
            DataLossError: As for `plan`.
            UnavailableError: As for `plan`.
        """
        end = self._plan_patiently(state, started, plan, waits=waits)
        while end.cut not in (started.cut, TrimHorizon()) and state.is_stuck(end.cut):
            further = self._plan_patiently(state, end, plan, waits=waits)
            if state.is_ended(end.cut):
                return evolve(end, cut=ShardEnd())  # its children are part of the batch
            if not is_further(further.cut, end.cut):
                return end
            end = evolve(further, first=end.first)
        return end

    def _plan_patiently(
        self,
        state: ShardState,
        started: ShardOffset,
        plan: Callable[[ShardOffset], ShardOffset],
        *,
        waits: bool,
    ) -> ShardOffset:
        while True:
            with state.calls.patiently(), suppress(IteratorExpiredError):
                end = self.plan(state, started, plan)
                if not (waits and state.stall.is_on):
                    return end

    def _plan_oldest(self, state: ShardState, plan: Callable[[ShardOffset], ShardOffset]) -> ShardOffset:
        """Return what *plan* returns for the oldest record that a loss has left."""
        end = plan(_OLDEST)
        if state.is_stuck(_OLDEST.cut):
            state.stalls(_OLDEST.cut)
        else:
            state.stall.ends()
        return end

    def seen(self, state: ShardState | None, started: ShardOffset) -> ShardOffset:
        """
        Return *started* with a later time before which nothing after it arrived, if one is known.

        Without it, the first record after a silence longer than the retention would look like the rest of many.
        """
        return started if state is None else started.was_empty_until(state.empty_until_ms(started.cut))

    def is_outdated(self, started: ShardOffset, seen: ShardOffset) -> bool:
        """
        Return whether the time that `seen` adds to an offset is worth a batch of its own.

        It is a few times per retention, and for the first time that is known: without it, a restarted query would be in doubt.
        """
        if seen.arrived_ms is None or seen.arrived_ms == started.arrived_ms:
            return False
        return seen.arrived_ms - (started.arrived_ms or 0) > self._stamp_ms()

    def _stamp_ms(self) -> int:
        return self.facts.kept_hours() * HOUR_MS // _STAMPS

    def _see_next(self, state: ShardState, started: ShardOffset, end: ShardOffset) -> None:
        """See the record after the end of a plan that is far behind: without it, the next plan would be in doubt once the end has left."""
        if end.arrived_ms is None or end.cut == started.cut or not isinstance(end.cut, (At, After)):
            return
        if end.arrived_ms >= state.calls.now_ms() - self._stamp_ms():
            return
        if state.evidence.next_record(end.cut) is None and state.empty_until_ms(end.cut) is None:
            with suppress(ThrottledError, IteratorExpiredError):
                state.see_next(end.cut)

    def _doubt(
        self,
        state: ShardState,
        promised: ShardOffset,
        end: ShardOffset,
        target: ShardOffset | None,
        *,
        was_old: bool,
    ) -> Doubt | None:
        """Return the doubt that a plan to *end* leaves, given the promised time of its start; None where nothing can be lost."""
        cut, promised_ms = promised.cut, promised.arrived_ms
        is_old = was_old or is_expiring(promised_ms, state.calls.now_ms(), MIN_RETENTION_HOURS)
        seen, is_stuck = state.evidence, state.is_stuck(cut)
        expected = seen.first_known(cut, target)
        if (
            (is_stuck and promised_ms is None)
            or is_doubtful(cut, end, seen, expected, is_old=is_old, at_tip=state.is_at_tip)
            or is_unchecked(promised, end, seen, at_tip=state.is_at_tip)
        ):
            following, names_seen = seen.next_record(cut), promised.names_seen_record
            return Doubt(cut, promised_ms, expected, following, is_stuck, names_seen)
        return None

    def _is_left(self, state: ShardState, doubt: Doubt) -> bool:
        """Return whether the record that the cut names is still in the stream: then no record after it has left."""
        cut = doubt.cut
        if not isinstance(cut, (At, After)) or state.cache.missing == cut:
            return False
        page = state.page_at(At(cut.number), 1, 1)
        is_left = bool(page.records) and page.records[0].number == cut.number
        state.cache.missing = None if is_left else cut
        state.cache.absent = None if is_left or page.is_in_gap else cut
        return is_left

    def _report(self, state: ShardState, started: ShardOffset, promised_ms: int | None, loss: Loss) -> None:
        """Report *loss*: as one of the start if reading starts in this process, and its records had expired before that."""
        match started.cut, loss:
            case AtTimestamp() as asked, OffsetExpired(_, hours) if is_expiring(
                promised_ms, self.facts.started_ms, hours
            ):
                left_ms = certain_from_ms(state.calls.now_ms(), hours)
                self.reports.report_start(state.shard_id, asked, left_ms, hours)
            case _:
                self.reports.report(state.shard_id, started, describe(loss, started.cut))

    def _unknown_record(self, shard_id: str, started: ShardOffset) -> OffsetError:
        return OffsetError(
            f"The checkpoint holds an offset at a record that {shard_id} never had: {started.cut}. The shard still has older records, and "
            "those expire first. Restore the checkpoint directory, or start with a new one. "
            f"[stream={self.facts.name} shard={shard_id} cut={started.cut}]"
        )

    def _judge(self, state: ShardState, doubt: Doubt, oldest: Record | None) -> Loss | None:
        loss = judge_emptiness(doubt, oldest)
        if loss is not None:
            return loss
        hours = self.facts.current_kept_hours()
        loss = judge(doubt, oldest, hours, state.calls.now_ms())
        # The shard may have stalled, and can be read again since the oldest record was looked for.
        return None if isinstance(loss, NoProgress) and state.moves(doubt.cut) else loss


def _withdraw(state: ShardState, emptiness: Emptiness | None) -> None:
    """Forget that the shard was found empty or ended: while records may be lost, that may be what a loss left."""
    state.progress, state.evidence = in_doubt(state.progress), state.evidence.with_emptiness(emptiness)
