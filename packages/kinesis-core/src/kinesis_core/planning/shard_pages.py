"""
Pages of single shards, for consumers that keep the position of each shard by themselves.

A planner of batches fixes ends without reading what is before them. Here the records themselves are wanted, so each call of
GetRecords brings a page of them. Whether records were lost is judged in the same way.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from attrs import define, evolve, field, frozen

from kinesis_core.aggregation import count_user_records
from kinesis_core.aws import StreamApi
from kinesis_core.clock import Clock
from kinesis_core.errors import ThrottledError
from kinesis_core.model import After, At, Page, ShardOffset, StreamSummary, data_bytes
from kinesis_core.planning.offset_times import seen
from kinesis_core.planning.probe import Found, find_first
from kinesis_core.planning.settings import PlanSettings
from kinesis_core.planning.shard_state import ShardState
from kinesis_core.planning.start_positions import after_gone
from kinesis_core.planning.stream_planner import StreamPlanner
from kinesis_core.shards import VISIT_PAGES, Left


@frozen
class ShardPage:
    """The next records of one shard. There may be none, although more will come."""

    page: Page
    start: ShardOffset
    """Where the records begin. Without records, it is later than the one asked for, if the shard was seen empty until then."""
    end: ShardOffset
    """Where the next page continues."""
    is_tip: bool
    """Whether nothing followed when the page was read, in an open shard or a closed one."""
    is_last: bool
    """Whether the shard is closed, and nothing follows."""
    size_bytes: int = field(init=False, eq=False)
    """The data of the records. Consumers ask for it often, and a sum over all records takes a while."""

    @size_bytes.default
    def _sum_data(self) -> int:
        return data_bytes(self.page.records)


@define
class ShardPages:
    """Reads one stream. Threads may share it, as long as each shard is read by one at a time."""

    _planner: StreamPlanner
    _created_ms: int = field(default=0, init=False)

    @staticmethod
    def of(
        name: str,
        api: StreamApi,
        settings: PlanSettings,
        clock: Clock,
        rng: random.Random,
        max_fetch_rate_bytes: float = float("inf"),
    ) -> ShardPages:
        """
        Return the pages of the stream behind *api*. *name* is the stream's in errors and logs. Makes no call.

        *max_fetch_rate_bytes*: how many bytes a second are read of one shard.
        """
        settings = evolve(settings, first_plan_crosses_gaps=False, inline_records=False)
        planner = StreamPlanner(name, api, settings, clock, rng)
        planner.states.max_rate_bytes = max_fetch_rate_bytes
        return ShardPages(planner)

    def begin(self) -> StreamSummary:
        """Return the stream's facts. From now on, a stream that was deleted and created again is an error."""
        self._created_ms = self._planner.facts.begin()
        return self._planner.facts.summary()

    def now_ms(self) -> int:
        """Return the service's clock in milliseconds since the epoch: a lower bound."""
        return self._planner.api.now_ms()

    def resume(
        self, shard_id: str, number: int, user_records: int, empty_until_ms: int | None
    ) -> ShardOffset:
        """
        Return the offset after the first *user_records* of record *number*, which was read at least in part.

        *empty_until_ms*: nothing after that record arrived before this time, if that is known. Where it is not known and the
        record has expired, records after it may be lost, unless there are older ones. After a loss, the offset is the oldest record.

        Raises:
            DataLossError: Records after *number* may be lost (unless `fail_on_data_loss` is off).
            InvalidRequestError: The number is not one of this shard.
        """
        state = self._planner.states.of(shard_id)
        found = state.await_record(number)
        if isinstance(found, Left):
            is_left = user_records < count_user_records(found.record.data)
            cut = At(number, user_records) if is_left else After(number)
            return ShardOffset(cut, found.record.arrived_ms)
        if user_records and empty_until_ms is not None:
            return ShardOffset(After(number)).was_empty_until(empty_until_ms)
        cut = After(number) if user_records else At(number)
        return after_gone(self._planner, shard_id, cut, found)

    def kept_hours(self) -> int:
        """Return for how many hours records are certainly kept, as far as it is known: a position is judged by it later. Makes no call."""
        return self._planner.facts.known_kept_hours()

    def see_kept_hours(self, hours: int) -> None:
        """
        Note that records were kept for *hours* when a position was written.

        Raises:
            StreamRecreatedError: The stream was deleted and created again.
        """
        self._planner.facts.begin_plan(self._created_ms, hours)

    def next(self, shard_id: str, start: ShardOffset, max_records: int) -> ShardPage:
        """
        Return the next page after *start*, with at most *max_records* (1..10,000) records. Waits until the shard may be read.

        Raises:
            DataLossError: Records after *start* are lost, or may be (unless `fail_on_data_loss` is off).
            ServiceError: A call to Kinesis failed after its retries.
        """
        planner = self._planner
        planner.facts.begin_plan(self._created_ms)
        state = planner.states.of(shard_id)
        read: list[Found] = []

        def find(begin: ShardOffset) -> ShardOffset:
            read[:] = [find_first(state, begin, max_records, VISIT_PAGES)]
            return read[0].up_to(read[0].last) if read[0].records else begin

        def plan(state: ShardState, started: ShardOffset) -> ShardOffset:
            try:
                return planner.loss.find_end(state, started, find)
            except ThrottledError:
                return started

        end = planner.plan_shard(state, start, plan)
        if end is None:
            return ShardPage(Page([], 0), start, start, is_tip=True, is_last=True)
        if isinstance(end.cut, After) and end.cut != start.cut:
            return self._full(state, start, end.as_end_from(start.cut), read[0])
        stamped = seen(state, start)
        is_last = state.is_ended(start.cut)
        # A refused call shows nothing, and neither do records that are in doubt.
        is_tip = is_last or (bool(read) and not read[0].records and state.lag_ms == 0)
        return ShardPage(Page([], state.lag_ms or 0), stamped, stamped, is_tip, is_last)

    def report_lost(self, shard_id: str, after: ShardOffset, what: str) -> None:
        """
        Report that records after an offset are lost: *what* is a clause that says how.

        Raises:
            DataLossError: Always, unless `fail_on_data_loss` is off; then the loss is logged.
        """
        self._planner.reports.report(shard_id, after, what)

    def due_s(self, shard_id: str) -> float:
        """Return in how many seconds the shard may be read again."""
        return self._planner.states.of(shard_id).calls.wait_s()

    def lag_ms(self, shard_id: str) -> int | None:
        """Return how far behind the tip the last page was, or for how long calls were refused since; None before the first one."""
        return self._planner.states.lag_ms(shard_id)

    def watch(self, shard_id: str, arrived: Callable[[], None]) -> None:
        """Do nothing: a page never arrives by itself."""

    def forget(self, shard_id: str, arrived: Callable[[], None]) -> None:
        """Do nothing: what is known of a shard saves calls if it is read again."""

    def _full(self, state: ShardState, start: ShardOffset, end: ShardOffset, found: Found) -> ShardPage:
        page = Page(found.records, state.lag_ms or 0)
        return ShardPage(page, start, evolve(end, estimate=None), found.at_tip or found.ended, found.ended)
