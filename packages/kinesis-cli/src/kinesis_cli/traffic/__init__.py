"""How busy shards are: a sample of each shard's latest records, in total and by key."""

from kinesis_cli.traffic.durations import parse_sample
from kinesis_cli.traffic.paging import PageReader
from kinesis_cli.traffic.parallel import call_each
from kinesis_cli.traffic.reading import Bounds, Window, bounds_for, sample_shard
from kinesis_cli.traffic.samples import (
    ABOUT,
    AT_LEAST,
    EXACT,
    HOT,
    MAX_BYTES_PER_S,
    MAX_RECORDS_PER_S,
    KeyTraffic,
    PlaceTraffic,
    Sample,
    Total,
    add_up,
)
from kinesis_cli.traffic.sampling import sample_shards
from kinesis_cli.traffic.shown import RATES, load_style, rate_cells, rates_json, show_key, total_line
from kinesis_cli.traffic.tally import Tally, size_of

__all__ = [
    "ABOUT",
    "AT_LEAST",
    "Bounds",
    "EXACT",
    "HOT",
    "KeyTraffic",
    "MAX_BYTES_PER_S",
    "MAX_RECORDS_PER_S",
    "PageReader",
    "PlaceTraffic",
    "RATES",
    "Sample",
    "Tally",
    "Total",
    "Window",
    "add_up",
    "bounds_for",
    "call_each",
    "load_style",
    "parse_sample",
    "rate_cells",
    "rates_json",
    "sample_shard",
    "sample_shards",
    "show_key",
    "size_of",
    "total_line",
]
