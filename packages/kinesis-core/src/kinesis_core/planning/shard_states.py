"""What is known of the shards of one stream between two plans."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from functools import partial

from attrs import define, field

from kinesis_core.aws import ReadRateLimiter, StreamApi
from kinesis_core.clock import Clock
from kinesis_core.model import ShardOffset, StreamOffset
from kinesis_core.planning.progress import is_idle
from kinesis_core.planning.schedule import NEVER, Turns, age_ms, in_turn
from kinesis_core.planning.settings import FULL_MS, PlanSettings
from kinesis_core.planning.shard_state import ShardState
from kinesis_core.planning.shares import EVERYTHING, Need
from kinesis_core.shards import ShardCalls

PLANNER_BURST = 3
"""Calls that one plan may make at once on a shard. Later ones are spread over time."""
PAGES_BYTES = 512 * 1024
"""
What the pages of one stream may have together that travel with the ranges of a batch. Each shard may have an equal part.

Spark warns of a task with more than 1000 KiB, and a task may read all shards.
"""


@define
class ShardStates:
    """The state of each shard of one stream. It is made when the shard is planned for the first time."""

    stream: str
    api: StreamApi
    settings: PlanSettings
    clock: Clock
    rng: random.Random
    on_expired: Callable[[], None]
    """Called when an iterator expired, and before another one is made."""
    max_rate_bytes: float = field(default=math.inf, init=False)
    """Bytes a second that are read of one shard."""
    found: dict[str, ShardState] = field(factory=dict, init=False)
    """Those that were made until now, by shard id."""
    _closed: set[str] = field(factory=set, init=False)
    """The shards that were found closed at some time."""
    turns: Turns = field(factory=Turns, init=False)

    def of(self, shard_id: str) -> ShardState:
        if shard_id not in self.found:
            limiter = ReadRateLimiter(self.settings.min_fetch_period_s, PLANNER_BURST)
            calls = ShardCalls(
                self.api,
                shard_id,
                self.clock,
                limiter,
                self.rng,
                stream=self.stream,
                max_throttles=0,
                max_rate_bytes=self.max_rate_bytes,
                on_expired=partial(self._renew, shard_id),
                crosses_gaps=self.settings.first_plan_crosses_gaps,
            )
            self.found[shard_id] = ShardState(calls, self._page_room, self._closed)
        return self.found[shard_id]

    def _page_room(self) -> int:
        return PAGES_BYTES // len(self.found) if self.settings.inline_records else 0

    def _renew(self, shard_id: str) -> None:
        self.on_expired()
        # Plans so far apart would each start the same gap from its beginning.
        self.found[shard_id].calls.crosses_gaps = True

    def lags_ms(self) -> dict[str, int]:
        """Return `lag_ms` of all shards that have one, in the order of their ids."""
        lags_ms = {shard_id: self.lag_ms(shard_id) for shard_id in sorted(self.found)}
        return {shard_id: lag_ms for shard_id, lag_ms in lags_ms.items() if lag_ms is not None}

    def lag_ms(self, shard_id: str) -> int | None:
        """
        Return how far behind its tip a shard was when it was read last, or how long its calls were refused since.

        A shard that the last plan left out may have records since it was read, so its lag grows until it is
        planned. None if no lag must be reported.
        """
        state = self.found.get(shard_id)
        if state is None:
            return None
        lag_ms, refused_ms = state.lag_ms, state.calls.throttled.lag_ms
        if refused_ms:
            lag_ms = max(lag_ms or 0, refused_ms)
        return None if lag_ms is None else lag_ms + self.turns.unread_ms(shard_id)

    def in_turn(self, shards: Iterable[str], started: Callable[[str], ShardOffset]) -> list[str]:
        """
        Return *shards* in the order in which to begin them. *started* returns how far a shard has been read.

        How old a shard's unread records may be is shown by its last plan, or else by its offset.
        """
        now_s, now_ms = self.clock.now_s(), self.api.now_ms()

        def behind_ms(shard_id: str) -> float:
            state = self.found.get(shard_id)
            lag_ms = None if state is None else state.lag_ms
            if lag_ms is None:
                return age_ms(started(shard_id), now_ms)
            return lag_ms + (now_s - self.turns.of(shard_id).at_s) * 1000

        return in_turn(shards, self.turns.of, behind_ms)

    def need(self, shard_id: str, started: ShardOffset) -> Need:
        """
        Return about how much a shard may hold after *started*, with room.

        That is little if a plan was at the tip there, by what a page said of this very cut or by its time. A plan that was thrown away
        may have read further.
        """
        state, turn = self.found.get(shard_id), self.turns.of(shard_id)
        if state is None or turn == NEVER:
            return EVERYTHING
        passed_ms = (self.clock.now_s() - turn.at_s) * 1000
        if is_idle(state.progress, started.cut):
            # The rate is of an earlier time where the last batch had no record of the shard.
            return state.cache.sampling.need(0.0 if started.first is None else passed_ms)
        if started.arrived_ms is None or state.cache.used_up == started.cut:
            return EVERYTHING
        unread_ms = self.api.now_ms() - started.arrived_ms
        return EVERYTHING if unread_ms - passed_ms >= FULL_MS else state.cache.sampling.need(unread_ms)

    def is_ended(self, start: StreamOffset, shard_id: str) -> bool:
        """Return whether the shard was found closed with no record after *start*; the offset may not say so yet."""
        state = self.found.get(shard_id)
        return state is not None and state.is_ended(start.started(shard_id).cut)

    def ended(self, start: StreamOffset) -> set[str]:
        """Return the shards of which `is_ended` is true."""
        return {shard_id for shard_id in self._closed if self.is_ended(start, shard_id)}
