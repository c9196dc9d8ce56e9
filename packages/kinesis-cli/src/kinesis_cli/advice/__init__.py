"""What would help a stream: splits, merges, another number of shards, or finer keys. Samples go in, advice comes out."""

from kinesis_cli.advice.showing import draw, examine, report_json
from kinesis_cli.advice.words import AwsCli

__all__ = [
    "AwsCli",
    "draw",
    "examine",
    "report_json",
]
