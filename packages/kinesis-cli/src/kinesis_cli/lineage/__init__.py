"""The shards of a stream as a tree: which came from which, what part of the hash keys each has, and how busy it is."""

from kinesis_cli.lineage.as_json import overview_json
from kinesis_cli.lineage.bars import bar
from kinesis_cli.lineage.choice import Shown, choose
from kinesis_cli.lineage.overview import Overview, look
from kinesis_cli.lineage.table import draw
from kinesis_cli.lineage.tree import Row, grow

__all__ = [
    "Overview",
    "Row",
    "Shown",
    "bar",
    "choose",
    "draw",
    "grow",
    "look",
    "overview_json",
]
