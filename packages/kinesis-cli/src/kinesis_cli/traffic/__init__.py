"""How busy shards are: a sample of each shard's latest records, in total and by key."""

from kinesis_cli.traffic.paging import PageReader
from kinesis_cli.traffic.reading import Window, bounds_for, sample_shards
from kinesis_cli.traffic.samples import HOT, KeyTraffic, PlaceTraffic, Sample, add_up
from kinesis_cli.traffic.shown import (
    RATES,
    load_style,
    rate_cells,
    rate_words,
    rates_json,
    show_key,
    show_mode,
    total_line,
)
from kinesis_cli.traffic.tally import Tally

__all__ = [
    "HOT",
    "KeyTraffic",
    "PageReader",
    "PlaceTraffic",
    "RATES",
    "Sample",
    "Tally",
    "Window",
    "add_up",
    "bounds_for",
    "load_style",
    "rate_cells",
    "rate_words",
    "rates_json",
    "sample_shards",
    "show_key",
    "show_mode",
    "total_line",
]
