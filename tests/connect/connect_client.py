"""Does one thing as a client of Spark Connect, and prints its result as JSON. It may import nothing of ours, as it has nothing."""

from __future__ import annotations

import json
import os
import sys
import time
from importlib.util import find_spec
from shutil import which

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

Options = dict[str, str]
OURS = ("kinesis_core", "kinesis_credentials", "spark_kinesis_source", "spark_kinesis_sink", "botocore")
DEADLINE_S = 300


def has(_spark: SparkSession) -> list[str]:
    """Return what this environment has of ours, of Spark's JVM, and of Java."""
    found = [name for name in (*OURS, "py4j") if find_spec(name)]
    return found + [name for name in ("java",) if which(name)]


def read(spark: SparkSession, source: Options) -> list[str]:
    rows = spark.read.format("kinesis").options(**source).load().collect()
    return [bytes(row.data).decode() for row in rows]


def write(spark: SparkSession, sink: Options, payloads: list[str]) -> None:
    frame = spark.createDataFrame([(data, data) for data in payloads], "data string, partitionKey string")
    frame.write.format("kinesis").options(**sink).mode("append").save()


def copy(spark: SparkSession, source: Options, sink: Options, checkpoint: str) -> None:
    """Write what is new in one stream to another."""
    rows = spark.readStream.format("kinesis").options(**source).load().select("data", "partitionKey")
    writer = rows.writeStream.format("kinesis").options(**sink).option("checkpointLocation", checkpoint)
    writer.trigger(availableNow=True).start().awaitTermination()


def copy_by_function(spark: SparkSession, source: Options, sink: Options, checkpoint: str) -> list[str]:
    """Copy with foreachBatch, and return the events that a listener in this client got."""
    events: list[str] = []

    class Listener(StreamingQueryListener):
        def onQueryStarted(self, event: QueryStartedEvent) -> None:
            events.append(type(event).__name__)

        def onQueryProgress(self, event: QueryProgressEvent) -> None:
            events.append(type(event).__name__)

        def onQueryIdle(self, event: QueryIdleEvent) -> None:
            events.append(type(event).__name__)

        def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
            events.append(type(event).__name__)

    def copy_batch(batch: DataFrame, _batch_id: int) -> None:
        batch.select("data", "partitionKey").write.format("kinesis").options(**sink).mode("append").save()

    spark.streams.addListener(Listener())
    rows = spark.readStream.format("kinesis").options(**source).load()
    writer = rows.writeStream.foreachBatch(copy_batch).option("checkpointLocation", checkpoint)
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    deadline = time.monotonic() + DEADLINE_S
    while QueryTerminatedEvent.__name__ not in events and time.monotonic() < deadline:
        time.sleep(0.05)  # the server sends events when it has some
    return events


def fail(spark: SparkSession, source: Options, stacktrace: str) -> list[str]:
    """Return the lines of an error."""
    spark.conf.set("spark.sql.connect.serverStacktrace.enabled", stacktrace)
    try:
        spark.read.format("kinesis").options(**source).load().collect()
    except PySparkException as error:
        return str(error).splitlines()
    return []


def leave(spark: SparkSession, source: Options, checkpoint: str) -> bool:
    """Start a query that does not end by itself, and end the session, as this program does after each command."""
    rows = spark.readStream.format("kinesis").options(**source).load()
    query = rows.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
    query.processAllAvailable()
    return query.isActive


def main(command: str, arguments: str) -> None:
    session = SparkSession.builder.remote(os.environ["CONNECT_URL"]).getOrCreate()
    try:
        result = globals()[command](session, **json.loads(arguments))
    finally:
        session.stop()
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
