"""Counts words and copies them, with the options that a test sets, until a stop file exists or all data is read."""

import json
import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

folder = Path(sys.argv[1])
job = json.loads(os.environ["JOB"])
spark = SparkSession.builder.master("local[2]").getOrCreate()
if job["format"] == "aws-kinesis":
    from spark_kinesis_source import register

    register(spark)

reader = spark.readStream.format(job["format"]).options(**job["source"])
kinesis = (reader.schema(job["schema"]) if job["schema"] else reader).load()
kinesis.printSchema()
words = kinesis.selectExpr(*job["keys"], "CAST(data AS STRING)").groupBy(*job["keys"], "data").count()
counts = words.writeStream.format("console").outputMode("complete")
if job["once"]:
    counts = counts.trigger(availableNow=True)
queries = [counts.option("checkpointLocation", str(folder / "counts")).start()]
if job["sink"]:
    copies = kinesis.selectExpr("CAST(rand() AS STRING) as partitionKey", "CAST(data AS STRING)")
    writer = copies.writeStream.format(job["format"]).outputMode("append").options(**job["sink"])
    queries.append(writer.option("checkpointLocation", str(folder / "copies")).start())
if job["once"]:
    queries[0].awaitTermination()
while not (folder / "STOP_LOCK").exists():
    queries[0].awaitTermination(1)
for query in queries:
    query.stop()
