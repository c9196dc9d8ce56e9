"""Names of the sink's options. Written by docs/generate_option_names.py from their declarations."""

SINK_NAMES = (
    "aggregationEnabled",
    "kinesis.sink.aggregationEnabled",
    "kinesis.executor.aggregationEnabled",
    "aggregationMaxSize",
    "recordMaxBufferedTimeMs",
    "kinesis.sink.recordMaxBufferedTimeMs",
    "kinesis.executor.recordMaxBufferedTime",
    "maxConnections",
    "kinesis.sink.maxConnections",
    "kinesis.executor.maxConnections",
    "recordTtlMs",
    "kinesis.sink.recordTtl",
    "flushWaitTimeMs",
    "kinesis.sink.flushWaitTimeMs",
    "kniesis.executor.flushwaittimemillis",
    "kinesis.executor.flushWaitTimeMillis",
)
