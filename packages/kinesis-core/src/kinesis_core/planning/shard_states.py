"""What is known of the shards of one stream between two plans."""

from __future__ import annotations

import random
from collections.abc import Callable

from attrs import define, field

from kinesis_core.aws import ReadRateLimiter, StreamApi
from kinesis_core.clock import Clock
from kinesis_core.model import StreamOffset
from kinesis_core.planning.plan_settings import PlanSettings
from kinesis_core.planning.shard_calls import ShardCalls
from kinesis_core.planning.shard_state import ShardState

PLANNER_BURST = 3
"""Calls that one plan may make at once on a shard. Later ones are spread over time."""


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
    found: dict[str, ShardState] = field(factory=dict, init=False)
    """Those that were made until now, by shard id."""

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
                on_expired=self.on_expired,
                crosses_gaps=self.settings.first_plan_crosses_gaps,
            )
            self.found[shard_id] = ShardState(calls)
        return self.found[shard_id]

    def lags_ms(self) -> dict[str, int]:
        """Return `lag_ms` of all shards that have one, in the order of their ids."""
        lags_ms = {shard_id: self.lag_ms(shard_id) for shard_id in sorted(self.found)}
        return {shard_id: lag_ms for shard_id, lag_ms in lags_ms.items() if lag_ms is not None}

    def lag_ms(self, shard_id: str) -> int | None:
        """
        Return how far behind its tip a shard was when it was read last, or how long its calls were refused since.

        None where no lag is to be reported.
        """
        state = self.found.get(shard_id)
        if state is None:
            return None
        lag_ms, refused_ms = state.lag_ms, state.calls.throttled.lag_ms
        return max(lag_ms or 0, refused_ms) if refused_ms else lag_ms

    def is_ended(self, start: StreamOffset, shard_id: str) -> bool:
        """Return whether the shard was found closed with no record after *start*; the offset may not say so yet."""
        state = self.found.get(shard_id)
        return state is not None and state.has_ended and state.is_ended(start.started(shard_id).cut)

    def ended(self, start: StreamOffset) -> set[str]:
        return {shard_id for shard_id in self.found if self.is_ended(start, shard_id)}
