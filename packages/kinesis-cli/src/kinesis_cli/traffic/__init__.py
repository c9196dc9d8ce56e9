"""How busy shards are: a sample of each shard's latest records, in total and by key."""

from kinesis_cli.traffic.paging import PageReader
from kinesis_cli.traffic.reading import Bounds, Window, bounds_for, sample_shard, sample_shards
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
from kinesis_cli.traffic.shown import (
    RATES,
    load_style,
    rate_cells,
    rates_json,
    show_key,
    show_mode,
    total_line,
)
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
    "load_style",
    "rate_cells",
    "rates_json",
    "sample_shard",
    "sample_shards",
    "show_key",
    "show_mode",
    "size_of",
    "total_line",
]
