"""The options that only the sink has, each declared once."""

from __future__ import annotations

from kinesis_core.options import Option, boolean, duration, integer
from kinesis_core.producing import MOST_CONNECTIONS, ProducerSettings

WRITING = "Writing"
_DEFAULTS = ProducerSettings()

AGGREGATION_ENABLED = Option[bool](
    name="aggregationEnabled",
    meaning=(
        "Whether rows are packed into aggregates, as the KPL does. Consumers must unpack them, as this source, the KCL "
        "and others do. `false` writes one record for each row."
    ),
    parser=boolean(),
    default=_DEFAULTS.aggregation_enabled,
    group=WRITING,
)
AGGREGATION_MAX_SIZE = Option[int](
    name="aggregationMaxSize",
    meaning="Maximum size of an aggregate. The maximum record size of the stream is a second limit.",
    parser=integer(64, 10 * 1024 * 1024, "bytes"),
    default=_DEFAULTS.aggregation_max_size,
    group=WRITING,
)
RECORD_MAX_BUFFERED_TIME = Option[float](
    name="recordMaxBufferedTimeMs",
    meaning="Maximum time a row is buffered to share an aggregate or a request. "
    "The end of a task sends all rows at once.",
    parser=duration(0, 300, "ms"),
    default=_DEFAULTS.record_max_buffered_time_s,
    group=WRITING,
)
MAX_CONNECTIONS = Option[int](
    name="maxConnections",
    meaning=f"Maximum number of requests that a task has in flight. More than {MOST_CONNECTIONS} count as {MOST_CONNECTIONS}.",
    parser=integer(1, 256, "requests"),
    default=_DEFAULTS.max_connections,
    group=WRITING,
)
RECORD_TTL = Option[float](
    name="recordTtlMs",
    meaning="For how long the requests for a shard may fail. The task fails if the shard accepts nothing for that long. A shard that "
    "throttles is waited for, 20 times as long if it accepts nothing at all. A row has no time limit of its own.",
    parser=duration(0.1, 86400, "ms"),
    default=_DEFAULTS.record_ttl_s,
    group=WRITING,
)

WRITING_OPTIONS = (
    AGGREGATION_ENABLED,
    AGGREGATION_MAX_SIZE,
    RECORD_MAX_BUFFERED_TIME,
    MAX_CONNECTIONS,
    RECORD_TTL,
)
