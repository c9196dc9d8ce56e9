"""Reads a stream as a query and as a batch, and prints what it read and which Python its executors run, as JSON."""

import json
import os
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
options = json.loads(os.environ["OPTIONS"])
rows = spark.readStream.format("kinesis").options(**options).load()
query = (
    rows.writeStream.format("noop")
    .option("checkpointLocation", "checkpoint")
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
read = [bytes(row.data).decode() for row in spark.read.format("kinesis").options(**options).load().collect()]
[python] = spark.sparkContext.parallelize([0], 1).map(lambda _: sys.executable).collect()
spark.stop()
sys.stdout.write("\n" + json.dumps({"read": read, "python": python}) + "\n")
