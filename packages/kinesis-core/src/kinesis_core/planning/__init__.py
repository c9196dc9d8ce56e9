"""
Where a batch ends: the driver's part. A plan fixes the end of each shard at a real record, continues with the children of
finished shards, and reports lost records.
"""

from typing import TYPE_CHECKING

from kinesis_credentials.lazy import lazy_names

if TYPE_CHECKING:
    from kinesis_core.planning.batch_gate import BatchGate
    from kinesis_core.planning.limits import Limits
    from kinesis_core.planning.lineage import Known, find_hole
    from kinesis_core.planning.loss import certain_from_ms
    from kinesis_core.planning.plan_ahead import PlanAhead
    from kinesis_core.planning.plan_settings import PlanSettings
    from kinesis_core.planning.planned import log_planned
    from kinesis_core.planning.planner import Planner
    from kinesis_core.planning.shard_pages import ShardPage, ShardPages
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "kinesis_core.planning.limits": "Limits",
            "kinesis_core.planning.batch_gate": "BatchGate",
            "kinesis_core.planning.lineage": "Known find_hole",
            "kinesis_core.planning.loss": "certain_from_ms",
            "kinesis_core.planning.plan_ahead": "PlanAhead",
            "kinesis_core.planning.plan_settings": "PlanSettings",
            "kinesis_core.planning.planned": "log_planned",
            "kinesis_core.planning.planner": "Planner",
            "kinesis_core.planning.shard_pages": "ShardPage ShardPages",
        },
    )

__all__ = [
    "BatchGate",
    "Known",
    "Limits",
    "PlanAhead",
    "PlanSettings",
    "Planner",
    "ShardPage",
    "ShardPages",
    "certain_from_ms",
    "find_hole",
    "log_planned",
]
