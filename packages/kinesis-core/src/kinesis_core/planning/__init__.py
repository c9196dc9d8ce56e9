"""
Where a batch ends: the driver's part. A plan fixes the end of each shard at a real record, continues with the children of
finished shards, and reports lost records.
"""

from typing import TYPE_CHECKING

from kinesis_credentials.lazy import lazy_names

if TYPE_CHECKING:
    from kinesis_core.planning.discovery import Known, find_hole
    from kinesis_core.planning.loss import certain_from_ms
    from kinesis_core.planning.pacing import BatchGate, PlanAhead, log_planned
    from kinesis_core.planning.planner import Planner
    from kinesis_core.planning.settings import Limits, PlanSettings
    from kinesis_core.planning.shard_pages import ShardPage, ShardPages
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "kinesis_core.planning.discovery": "Known find_hole",
            "kinesis_core.planning.loss": "certain_from_ms",
            "kinesis_core.planning.pacing": "BatchGate PlanAhead log_planned",
            "kinesis_core.planning.planner": "Planner",
            "kinesis_core.planning.settings": "Limits PlanSettings",
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
