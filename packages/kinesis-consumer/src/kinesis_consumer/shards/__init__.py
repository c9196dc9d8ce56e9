"""Which leases there are: those of a group's first shards, of the children of a shard that ended, and none that is no longer needed."""

from kinesis_consumer.shards.cleanup import delete_finished, left_unfinished, needless_leases
from kinesis_consumer.shards.ending import NotYet, create_children, unfinished_parents
from kinesis_consumer.shards.identity import names_streams, verify_naming, verify_stream
from kinesis_consumer.shards.keeper import Findings, LeaseKeeper, find_uncovered, missing_ranges
from kinesis_consumer.shards.positions import InitialPosition, LeaseStart, start_at
from kinesis_consumer.shards.sync import StaleListing, find_staleness, missing_leases

__all__ = [
    "Findings",
    "InitialPosition",
    "LeaseKeeper",
    "LeaseStart",
    "NotYet",
    "StaleListing",
    "create_children",
    "delete_finished",
    "find_staleness",
    "find_uncovered",
    "left_unfinished",
    "missing_leases",
    "missing_ranges",
    "names_streams",
    "needless_leases",
    "start_at",
    "unfinished_parents",
    "verify_naming",
    "verify_stream",
]
