"""
Where a batch ends: the driver's part. A plan fixes the end of each shard at a real record, continues with the children of
finished shards, and reports lost records.
"""

from typing import TYPE_CHECKING

from kinesis_credentials.lazy import lazy_names

if TYPE_CHECKING:
    from kinesis_core.planning.discovery import Known as Known, find_hole as find_hole
    from kinesis_core.planning.pacing import (
        BatchGate as BatchGate,
        PlanAhead as PlanAhead,
        log_planned as log_planned,
    )
    from kinesis_core.planning.planner import Planner as Planner
    from kinesis_core.planning.settings import Limits as Limits, PlanSettings as PlanSettings
    from kinesis_core.planning.shard_pages import ShardPage as ShardPage, ShardPages as ShardPages
    from kinesis_core.planning.wanted import Comparison as Comparison, Wanted as Wanted

lazy_names(
    __name__,
    {
        "kinesis_core.planning.discovery": "Known find_hole",
        "kinesis_core.planning.pacing": "BatchGate PlanAhead log_planned",
        "kinesis_core.planning.planner": "Planner",
        "kinesis_core.planning.settings": "Limits PlanSettings",
        "kinesis_core.planning.shard_pages": "ShardPage ShardPages",
        "kinesis_core.planning.wanted": "Comparison Wanted",
    },
)
