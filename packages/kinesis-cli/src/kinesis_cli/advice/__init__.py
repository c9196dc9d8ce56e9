"""What would help a stream: splits, merges, another number of shards, or finer keys. Samples go in, advice comes out."""

from kinesis_cli.advice.as_json import report_json
from kinesis_cli.advice.aws_cli import AwsCli
from kinesis_cli.advice.cuts import HashCut, halve
from kinesis_cli.advice.drawn import draw
from kinesis_cli.advice.judge import MERGE_BELOW, advise
from kinesis_cli.advice.kinds import (
    Advice,
    Fine,
    HotKey,
    LeftToKinesis,
    Merge,
    Scale,
    Split,
    SplitInTheMiddle,
    TooLittle,
)
from kinesis_cli.advice.report import Report, examine
from kinesis_cli.advice.words import explain

__all__ = [
    "Advice",
    "AwsCli",
    "Fine",
    "HashCut",
    "HotKey",
    "LeftToKinesis",
    "MERGE_BELOW",
    "Merge",
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
