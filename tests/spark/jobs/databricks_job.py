"""A job for Databricks' connector: two streams by name, an assumed role, and every tuning option of its page."""

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

folder = Path(sys.argv[1])
spark = SparkSession.builder.master("local[2]").getOrCreate()

kinesis = (
    spark.readStream.format("kinesis")
    .option("streamName", "clicks,views")
    .option("region", "us-west-2")
    .option("endpoint", os.environ["ENDPOINT_URL"])
    .option("initialPosition", "earliest")
    .option("awsAccessKey", "AKIAEXAMPLE")
    .option("awsSecretKey", "example-secret")
    .option("roleArn", os.environ["ROLE_ARN"])
    .option("roleExternalId", "an-external-id")
    .option("roleSessionName", "databricks")
    .option("maxRecordsPerFetch", "10000")
    .option("maxFetchRate", "1.0")
    .option("minFetchPeriod", "400ms")
    .option("maxFetchDuration", "10s")
    .option("fetchBufferSize", "20gb")
    .option("shardsPerTask", "5")
    .option("shardFetchInterval", "1s")
    .option("consumerMode", "polling")
    .schema(
        "partitionKey string, data binary, stream string, shardId string, sequenceNumber string, "
        "approximateArrivalTimestamp timestamp"
    )
    .load()
)
kinesis.printSchema()

query = (
    kinesis.selectExpr("stream", "shardId", "CAST(data AS STRING)")
    .groupBy("stream", "data")
    .count()
    .writeStream.format("console")
    .outputMode("complete")
    .option("checkpointLocation", str(folder / "counts"))
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
