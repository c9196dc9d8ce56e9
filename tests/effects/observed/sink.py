"""The options of the sink: their effects on the records in the stream, and on the producers of a task."""

from __future__ import annotations

from collections.abc import Callable

from effects.observed.world import STREAM, Effect, Observe, Options, World
from kinesis_core.aws import StreamRef
from kinesis_core.producing import ProducerSettings
from spark_kinesis_sink.options import SinkOptions
from spark_kinesis_sink.task_producers import ProducerPool, open_producer
from support.halves import write

ROWS = ["x" * 100] * 10


def records(world: World, given: Options) -> object:
    """Return how many records ten rows become."""
    options = world.options_of_new_stream(given)
    write(options, ROWS)
    return len(world.emulator.records(options["streamName"]))


def producing(look: Callable[[ProducerSettings], object]) -> Observe:
    """Observe the settings of a task's producer."""

    def observe(world: World, given: Options) -> object:
        options = SinkOptions.parse(world.options(given))
        producer = open_producer(options, StreamRef(STREAM), ProducerPool.of(options).group)
        producer.close()
        return look(producer.settings)

    return observe


EFFECTS = {
    "aggregationEnabled": Effect(records, {"aggregationEnabled": "false"}, len(ROWS), 1),
    "aggregationMaxSize": Effect(records, {"aggregationMaxSize": "600"}, 3, 1),
    "recordMaxBufferedTimeMs": Effect(
        producing(lambda settings: settings.record_max_buffered_time_s),
        {"recordMaxBufferedTimeMs": "50"},
        0.05,
        1.0,
    ),
    "maxConnections": Effect(
        producing(lambda settings: settings.max_connections), {"maxConnections": "2"}, 2, 8
    ),
    "recordTtlMs": Effect(
        producing(lambda settings: settings.record_ttl_s), {"recordTtlMs": "5000"}, 5.0, 30.0
    ),
}
