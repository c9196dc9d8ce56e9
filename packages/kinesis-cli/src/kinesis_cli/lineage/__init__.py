"""The shards of a stream as a tree: which came from which, what part of the hash keys each has, and how busy it is."""

from kinesis_cli.lineage.overview import Overview, look, overview_json
from kinesis_cli.lineage.table import bar, choose, draw

__all__ = [
    "Overview",
    "bar",
    "choose",
    "draw",
    "look",
    "overview_json",
]
