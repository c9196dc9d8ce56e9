"""A Spark query and a consumer group, while a producer runs and shards are split and merged."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from kinesis_consumer import Batch, ConsumerGroup, DynamoLeases, GroupSettings, LeaseLostError
from tools.aws.kit import Kit, Sizes, wait_until
from tools.aws.load import Load, Place, check_numbers, contents, usage
from tools.aws.prices import add

STALL_S = 180.0
"""A reader that gets nothing new for so long has stopped."""


def spark_usage(sizes: Sizes) -> dict[str, float]:
    return add(usage(sizes.records), {"shard_hours": 1, "put_units": sizes.records})


def run_spark(kit: Kit) -> None:
    """Read with Spark, stop in the middle, continue from the checkpoint, and write all rows to a second stream."""
    stream, copies = kit.stream("source", 2), kit.stream("sink", 1)
    kit.use(put_units=kit.sizes.records)
    spark = _session(kit)
    runs: dict[int, list[list[Place]]] = {}
    checkpoints = Path(tempfile.mkdtemp(dir=kit.folder))

    def collect(frame: Any, batch_id: int) -> None:
        columns = ("shardId", "sequenceNumber", "subSequenceNumber")
        places = [tuple(row) for row in frame.select(*columns).collect()]
        runs[batch_id] = [*runs.get(batch_id, []), places]  # in one step, because another thread looks

    def rows() -> list[Place]:
        return [place for _, of_batch in sorted(dict(runs).items()) for place in of_batch[-1]]

    def read() -> Any:
        options = {**kit.target.options(), "streamName": stream, "startingPosition": "TRIM_HORIZON"}
        columns = (
            "data binary, partitionKey string, shardId string, sequenceNumber string, subSequenceNumber long"
        )
        return spark.readStream.format("kinesis").options(**options).schema(columns).load()

    def start_reading() -> Any:
        writer = read().writeStream.foreachBatch(collect).trigger(processingTime="1 second")
        return writer.option("checkpointLocation", str(checkpoints / "reading")).start()

    try:
        copying = read().select("data", "partitionKey").writeStream.format("kinesis")
        copying = copying.options(**kit.target.options(), streamName=copies)
        copying = copying.option("checkpointLocation", str(checkpoints / "copying")).start()
        reading = start_reading()
        with Load(kit, stream) as load:
            wait_until(lambda: load.written > kit.sizes.records // 2 or load.error)
            reading.stop()
            reading = start_reading()
        load.check()
        found = contents(kit, stream)
        _wait_for(lambda: len(rows()), len(found), (reading, copying))
        # processAllAvailable ends with the first plan that finds nothing, also while a shard is throttled.
        _wait_for(lambda: len(_numbers(kit, copies)), load.written, (copying,))
    finally:
        for query in spark.streams.active:
            query.stop()
        spark.stop()
    _check_rows(kit, rows(), found)
    are_equal = all(sorted(run) == sorted(of_batch[0]) for of_batch in runs.values() for run in of_batch)
    kit.findings.check("a batch that ran again held the same rows", are_equal)
    check_numbers(kit, "the source stream", load.written, (number for _, number in found.values()))
    check_numbers(kit, "the stream of the sink", load.written, _numbers(kit, copies))
    kit.findings.check("a split and a merge happened", load.reshards == 2, load.reshards)


def _numbers(kit: Kit, stream: str) -> set[int]:
    return {number for _, number in contents(kit, stream).values()}


def _session(kit: Kit) -> Any:
    from pyspark.sql import SparkSession

    from support.paths import python_path
    from support.spark_harness import CONFIG

    os.environ.update(PYSPARK_PYTHON=sys.executable, PYTHONPATH=python_path())
    builder = SparkSession.builder.master("local[4]").appName("kinesis-day")
    for key, value in {**CONFIG, "spark.sql.warehouse.dir": str(kit.folder / "warehouse")}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _wait_for(count: Any, wanted: int, queries: tuple[Any, ...] = ()) -> None:
    """Wait until so many are there, or nothing comes any more. A failed query raises its error."""
    seen, last_s = -1, time.monotonic()
    while (now := count()) < wanted and time.monotonic() < last_s + STALL_S:
        if now > seen:
            seen, last_s = now, time.monotonic()
        for query in queries:
            if query.exception() is not None:
                raise query.exception()
        time.sleep(0.2)


def _check_rows(kit: Kit, rows: list[Place], found: dict[Place, tuple[str, int]]) -> None:
    times = Counter(rows)
    missing, strange = found.keys() - times.keys(), times.keys() - found.keys()
    repeated = [place for place, count in times.items() if count > 1]
    kit.findings.check("the query read each record", not missing, f"{len(missing)} were not read")
    kit.findings.check("the query read no record twice", not repeated, f"{len(repeated)} were")
    kit.findings.check("the query read nothing else", not strange, f"{len(strange)} are not in the stream")
    last: dict[str, Place] = {}
    disorder = 0
    for place in rows:
        before, last[place[0]] = last.get(place[0]), place
        disorder += before is not None and (int(before[1]), before[2]) >= (int(place[1]), place[2])
    kit.findings.check(
        "the query read each shard in order", not disorder, f"{disorder} records were out of order"
    )


def group_usage(sizes: Sizes) -> dict[str, float]:
    return add(usage(sizes.records), {"table_writes": 20_000, "table_reads": 20_000})


def run_group(kit: Kit) -> None:
    """Read with two workers of a group that share leases in DynamoDB. A third one takes over in the middle."""
    stream, table = kit.stream("stream", 2), kit.table("leases")
    kit.use(table_writes=20_000, table_reads=20_000)
    delivered: list[tuple[Place, str, int]] = []
    committed: set[Place] = set()
    errors: list[BaseException] = []
    lock = threading.Lock()

    def handle(batch: Batch) -> None:
        records = [
            ((r.shard_id, r.sequence_number, r.sub_sequence_number), str(r.partition_key), int(r.data))
            for r in batch.records()
        ]
        with lock:
            delivered.extend(records)
        try:
            batch.commit()
        except LeaseLostError:
            return
        with lock:
            committed.update(place for place, _, _ in records)

    def work(group: ConsumerGroup) -> None:
        try:
            with group:
                for batch in group:
                    handle(batch)
        except BaseException as error:  # noqa: BLE001 # raised below
            errors.append(error)

    def start(name: str) -> tuple[ConsumerGroup, threading.Thread]:
        group = ConsumerGroup.open(
            stream,
            table,
            leases=DynamoLeases(endpoint_url=kit.target.dynamodb_url),
            **kit.target.connection(),
            start="TRIM_HORIZON",
            settings=GroupSettings(lease_duration_s=5.0, fetch_interval_s=0.5),
            worker=name,
        )
        thread = threading.Thread(target=work, args=(group,), daemon=True)
        thread.start()
        return group, thread

    with Load(kit, stream) as load:
        workers = [start("one"), start("two")]
        wait_until(lambda: load.written > kit.sizes.records // 2 or load.error)
        group, thread = workers.pop(0)
        group.stop()
        thread.join(120)
        workers.append(start("three"))
    load.check()
    found = contents(kit, stream)
    _wait_for(lambda: len(committed), len(found))
    for group, thread in workers:
        group.stop()
        thread.join(120)
    for error in errors:
        raise error
    missing = found.keys() - committed
    kit.findings.check("the group committed each record", not missing, f"{len(missing)} were not committed")
    strange = {place for place, _, _ in delivered} - found.keys()
    kit.findings.check(
        "the group delivered nothing else", not strange, f"{len(strange)} are not in the stream"
    )
    check_numbers(kit, "the stream of the group", load.written, (number for _, number in found.values()))
    kit.findings.check("a split and a merge happened", load.reshards == 2, load.reshards)
    again = len(delivered) - len({place for place, _, _ in delivered})
    kit.findings.fact("group_records_delivered_again", again, "records delivered more than once", "records")
