"""The awslabs connector's examples in Python: they poll, count and write until a stop file exists."""

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from spark_kinesis_source import register

folder = Path(sys.argv[1])
endpoint_url = os.environ["ENDPOINT_URL"]
spark = SparkSession.builder.master("local[2]").getOrCreate()
register(spark)

kinesis = (
    spark.readStream.format("aws-kinesis")
    .option("kinesis.region", "us-east-2")
    .option("kinesis.streamName", "teststream")
    .option("kinesis.consumerType", "GetRecords")
    .option("kinesis.endpointUrl", endpoint_url)
    .option("kinesis.startingposition", "LATEST")
    .option("kinesis.failOnDataLoss", "false")
    .option("kinesis.maxFetchRecordsPerShard", "100000")
    .option("kinesis.maxFetchTimePerShardSec", "30")
    .option("kinesis.describeShardInterval", "1s")
    .option("kinesis.minBatchesToRetain", "100")
    .option("kinesis.checkNewRecordThreads", "8")
    .option("kinesis.metadataCommitterType", "HDFS")
    .option("kinesis.metadataPath", str(folder / "metadata"))
    .option("kinesis.metadataNumRetries", "5")
    .option("kinesis.metadataRetryIntervalsMs", "1000")
    .option("kinesis.metadataMaxRetryIntervalMs", "10000")
    .option("kinesis.clientNumRetries", "5")
    .option("kinesis.clientRetryIntervalsMs", "1000")
    .option("kinesis.clientMaxRetryIntervalMs", "10000")
    .option("kinesis.kinesisRegion", "us-east-2")
    .option("kinesis.getRecords.numberOfRecordsPerFetch", "10000")
    .option("kinesis.getRecords.fetchIntervalMs", "200")
    .option("kinesis.internal.dataQueueCapacity", "1000")
    .option("kinesis.stsRoleArn", os.environ["ROLE_ARN"])
    .option("kinesis.stsSessionName", "StsSessionName")
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
    .writeStream.format("aws-kinesis")
    .outputMode("append")
    .option("kinesis.region", "us-east-2")
    .option("kinesis.streamName", "sparkSinkTest")
    .option("kinesis.endpointUrl", endpoint_url)
    .option("kinesis.sink.flushWaitTimeMs", "100")
    .option("kinesis.sink.recordMaxBufferedTimeMs", "1000")
    .option("kinesis.sink.maxConnections", "1")
    .option("kinesis.sink.aggregationEnabled", "true")
    .option("kinesis.sink.recordTtl", "30000")
    .option("checkpointLocation", str(folder / "copies"))
    .start()
)
while not (folder / "STOP_LOCK").exists():
    counts.awaitTermination(1)
for query in (counts, copies):
    query.stop()
