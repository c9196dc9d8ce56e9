"""The options of the source, declared once, and parsed into settings."""

from spark_kinesis_source.options.fan_out_options import FanOutOptions
from spark_kinesis_source.options.source_options import SOURCE_OPTIONS, SourceOptions

__all__ = [
    "FanOutOptions",
    "SOURCE_OPTIONS",
    "SourceOptions",
]
