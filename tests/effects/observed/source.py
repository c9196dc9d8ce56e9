"""The options of the source: their effects on plans, requests, rows and published progress."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from effects.observed.world import Effect, Observe, Options, World
from kinesis_core.errors import DataLossError
from kinesis_core.reading import ReadSettings
from kinesis_emulator import Fault
from spark_kinesis_source.batch_reader import FilteringBatchReader
from spark_kinesis_source.options import SourceOptions
from spark_kinesis_source.task import ReadTask
from support.aggregates import aggregate
from support.halves import batch_reader, payloads, plan, streaming

HOUR_AGO_S = int(time.time()) - 3600
RECORDS, RECORD_BYTES = 20, 100
OBSERVATIONS = 5
FROM_OLDEST = {"startingPosition": "TRIM_HORIZON"}
TO_DYNAMODB = {"metadataCommitterType": "DYNAMODB", "dynamodbEndpointUrl": "{dynamodb}"}


def within(default_s: float, observe: Observe) -> Observe:
    """Return *observe*, repeated where the machine stood still for so long that a default time of the option was over."""

    def observe_in_time(world: World, given: Options) -> object:
        for _ in range(OBSERVATIONS):
            started_s = time.monotonic()
            found = observe(world, given)
            if time.monotonic() - started_s < default_s:
                break
        return found

    return observe_in_time


def fill(world: World, given: Options, shards: int = 1) -> dict[str, Any]:
    """Create a stream with records that arrived an hour ago, one a millisecond. Return *given* for it."""
    options = world.options_of_new_stream(given, shards)
    for number in range(RECORDS):
        arrived_s = HOUR_AGO_S + number / 1000
        world.emulator.put(
            options["streamName"], f"{number:0{RECORD_BYTES}}", f"key-{number}", arrived_s=arrived_s
        )
    return options


def rows_of_batch(world: World, given: Options) -> object:
    """Return how many rows the first micro-batch has."""
    with streaming(fill(world, given)) as reader:
        partitions, _ = plan(reader)
        return len(payloads(reader, partitions))


def rows_of_batch_of_shards(world: World, given: Options) -> object:
    """Return how many rows the first micro-batch has of a shard beside three others, of which nothing is known either."""
    options = world.options_of_new_stream(given, 4)
    for number in range(RECORDS):
        arrived_s = HOUR_AGO_S + number / 1000
        world.emulator.put(
            options["streamName"], f"{number:0{RECORD_BYTES}}", "key", "0", arrived_s=arrived_s
        )
    with streaming(options) as reader:
        partitions, _ = plan(reader)
        return len(payloads(reader, partitions))


def rows_beside_a_busy_shard(world: World, given: Options) -> object:
    """Return how many rows the first micro-batch has, where one shard has many, and another has one that came a minute later."""
    options = world.options_of_new_stream(given, 2)
    for number in range(RECORDS):
        world.emulator.put(options["streamName"], "busy", "key", 0, arrived_s=HOUR_AGO_S + number / 1000)
    world.emulator.put(options["streamName"], "later", "key", 2**127, arrived_s=HOUR_AGO_S + 60)
    with streaming(options) as reader:
        partitions, _ = plan(reader)
        return len(payloads(reader, partitions))


def rows_of_read(world: World, given: Options) -> object:
    """Return how many rows a batch read has."""
    reader = batch_reader(fill(world, given))
    return len(payloads(reader, reader.partitions()))


def rows_of_aggregate(world: World, given: Options) -> object:
    """Return how many rows an aggregate of three becomes."""
    options = world.options_of_new_stream(given)
    world.emulator.put(options["streamName"], aggregate([("key", None, b"tea")] * 3))
    reader = batch_reader(options)
    return len(payloads(reader, reader.partitions()))


def loss(world: World, given: Options) -> object:
    """Return what a query does at a position whose record is older than the retention."""
    options = world.options_of_new_stream(given)
    name = options["streamName"]
    gone = world.emulator.put(name, "gone", arrived_s=HOUR_AGO_S - 86_400)
    world.emulator.put(name, "kept")
    position = json.dumps({gone.shard_id: {"AFTER": str(gone.sequence_number)}})
    try:
        with streaming({**options, "startingPosition": position}) as reader:
            return payloads(reader, plan(reader)[0])
    except DataLossError:
        return "stopped"


class EqualTo(NamedTuple):
    """The condition of this name in Spark 4.1 and later."""

    attribute: tuple[str, ...]
    value: str


def rows_of_another_shard(world: World, given: Options) -> object:
    """Return how many rows the tasks deliver where a condition excludes their shard: Spark drops them later."""
    reader = batch_reader(fill(world, given))
    if isinstance(reader, FilteringBatchReader):
        reader.pushFilters([EqualTo(("shardId",), "another")])
    return len(payloads(reader, reader.partitions()))


def rows_near_expiry(world: World, given: Options) -> object:
    """Return what a start at the oldest record reads of two records, 23 hours and one hour old."""
    options = world.options_of_new_stream(given)
    for hours, data in ((23, "old"), (1, "new")):
        world.emulator.put(options["streamName"], data, arrived_s=time.time() - hours * 3600)
    with streaming(options) as reader:
        return payloads(reader, plan(reader)[0])


def rows_of_second_batch(world: World, given: Options) -> object:
    """Return how many rows the second micro-batch has if one record arrives after the first one."""
    options = fill(world, given)
    with streaming(options) as reader:
        _, end = plan(reader)
        world.emulator.put(options["streamName"], "one more")
        partitions, _ = plan(reader, end)
        return len(payloads(reader, partitions))


def tasks(world: World, given: Options) -> object:
    """Return how many partitions four shards result in."""
    with streaming(fill(world, given, shards=4)) as reader:
        return len(plan(reader)[0])


def listings(world: World, given: Options) -> object:
    """Return how often three more plans list the shards."""
    with streaming(fill(world, given)) as reader:
        _, end = plan(reader)
        listed = world.emulator.calls.count("ListShards")
        for _ in range(3):
            plan(reader, end)
        return world.emulator.calls.count("ListShards") - listed


def is_threaded(world: World, given: Options) -> object:
    """Return whether shards are planned in threads."""
    before = set(threading.enumerate())
    with streaming(fill(world, given, shards=4)) as reader:
        plan(reader)
        return any(t.name.startswith("kinesis-plan") for t in set(threading.enumerate()) - before)


def shards_of_slow_batch(world: World, given: Options) -> object:
    """Return how many of four shards the first micro-batch has, if each call takes longer than the shortest budget."""
    slow, options = Fault(delay_s=0.15), fill(world, given, shards=4)
    with streaming(options) as reader:
        start = reader.initialOffset()
    with streaming(options) as reader:  # restarted: a query's very first plan is whole
        world.refuse = lambda request: slow if request.action == "GetRecords" else None
        try:
            _, end = plan(reader, start)
        finally:
            world.refuse = lambda _: None
        (stream,) = end["streams"].values()
        return sum("AFTER" in shard for shard in stream["shards"].values())


def limits_of_fetches(world: World, given: Options) -> object:
    """Return how many records a task requests per call."""
    reader = batch_reader(fill(world, given))
    partitions = list(reader.partitions())
    world.requests.clear()
    payloads(reader, partitions)
    return {request.params["Limit"] for request in world.requests if request.action == "GetRecords"}


def reading(look: Callable[[ReadSettings], object]) -> Observe:
    """Observe the settings of a task's readers."""
    return lambda world, given: look(ReadTask.of(SourceOptions.parse(world.options(given)), ()).settings)


def calls_of_tasks(world: World, given: Options) -> object:
    """Return how many calls the tasks of the first micro-batch make."""
    with streaming(fill(world, given)) as reader:
        partitions, _ = plan(reader)
        world.requests.clear()
        assert len(payloads(reader, partitions)) == RECORDS
        return len(world.requests)


def tables(world: World, given: Options) -> object:
    """Return the tables that two plans create, with general names."""
    before = _list_tables(world)
    options = fill(world, {**FROM_OLDEST, **given})
    with streaming(options) as reader:
        _, end = plan(reader)
        plan(reader, end)
    general = {world.database.table: "TABLE", f"kdsc_us-east-1_{options['streamName']}": "DEFAULT"}
    return {general[name] for name in _list_tables(world) - before}


def _list_tables(world: World) -> set[str]:
    return set(world.database.client.list_tables()["TableNames"])


fetch_period_s = reading(lambda settings: settings.min_fetch_period_s)

EFFECTS = {
    "startingPosition": Effect(rows_of_batch, FROM_OLDEST, RECORDS, 0),
    "endingPosition": Effect(
        rows_of_read, {"endingPosition": f"AT_TIMESTAMP {HOUR_AGO_S * 1000 + 5}"}, 5, RECORDS
    ),
    "filterPushdown": Effect(rows_of_another_shard, {"filterPushdown": "true"}, 0, RECORDS),
    "failOnDataLoss": Effect(loss, {"failOnDataLoss": "false"}, [b"kept"], "stopped"),
    "trimHorizonMargin": Effect(
        rows_near_expiry, {"trimHorizonMargin": "2 h"}, [b"new"], [b"old", b"new"], both=FROM_OLDEST
    ),
    "minRecordsPerTrigger": Effect(
        rows_of_second_batch, {"minRecordsPerTrigger": "1000"}, 0, 1, both=FROM_OLDEST
    ),
    "maxTriggerDelay": Effect(
        rows_of_second_batch,
        {"maxTriggerDelay": "0 s"},
        1,
        0,
        both={**FROM_OLDEST, "minRecordsPerTrigger": "1000"},
    ),
    "maxRecordsPerShard": Effect(rows_of_batch, {"maxRecordsPerShard": "5"}, 5, RECORDS, both=FROM_OLDEST),
    "maxBytesPerShard": Effect(rows_of_batch, {"maxBytesPerShard": "600"}, 6, RECORDS, both=FROM_OLDEST),
    "maxRecordsPerTrigger": Effect(
        rows_of_batch_of_shards, {"maxRecordsPerTrigger": "8"}, 2, RECORDS, both=FROM_OLDEST
    ),
    "maxBytesPerBatch": Effect(
        rows_of_batch_of_shards, {"maxBytesPerBatch": "2400"}, 6, RECORDS, both=FROM_OLDEST
    ),
    "maxShardSkew": Effect(
        rows_beside_a_busy_shard,
        {"maxShardSkew": "none"},
        6,
        5,
        both={**FROM_OLDEST, "maxRecordsPerShard": "5"},
    ),
    "shardsPerTask": Effect(tasks, {"shardsPerTask": "2"}, 2, 1, both=FROM_OLDEST),
    "maxPartitions": Effect(tasks, {"maxPartitions": "3"}, 3, 1, both=FROM_OLDEST),
    "shardDiscoveryInterval": Effect(
        within(10.0, listings),
        {"shardDiscoveryInterval": "0 ms"},
        3,
        0,
        both={**FROM_OLDEST, "minFetchPeriod": "0 ms"},
    ),
    "planningThreads": Effect(is_threaded, {"planningThreads": "1"}, False, True, both=FROM_OLDEST),
    "planBudget": Effect(
        within(2.0, shards_of_slow_batch),
        {"planBudget": "100 ms"},
        1,
        4,
        both={**FROM_OLDEST, "planningThreads": "1"},
    ),
    "maxRecordsPerFetch": Effect(limits_of_fetches, {"maxRecordsPerFetch": "7"}, {7}, {10_000}),
    "minFetchPeriod": Effect(fetch_period_s, {"minFetchPeriod": "1 s"}, 1.0, 0.2),
    "quotaShare": Effect(
        lambda world, given: SourceOptions.parse(world.options(given)).plan.look_period_s,
        {"quotaShare": "1"},
        0.2,
        0.4,
    ),
    "inlineRecords": Effect(calls_of_tasks, {"inlineRecords": "false"}, 2, 0, both=FROM_OLDEST),
    "addIdleTimeBetweenReads": Effect(
        fetch_period_s,
        {"addIdleTimeBetweenReads": "true"},
        0.5,
        0.2,
        both={"idleTimeBetweenReadsInMs": "500"},
    ),
    "idleTimeBetweenReadsInMs": Effect(
        fetch_period_s,
        {"idleTimeBetweenReadsInMs": "500"},
        0.5,
        1.0,
        both={"addIdleTimeBetweenReads": "true"},
    ),
    "maxFetchRate": Effect(
        reading(lambda settings: settings.max_fetch_rate_bytes),
        {"maxFetchRate": "0.5"},
        512.0 * 1024,
        2048.0 * 1024,
    ),
    "maxBufferedBytes": Effect(
        reading(lambda settings: settings.max_buffered_bytes),
        {"maxBufferedBytes": "16m"},
        16 * 1024 * 1024,
        128 * 1024 * 1024,
    ),
    "deaggregate": Effect(rows_of_aggregate, {"deaggregate": "false"}, 1, 3),
    "metadataCommitterType": Effect(
        tables, TO_DYNAMODB, {"TABLE"}, set(), both={"dynamodbTableName": "{table}"}
    ),
    "dynamodbTableName": Effect(
        tables, {"dynamodbTableName": "{table}"}, {"TABLE"}, {"DEFAULT"}, both=TO_DYNAMODB
    ),
    "dynamodbEndpointUrl": Effect(
        tables,
        TO_DYNAMODB,
        {"TABLE"},
        set(),
        both={"dynamodbTableName": "{table}", "metadataCommitterType": "DYNAMODB"},
    ),
}
