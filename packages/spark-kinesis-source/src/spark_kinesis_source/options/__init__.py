"""The options of the source: their declarations, and the values that a user sets."""

from spark_kinesis_source.options.batches import DEAGGREGATE
from spark_kinesis_source.options.fan_out import FanOutOptions
from spark_kinesis_source.options.positions import ENDING_POSITION, STARTING_POSITION
from spark_kinesis_source.options.source_options import SOURCE_OPTIONS, SourceOptions, inside_aggregate_error

__all__ = [
    "DEAGGREGATE",
    "ENDING_POSITION",
    "FanOutOptions",
    "SOURCE_OPTIONS",
    "STARTING_POSITION",
    "SourceOptions",
    "inside_aggregate_error",
]
