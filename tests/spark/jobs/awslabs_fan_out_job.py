"""The awslabs connector's fan-out example in Python: it counts words until a stop file exists."""

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from spark_kinesis_source import register

folder = Path(sys.argv[1])
spark = SparkSession.builder.master("local[2]").getOrCreate()
register(spark)

kinesis = (
    spark.readStream.format("aws-kinesis")
    .option("kinesis.region", "us-east-2")
    .option("kinesis.streamName", "teststream")
    .option("kinesis.consumerType", "SubscribeToShard")
    .option("kinesis.endpointUrl", os.environ["ENDPOINT_URL"])
    .option("kinesis.startingposition", "LATEST")
    .option("kinesis.consumerName", "TestConsumer")
    .load()
)
counts = (
    kinesis.selectExpr("CAST(data AS STRING)")
    .groupBy("data")
    .count()
    .writeStream.format("console")
    .outputMode("complete")
    .option("checkpointLocation", str(folder / "counts"))
    .start()
)
while not (folder / "STOP_LOCK").exists():
    counts.awaitTermination(1)
counts.stop()
