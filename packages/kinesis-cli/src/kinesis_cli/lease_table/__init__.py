"""The lease table of an application: who reads which shard, how far, whether these workers run, and changes of it."""

from kinesis_cli.lease_table.application import ManagedApplication
from kinesis_cli.lease_table.resets import parse_reset
from kinesis_cli.lease_table.showing import show_table

__all__ = [
    "ManagedApplication",
    "parse_reset",
    "show_table",
]
