"""Estimates of what a planned batch holds. They say when a batch runs and what is logged, never which records are read."""

from __future__ import annotations

from attrs import frozen


@frozen
class Estimate:
    """What a plan saw of the records that a batch takes from one shard."""

    records: int
    """
    About how many. The first ones are counted, an aggregate as one; those after them are estimated from the shard's rate.
    """
    age_ms: int | None
    """How long before the plan the first of them arrived; None where Kinesis does not say."""
