"""What `df.writeStream.format("kinesis")` and `df.write.format("kinesis")` are told, as checked values."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, field, frozen

from kinesis_core.aws import Connection, StreamRef
from kinesis_core.errors import OptionError
from kinesis_core.options import (
    COMMON_OPTIONS,
    COMMON_UNSUPPORTED,
    FREEZE_WORKER_HEAP,
    SPARK_OPTIONS,
    STREAM_ARN,
    STREAM_NAME,
    OptionTable,
    Values,
    read_connection,
)
from kinesis_core.producing import ProducerSettings
from spark_kinesis_sink.options.writing import (
    AGGREGATION_ENABLED,
    AGGREGATION_MAX_SIZE,
    IGNORED_BY_SINK,
    MAX_CONNECTIONS,
    RECORD_MAX_BUFFERED_TIME,
    RECORD_TTL,
    WRITING_OPTIONS,
)

SINK_OPTIONS = OptionTable(
    options=COMMON_OPTIONS + WRITING_OPTIONS,
    unsupported=COMMON_UNSUPPORTED,
    ignored_options=IGNORED_BY_SINK,
    let_through=SPARK_OPTIONS,
)

MOST_CONNECTIONS = 32
"""What a producer takes, and more than a stream of any size has use for; other connectors accept up to 256."""
ROUTED_BUFFER_BYTES = 2 * 1024 * 1024
"""Where rows name their stream, a task has a buffer for each, and all of them in the memory of a task."""
_PATHS = ("path", "paths")
"""What Spark calls the argument of save() and start()."""


@frozen
class SinkOptions:
    """Everything that a sink is told. It pickles, and its repr shows no secret."""

    connection: Connection
    producer: ProducerSettings
    freeze_worker_heap: bool = FREEZE_WORKER_HEAP.default
    ignored: tuple[str, ...] = field(default=(), eq=False)
    """A line for the log for each option that was accepted and is not needed, or counts as something else."""

    @property
    def stream(self) -> StreamRef | None:
        """The stream that all rows go to; None when each row names its own."""
        return self.connection.streams[0] if self.connection.streams else None

    @staticmethod
    def parse(given: Mapping[str, object]) -> SinkOptions:
        """
        Return what *given*, the options as Spark hands them over, say; calls nothing over the network.

        Raises:
            OptionError: A name is unknown or not supported, a value is outside its domain, options contradict each
                other, several streams are named, or the region is missing.
        """
        values = SINK_OPTIONS.read({k: v for k, v in given.items() if k.lower() not in _PATHS})
        connection = read_connection(values, needs_stream=False)
        if len(connection.streams) > 1:
            named = STREAM_ARN if values.is_given(STREAM_ARN) else STREAM_NAME
            raise OptionError(
                f"{values.label(named)} names {len(connection.streams)} streams, and a sink writes all rows to one. "
                "Leave it out, and a column 'streamName' says for each row where it goes."
            )
        return SinkOptions(
            connection=connection,
            producer=_read_producer(values, routes_rows=not connection.streams),
            freeze_worker_heap=values[FREEZE_WORKER_HEAP],
            ignored=values.ignored + _path_notes(given),
        )


def _read_producer(values: Values, *, routes_rows: bool) -> ProducerSettings:
    settings = ProducerSettings(
        aggregation_enabled=values[AGGREGATION_ENABLED],
        aggregation_max_size=values[AGGREGATION_MAX_SIZE],
        record_max_buffered_time_s=values[RECORD_MAX_BUFFERED_TIME],
        max_connections=min(values[MAX_CONNECTIONS], MOST_CONNECTIONS),
        record_ttl_s=values[RECORD_TTL],
    )
    return evolve(settings, buffer_bytes=ROUTED_BUFFER_BYTES) if routes_rows else settings


def _path_notes(given: Mapping[str, object]) -> tuple[str, ...]:
    if any(name.lower() in _PATHS and value is not None for name, value in given.items()):
        return ("What save() or start() is given is not used: 'streamName' or 'streamARN' names the stream.",)
    return ()
