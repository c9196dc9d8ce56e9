"""Estimates of a planned batch. They decide when it runs and are logged; they never decide which records are read."""

from __future__ import annotations

from attrs import frozen


@frozen
class Estimate:
    """The estimated number and age of the records that a batch takes from one shard."""

    records: int
    """
    The approximate number of records, where an aggregate counts as one. The first records are counted, the others are
    estimated from the shard's rate.
    """
    age_ms: int | None
    """Milliseconds between the arrival of the first record and the plan; None when Kinesis reports no arrival time."""
