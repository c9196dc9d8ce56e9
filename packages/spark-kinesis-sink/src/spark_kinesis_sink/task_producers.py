"""Producers that live as long as a Python worker of Spark, so that tasks share connections and shard maps."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from types import TracebackType

from kinesis_core.aws import StreamRef, find_session
from kinesis_core.producing import Producer, Totals
from spark_kinesis_sink.options import SinkOptions

MOST_OPEN = 16
"""Maximum number of open producers of a task, and of idle ones. Each has threads and a buffer."""

Key = tuple[object, SinkOptions, StreamRef]
OpenProducer = Callable[[SinkOptions, StreamRef], Producer]

_idle: dict[Key, Producer] = {}
"""Flushed producers, the least recently used first. A forked process has its own sessions, and so its own keys."""


def open_producer(options: SinkOptions, stream: StreamRef) -> Producer:
    """Return a new producer."""
    return Producer.connect(options.connection, stream, options.producer)


class TaskProducers:
    """
    The producers of one task. A context manager.

    Flushed producers are kept for the next task. After an error they are aborted with all they hold: the task fails,
    and Spark runs it again from its first row.
    """

    def __init__(
        self,
        options: SinkOptions,
        open_producer: OpenProducer = open_producer,
        idle: MutableMapping[Key, Producer] = _idle,
    ) -> None:
        self._options = options
        self._session = find_session(options.connection)
        self._open_producer = open_producer
        self._idle = idle
        self._open: dict[StreamRef, Producer] = {}
        self._totals = Totals()

    def __enter__(self) -> TaskProducers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for producer in self._open.values():
            producer.abort()
        self._open.clear()

    def get(self, stream: StreamRef) -> Producer:
        """Return the producer for *stream*. If too many are open, the least recently used one is flushed first."""
        producer = self._open.pop(stream, None)
        if producer is None:
            if len(self._open) >= MOST_OPEN:
                self._finish(next(iter(self._open)))
            producer = self._idle.pop(self._key(stream), None) or self._open_producer(self._options, stream)
        self._open[stream] = producer
        return producer

    def flush(self) -> Totals:
        """
        Wait until everything is written. Returns the totals of the task.

        Raises:
            PutError: Some rows could not be written.
        """
        for stream in list(self._open):
            self._finish(stream)
        return self._totals

    def _finish(self, stream: StreamRef) -> None:
        self._totals += self._open[stream].flush()
        self._idle[self._key(stream)] = self._open.pop(stream)
        while len(self._idle) > MOST_OPEN:
            self._idle.pop(next(iter(self._idle))).close()

    def _key(self, stream: StreamRef) -> Key:
        return (self._session, self._options, stream)
