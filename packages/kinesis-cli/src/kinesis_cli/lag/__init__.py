"""
How far the readers of a stream are behind: queries of Spark by their checkpoints, applications by their lease tables.

`measure_lag` returns values and prints nothing.
"""

from kinesis_cli.lag.measuring import measure_lag
from kinesis_cli.lag.metrics import Address, serve_lag
from kinesis_cli.lag.readings import name_readers
from kinesis_cli.lag.results import ReaderLag, ShardLag, State, StreamLag
from kinesis_cli.lag.showing import draw_lag, show_lag, watch_lag

__all__ = [
    "Address",
    "ReaderLag",
    "ShardLag",
    "State",
    "StreamLag",
    "draw_lag",
    "measure_lag",
    "name_readers",
    "serve_lag",
    "show_lag",
    "watch_lag",
]
