"""One .format("kinesis") for source and sink, whichever package was registered last, and with one of them alone."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource

from spark.found_last import SinkFoundLast, SourceFoundLast
from spark.sinks import Feed, SinkQuery, sink_options, write
from spark_kinesis_sink import register
from support.streams import StreamUnderTest


@pytest.mark.all_sparks
@pytest.mark.parametrize("found_last", [SourceFoundLast, SinkFoundLast])
def test_one_name(
    spark: SparkSession, stream: StreamUnderTest, found_last: type[DataSource], tmp_path: Path
) -> None:
    """One name reads and writes, in batches and in streams, whichever of the two packages was registered last."""
    spark.dataSource.register(found_last)
    name = found_last.name()
    write(spark.createDataFrame([("batch",)], "data string"), sink_options(stream), name)
    feed = Feed(spark, tmp_path / "feed", "data string")
    feed.add([("stream",)])
    query = SinkQuery(feed.frame(), tmp_path / "checkpoint", sink_options(stream), format_name=name)
    query.start().process_all().stop()
    source = spark.readStream.format(name).options(**stream.options()).load()
    assert spark.read.format(name).options(**stream.options()).load().count() == 2
    assert "sequenceNumber" in source.columns


@pytest.mark.all_sparks
def test_by_the_name_of_the_jvm_connector(spark: SparkSession, stream: StreamUnderTest) -> None:
    """After register(spark), jobs written for the awslabs connector write unchanged."""
    register(spark)
    ours = sink_options(stream)
    options = {
        "kinesis.streamName": ours["streamName"],
        "kinesis.endpointUrl": ours["endpointUrl"],
        "kinesis.region": ours["region"],
        "kinesis.awsAccessKeyId": ours["awsAccessKeyId"],
        "kinesis.awsSecretKey": ours["awsSecretKey"],
        "kinesis.sink.maxConnections": "1",
        "kinesis.sink.recordTtl": "600000",
        "kinesis.sink.flushWaitTimeMs": "100",
        "kinesis.sink.recordMaxBufferedTimeMs": "1000",
        "kinesis.sink.aggregationEnabled": "true",
    }
    write(spark.createDataFrame([("x", "k")], "data string, partitionKey string"), options, "aws-kinesis")
    assert spark.read.format("aws-kinesis").options(**stream.options()).load().count() == 1


def test_sink_alone(stream: StreamUnderTest, tmp_path: Path) -> None:
    """
    With the package of the sink alone, writing needs no registration, and reading is an error that says what to
    install.
    """
    source = find_spec("pyspark_kinesis_source")
    assert source is not None
    assert source.origin is not None
    folder = str(Path(source.origin).parent)
    # As if it were not installed, for this program and for the workers that Spark starts.
    (tmp_path / "sitecustomize.py").write_text(
        f"import sys\nsys.path = [p for p in sys.path if p != {folder!r}]\n"
    )
    script = tmp_path / "alone.py"
    script.write_text(
        dedent(
            f"""
            from importlib.util import find_spec
            from pathlib import Path

            from support.spark_harness import start_session

            assert find_spec("spark_kinesis_source") is None
            spark = start_session(Path({str(tmp_path)!r}))
            frame = spark.createDataFrame([("alone", "k")], "data string, partitionKey string")
            options = {sink_options(stream)!r}
            frame.write.format("kinesis").options(**options).mode("append").save()
            try:
                spark.read.format("kinesis").options(**options).load()
            except Exception as error:
                assert "pip install spark-kinesis-source" in str(error), error
            else:
                raise SystemExit("reading did not fail")
            """
        )
    )
    paths = [str(tmp_path), str(Path(__file__).parents[1])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    ran = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    response = stream.client.list_shards(StreamName=stream.name)["Shards"][0]
    iterator = stream.client.get_shard_iterator(
        StreamName=stream.name, ShardId=response["ShardId"], ShardIteratorType="TRIM_HORIZON"
    )
    records = stream.client.get_records(ShardIterator=iterator["ShardIterator"])["Records"]
    assert [record["Data"] for record in records] == [b"alone"]
