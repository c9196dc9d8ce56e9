"""The options of the sink, declared once, and parsed into settings."""

from spark_kinesis_sink.options.sink_options import SINK_OPTIONS, SinkOptions

__all__ = [
    "SINK_OPTIONS",
    "SinkOptions",
]
