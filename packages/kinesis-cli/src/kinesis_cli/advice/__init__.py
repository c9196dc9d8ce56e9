"""What would help a stream: splits, merges, another number of shards, or finer keys. Samples go in, advice comes out."""

from kinesis_cli.advice.judge import (
    MERGE_BELOW,
    Fine,
    HashCut,
    HotKey,
    LeftToKinesis,
    Merge,
    Recommendation,
    Scale,
    Split,
    SplitInTheMiddle,
    TooLittle,
    advise,
    halve,
)
from kinesis_cli.advice.report import Report, examine
from kinesis_cli.advice.showing import draw, report_json
from kinesis_cli.advice.words import AwsCli, explain

__all__ = [
    "AwsCli",
    "Fine",
    "HashCut",
    "HotKey",
    "LeftToKinesis",
    "MERGE_BELOW",
    "Merge",
    "Recommendation",
    "Report",
    "Scale",
    "Split",
    "SplitInTheMiddle",
    "TooLittle",
    "advise",
    "draw",
    "examine",
    "explain",
    "halve",
    "report_json",
]
