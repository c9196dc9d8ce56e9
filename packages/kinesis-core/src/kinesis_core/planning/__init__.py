"""
Where a batch ends: the driver's part. A plan fixes the end of each shard at a real record, continues with the children of
finished shards, and reports lost records.
"""

from kinesis_core.planning.batch_end import Limits
from kinesis_core.planning.batch_gate import BatchGate
from kinesis_core.planning.lineage import Known, find_hole
from kinesis_core.planning.plan_ahead import PlanAhead
from kinesis_core.planning.plan_settings import PlanSettings
from kinesis_core.planning.planned import log_planned
from kinesis_core.planning.planner import Planner
from kinesis_core.planning.shard_pages import ShardPage, ShardPages

__all__ = [
    "BatchGate",
    "Known",
    "Limits",
    "PlanAhead",
    "PlanSettings",
    "Planner",
    "ShardPage",
    "ShardPages",
    "find_hole",
    "log_planned",
]
