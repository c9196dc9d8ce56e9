"""The examples of the qubole and roncemer connectors in Python: count words and write them, with every option of their pages."""

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

folder = Path(sys.argv[1])
endpoint_url = os.environ["ENDPOINT_URL"]
spark = SparkSession.builder.master("local[2]").getOrCreate()

kinesis = (
    spark.readStream.format("kinesis")
    .option("streamName", "spark-streaming-example")
    .option("endpointUrl", endpoint_url)
    .option("awsAccessKeyId", "AKIAEXAMPLE")
    .option("awsSecretKey", "example-secret")
    .option("startingposition", "TRIM_HORIZON")
    .option("failondataloss", "true")
    .option("kinesis.executor.maxFetchTimeInMs", "1000")
    .option("kinesis.executor.maxFetchRecordsPerShard", "100000")
    .option("kinesis.executor.maxRecordPerRead", "10000")
    .option("kinesis.executor.addIdleTimeBetweenReads", "false")
    .option("kinesis.executor.idleTimeBetweenReadsInMs", "1000")
    .option("kinesis.client.describeShardInterval", "1s")
    .option("kinesis.client.numRetries", "3")
    .option("kinesis.client.retryIntervalMs", "1000")
    .option("kinesis.client.maxRetryIntervalMs", "10000")
    .option("kinesis.client.avoidEmptyBatches", "true")
    .load()
)
kinesis.printSchema()

counts = (
    kinesis.selectExpr("CAST(data AS STRING)")
    .groupBy("data")
    .count()
    .writeStream.format("console")
    .outputMode("complete")
    .option("checkpointLocation", str(folder / "counts"))
    .start()
)
copies = (
    kinesis.selectExpr("CAST(rand() AS STRING) as partitionKey", "CAST(data AS STRING)")
    .writeStream.format("kinesis")
    .outputMode("append")
    .option("streamName", "spark-sink-example")
    .option("endpointUrl", endpoint_url)
    .option("awsAccessKeyId", "AKIAEXAMPLE")
    .option("awsSecretKey", "example-secret")
    .option("kinesis.executor.recordMaxBufferedTime", "1000")
    .option("kinesis.executor.maxConnections", "1")
    .option("kinesis.executor.aggregationEnabled", "true")
    .option("kniesis.executor.flushwaittimemillis", "100")
    .option("checkpointLocation", str(folder / "copies"))
    .start()
)
while not (folder / "STOP_LOCK").exists():
    counts.awaitTermination(1)
for query in (counts, copies):
    query.stop()
