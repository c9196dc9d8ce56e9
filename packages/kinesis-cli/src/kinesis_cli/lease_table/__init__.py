"""The lease table of an application: who reads which shard, how far, whether these workers run, and changes of it."""

from kinesis_cli.lease_table.activity import Life, SeenWorker, find_workers
from kinesis_cli.lease_table.application import ManagedApplication
from kinesis_cli.lease_table.applying import describe_change
from kinesis_cli.lease_table.changes import Change, apply, release, reset
from kinesis_cli.lease_table.guarding import check_release, check_reset
from kinesis_cli.lease_table.resets import Reset, parse_reset, plan_resets
from kinesis_cli.lease_table.showing import describe, show_table
from kinesis_cli.lease_table.snapshot import Snapshot
from kinesis_cli.lease_table.watching import Watched, watch

__all__ = [
    "Change",
    "Life",
    "ManagedApplication",
    "Reset",
    "SeenWorker",
    "Snapshot",
    "Watched",
    "apply",
    "check_release",
    "check_reset",
    "describe",
    "describe_change",
    "find_workers",
    "parse_reset",
    "plan_resets",
    "release",
    "reset",
    "show_table",
    "watch",
]
