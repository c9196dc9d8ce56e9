"""Reads, writes, fails and explains a query with the secret options that a test sets, and prints all output of Spark and of ours."""

import logging
import os
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from spark_kinesis_sink.options import SinkOptions
from spark_kinesis_source.options import SourceOptions

folder = Path(sys.argv[1])
logging.basicConfig(level=logging.DEBUG)
logging.getLogger("py4j").setLevel(logging.INFO)  # it repeats every call of a program with its arguments
spark = SparkSession.builder.master("local[2]").getOrCreate()
secrets = dict(pair.split("=", 1) for pair in os.environ["SECRET_OPTIONS"].split("\n"))
common = {"endpointUrl": os.environ["ENDPOINT_URL"], "region": "us-east-1", **secrets}
reading = {"startingPosition": "TRIM_HORIZON", "inlineRecords": "false"}  # the workers have to call, too
source = {**common, **reading, "streamName": "orders"}
sink = {**common, "streamName": "copies"}


def say(what: object) -> None:
    sys.stdout.write(f"{what!r} {what}\n")


def look(frame: DataFrame, batch_id: int) -> None:
    frame.explain(extended=True)
    say((batch_id, frame.count(), frame))
    frame.write.format("kinesis").options(**sink).mode("append").save()


rows = spark.readStream.format("kinesis").options(**source).load()
rows.explain(extended=True)
query = rows.writeStream.foreachBatch(look).option("checkpointLocation", str(folder / "looked")).start()
query.processAllAvailable()
query.explain(extended=True)
say(query.lastProgress)
query.stop()

copies = rows.writeStream.format("kinesis").options(**sink)
query = copies.option("checkpointLocation", str(folder / "copied")).start()
query.processAllAvailable()
query.explain(extended=True)
say(query.lastProgress)
query.stop()

batch = spark.read.format("kinesis").options(**source).load()
batch.createOrReplaceTempView("records")
spark.sql("EXPLAIN FORMATTED SELECT count(*) FROM records").show(truncate=False)
say(batch.count())

for wrong in ({"streamName": "missing"}, {"maxRecordsPerFetch": "0"}, {"unknownOption": "1"}):
    try:
        spark.read.format("kinesis").options(**{**source, **wrong}).load().count()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is shown
        say(error)

for options in (SourceOptions.parse(source), SinkOptions.parse(sink)):
    say(options)
    say(options.connection)
