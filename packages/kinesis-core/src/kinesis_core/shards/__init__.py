"""
One shard, read politely: within its quota, across gaps, and with iterators that are renewed when they expire.

The planner, the readers of ranges, the publisher of leases, consumer groups and the command line all call shards through here.
"""

from kinesis_core.shards.stalls import LONGEST_S, NO_PROGRESS, STALLED_PAGES, Stall

__all__ = ["LONGEST_S", "NO_PROGRESS", "STALLED_PAGES", "Stall"]
