"""PlanSettings: the choices of the planner's user."""

from __future__ import annotations

from attrs import field, frozen

from kinesis_core.planning.limits import Limits


@frozen
class PlanSettings:
    """Settings of the planner. Times in seconds."""

    limits: Limits = field(factory=Limits)
    """Of each shard."""
    batch_limits: Limits = field(factory=Limits)
    """Of all shards of all streams together. Each plan divides them by what the shards need."""
    min_fetch_period_s: float = 0.2
    shard_discovery_interval_s: float = 10.0
    fail_on_data_loss: bool = True
    trim_horizon_margin_s: float = 300.0
    """How much of their retention the first records have left, at least, at a start at TRIM_HORIZON."""
    first_plan_crosses_gaps: bool = True
    """Whether the first plan is whole, and follows gaps to their end, because a run may have one plan only. Other shards wait for it."""
    max_shard_skew_s: float | None = 10.0
    """How far the shards of a bounded batch are apart in time at most, while one is behind its tip. None: as far as their limits let them."""
    plan_budget_s: float | None = 2.0
    """In which time a plan of a bounded batch begins shards. The others are left for the next plan. None: it begins them all."""
