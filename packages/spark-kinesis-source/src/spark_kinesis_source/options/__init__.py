"""The options of the source: their declarations, and the values that a user sets."""

from spark_kinesis_source.options.fan_out_options import FanOutOptions
from spark_kinesis_source.options.source_options import SOURCE_OPTIONS, SourceOptions

__all__ = [
    "FanOutOptions",
    "SOURCE_OPTIONS",
    "SourceOptions",
]
