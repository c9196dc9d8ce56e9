"""The options of `df.writeStream.format("kinesis")` and `df.write.format("kinesis")`, as checked values."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from kinesis_core.aws import Connection, StreamRef
from kinesis_core.errors import OptionError
from kinesis_core.options import (
    COMMON_OPTIONS,
    COMMON_UNSUPPORTED,
    FREEZE_WORKER_HEAP,
    IGNORED_BY_SINK,
    KAFKA_SINK_HINTS,
    REFUSED_BY_SINK,
    SPARK_OPTIONS,
    STREAM_ARN,
    STREAM_NAME,
    Group,
    OptionTable,
    Values,
    boolean,
    duration,
    integer,
    read_connection,
)
from kinesis_core.producing import MOST_CONNECTIONS, ProducerSettings

WRITING = Group("Writing")
_DEFAULTS = ProducerSettings()

AGGREGATION_ENABLED = WRITING.option(
    name="aggregationEnabled",
    meaning=(
        "Whether rows are packed into aggregates, as the KPL does. Consumers must unpack them, as this source, the KCL "
        "and others do. `false` writes one record for each row."
    ),
    parser=boolean(),
    default=_DEFAULTS.aggregation_enabled,
)
AGGREGATION_MAX_SIZE = WRITING.option(
    name="aggregationMaxSize",
    meaning="Maximum size of an aggregate. The maximum record size of the stream is a second limit.",
    parser=integer(64, 10 * 1024 * 1024, "bytes"),
    default=_DEFAULTS.aggregation_max_size,
)
RECORD_MAX_BUFFERED_TIME = WRITING.option(
    name="recordMaxBufferedTimeMs",
    meaning="Maximum time a row is buffered to share an aggregate or a request. "
    "The end of a task sends all rows at once.",
    parser=duration(0, 300, "ms"),
    default=_DEFAULTS.record_max_buffered_time_s,
)
MAX_CONNECTIONS = WRITING.option(
    name="maxConnections",
    meaning=f"Maximum number of requests that a task has in flight. More than {MOST_CONNECTIONS} count as {MOST_CONNECTIONS}.",
    parser=integer(1, 256, "requests"),
    default=_DEFAULTS.max_connections,
)
RECORD_TTL = WRITING.option(
    name="recordTtlMs",
    meaning="For how long the requests for a shard may fail. The task fails if the shard accepts nothing for that long. A shard that "
    "throttles is waited for, 20 times as long if it accepts nothing at all. A row has no time limit of its own.",
    parser=duration(0.1, 86400, "ms"),
    default=_DEFAULTS.record_ttl_s,
)


SINK_OPTIONS = OptionTable(
    options=COMMON_OPTIONS + WRITING.options,
    unsupported=(*COMMON_UNSUPPORTED, *REFUSED_BY_SINK),
    ignored_options=IGNORED_BY_SINK,
    let_through=SPARK_OPTIONS,
    hints=KAFKA_SINK_HINTS,
)

_PATHS = ("path", "paths")
"""Spark's names for the argument of save() and start()."""


@frozen
class SinkOptions:
    """All options of a sink. It pickles, and its repr shows no secret."""

    connection: Connection
    producer: ProducerSettings
    freeze_worker_heap: bool = FREEZE_WORKER_HEAP.default
    ignored: tuple[str, ...] = field(default=(), eq=False)
    """One line for the log for each option that has no effect here, or counts as another value."""

    @property
    def stream(self) -> StreamRef | None:
        """The stream that all rows go to, or None if each row names its stream."""
        return self.connection.streams[0] if self.connection.streams else None

    @staticmethod
    def parse(given: Mapping[str, object]) -> SinkOptions:
        """
        Return the values of *given*, the options as Spark passes them. Makes no call over the network.

        Raises:
            OptionError: A name is unknown or not supported, a value is outside its domain, options contradict each
                other, several streams are named, or the region is missing.
        """
        values = SINK_OPTIONS.read({k: v for k, v in given.items() if k.lower() not in _PATHS})
        connection = read_connection(values, needs_stream=False)
        if len(connection.streams) > 1:
            named = STREAM_ARN if values.is_given(STREAM_ARN) else STREAM_NAME
            raise OptionError(
                f"{values.label(named)} names {len(connection.streams)} streams; a sink writes all rows to one. "
                "Name one stream, or leave the option out and name the stream of each row in a column 'streamName'."
            )
        return SinkOptions(
            connection=connection,
            producer=_read_producer(values),
            freeze_worker_heap=values[FREEZE_WORKER_HEAP],
            ignored=values.ignored + _ignored_paths(given),
        )


def _read_producer(values: Values) -> ProducerSettings:
    return ProducerSettings(
        aggregation_enabled=values[AGGREGATION_ENABLED],
        aggregation_max_size=values[AGGREGATION_MAX_SIZE],
        record_max_buffered_time_s=values[RECORD_MAX_BUFFERED_TIME],
        max_connections=min(values[MAX_CONNECTIONS], MOST_CONNECTIONS),
        record_ttl_s=values[RECORD_TTL],
    )


def _ignored_paths(given: Mapping[str, object]) -> tuple[str, ...]:
    if any(name.lower() in _PATHS and value is not None for name, value in given.items()):
        return (
            "The argument of save() or start() is ignored: 'streamName' or 'streamARN' names the stream.",
        )
    return ()
