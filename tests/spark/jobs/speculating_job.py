"""Counts the rows of one micro-batch by fan-out on a cluster, while two attempts of its task run at once."""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

master, folder = sys.argv[1], Path(sys.argv[2])
config = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.executor.memory": "512m",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.minTaskRuntime": "100ms",
    "spark.speculation.task.duration.threshold": "1s",
}
builder = SparkSession.builder.master(master)
for key, value in config.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()


def read_twice(frame: DataFrame, _batch_id: int) -> None:
    def hold_until_copied(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        attempt = TaskContext.get().attemptNumber()  # type: ignore[union-attr]
        first = next(batches)
        (folder / f"attempt-{attempt}").touch()
        # Each continues when the other one has read as well. On a busy machine the second one may be the first to read.
        while not (folder / f"attempt-{1 - min(attempt, 1)}").exists():
            time.sleep(0.05)
        yield first
        yield from batches

    rows = frame.mapInArrow(hold_until_copied, frame.schema).collect()
    (folder / "rows").write_text(json.dumps([row.data.decode() for row in rows]))


rows = spark.readStream.format("kinesis").options(**json.loads(os.environ["OPTIONS"])).load()
query = (
    rows.writeStream.foreachBatch(read_twice)
    .option("checkpointLocation", str(folder / "checkpoint"))
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
spark.stop()
