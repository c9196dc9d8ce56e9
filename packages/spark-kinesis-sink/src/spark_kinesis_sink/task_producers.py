"""Producers that live as long as a Python worker of Spark, so that tasks share connections and shard maps."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from attrs import define, field

from kinesis_core.aws import StreamRef, find_session
from kinesis_core.clock import SteadyClock
from kinesis_core.producing import Producer, SenderGroup, Totals
from spark_kinesis_sink.options import SinkOptions

MOST_STREAMS = 1_000
"""Maximum number of producers with the same options. Each has a client, a shard map and the state of its shards."""
MOST_POOLS = 4
"""Maximum number of pools of a worker: of different options, or with different keys in the environment."""

Key = tuple[object, SinkOptions]
OpenProducer = Callable[[SinkOptions, StreamRef, SenderGroup], Producer]


def open_producer(options: SinkOptions, stream: StreamRef, group: SenderGroup) -> Producer:
    """Return a new producer."""
    return Producer.connect(options.connection, stream, options.producer, group)


@define
class ProducerPool:
    """The producers for all streams that the rows of a sink name. They share threads and a buffer."""

    group: SenderGroup
    producers: dict[StreamRef, Producer] = field(factory=dict)
    """The least recently used first."""

    @classmethod
    def of(cls, options: SinkOptions) -> ProducerPool:
        return cls(SenderGroup(options.producer.max_connections, SteadyClock()))

    def close(self) -> None:
        """Stop the threads. All rows are written."""
        for producer in self.producers.values():
            producer.close()

    def abort(self) -> None:
        """Stop the threads, whatever is written."""
        for producer in self.producers.values():
            producer.abort()


_idle: dict[Key, ProducerPool] = {}
"""Pools that no task uses, the least recently used first. A forked process has its own sessions, and so its own keys."""


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
        idle: dict[Key, ProducerPool] = _idle,
    ) -> None:
        self._options = options
        self._open_producer = open_producer
        self._idle = idle
        self._key: Key = (find_session(options.connection), options)
        kept = idle.pop(self._key, None)
        self._pool = kept or ProducerPool.of(options)
        self._used: set[StreamRef] = set()
        """The streams of rows that are not flushed."""
        self._totals = Totals()

    def __enter__(self) -> TaskProducers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None or self._used:
            self._pool.abort()
            return
        self._idle[self._key] = self._pool
        while len(self._idle) > MOST_POOLS:
            self._idle.pop(next(iter(self._idle))).close()

    def get(self, stream: StreamRef) -> Producer:
        """Return the producer for *stream*. If there are too many, the least recently used one is flushed and closed."""
        producers = self._pool.producers
        producer = producers.pop(stream, None)
        if producer is None:
            if len(producers) >= MOST_STREAMS:
                self._drop(next(iter(producers)))
            producer = self._open_producer(self._options, stream, self._pool.group)
        producers[stream] = producer
        self._used.add(stream)
        return producer

    def flush(self) -> Totals:
        """
        Wait until everything is written. Returns the totals of the task.

        Raises:
            PutError: Some rows could not be written.
        """
        used = {stream: self._pool.producers[stream] for stream in self._used}
        for producer in used.values():
            producer.seal()  # so that the first flush sends what all of them have
        for stream, producer in used.items():
            self._totals += producer.flush()
            self._used.remove(stream)
        return self._totals

    def _drop(self, stream: StreamRef) -> None:
        self._totals += self._pool.producers.pop(stream).close()
        self._used.discard(stream)
