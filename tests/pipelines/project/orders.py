"""A pipeline: a stream into a table, a view of it, and its rows into another stream."""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

spark = SparkSession.active()


@dp.table
def orders() -> DataFrame:
    return (
        spark.readStream.format("kinesis")
        .option("streamName", "orders")
        .option("startingPosition", "TRIM_HORIZON")
        .option("shardDiscoveryInterval", "200 ms")
        .load()
    )


@dp.materialized_view
def received() -> DataFrame:
    return spark.read.table("orders").selectExpr("CAST(data AS STRING) AS data")


dp.create_sink("to_teas", "kinesis", {"streamName": "teas"})


@dp.append_flow(target="to_teas")
def copied() -> DataFrame:
    return spark.readStream.table("orders").select("data", "partitionKey")
