"""Tables and views of SQL: their options, and what Spark does with them."""

# ruff: noqa: S608 - the names in statements are made here
from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import lit
from pyspark.sql.streaming.query import StreamingQuery

from spark.sinks import sink_options
from spark_kinesis_source.options import SOURCE_OPTIONS
from support.python_starts import PatientQuery
from support.streams import StreamUnderTest

PROVIDER = {"credentialProviderClass": "support.scripted_provider.Scripted"}
"""Keys are secrets, which a table does not accept."""
pytestmark = [pytest.mark.tests, pytest.mark.all_sparks]


@pytest.fixture
def table(spark: SparkSession) -> Iterator[str]:
    """The name of a table or a temporary view that does not exist yet."""
    name = f"t{uuid.uuid4().hex}"
    yield name
    spark.sql(f"DROP TABLE IF EXISTS spark_catalog.default.{name}")
    spark.catalog.dropTempView(name)


def table_options(stream: StreamUnderTest, **more: Any) -> dict[str, Any]:
    options = stream.options(**PROVIDER, **more)
    return {name: value for name, value in options.items() if not name.startswith("aws")}


def create(spark: SparkSession, what: str, options: Mapping[str, Any], rest: str = "") -> None:
    listed = ", ".join(f"`{name}` '{value}'" for name, value in options.items())
    spark.sql(f"CREATE {what} USING kinesis OPTIONS ({listed}) {rest}")


def read_stream(spark: SparkSession, table: str, folder: Path, **options: str) -> list[bytes]:
    """Return the payloads that a streaming query reads from *table*."""
    payloads: list[bytes] = []
    reader = spark.readStream.options(**options).table(table)
    writer = reader.writeStream.foreachBatch(
        lambda batch, _: payloads.extend(bytes(row.data) for row in batch.collect())
    )
    writer = writer.option("checkpointLocation", str(folder)).trigger(availableNow=True)
    PatientQuery(writer.start).do(StreamingQuery.awaitTermination)
    return payloads


def test_read_a_table(spark: SparkSession, stream: StreamUnderTest, table: str, tmp_path: Path) -> None:
    """SELECT, spark.table and a streaming query read a table by its options."""
    stream.put_numbers(5)
    create(spark, f"TABLE {table}", table_options(stream))
    found = spark.sql(f"SELECT streamName, count(*) AS records FROM {table} GROUP BY ALL").collect()
    assert [tuple(row) for row in found] == [(stream.name, 5)]
    assert [bytes(row.data) for row in spark.table(table).collect()] == stream.payloads
    assert read_stream(spark, table, tmp_path / "checkpoint") == stream.payloads


def test_options_of_one_read(
    spark: SparkSession, stream: StreamUnderTest, table: str, tmp_path: Path
) -> None:
    """A read may set options, also secret ones, and replace those of the table."""
    stream.put_numbers(5)
    create(spark, f"TABLE {table}", table_options(stream))
    assert spark.read.option("startingPosition", "LATEST").table(table).count() == 0
    assert spark.sql(f"SELECT * FROM {table} WITH (`kinesis.startingPosition` = 'LATEST')").count() == 0
    assert read_stream(spark, table, tmp_path / "checkpoint", startingPosition="LATEST") == []
    with pytest.raises(Exception, match="Unknown option 'startingpositoin'"):
        spark.read.option("startingPositoin", "LATEST").table(table).count()


def test_properties_of_a_table(
    spark: SparkSession, stream: StreamUnderTest, table: str, tmp_path: Path
) -> None:
    """A comment, a location and properties of a table are no options. Options may have other connectors' names."""
    options = table_options(stream)
    foreign = {f"kinesis.{name}": value for name, value in options.items()}
    rest = f"LOCATION '{tmp_path}' COMMENT 'orders' TBLPROPERTIES ('team' = 'sales', 'a.b' = 'c')"
    create(spark, f"TABLE {table}", foreign, rest)
    stream.put_numbers(2)
    assert spark.table(table).count() == 2


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"maxRetrys": "3"}, "Unknown option 'maxretrys'. Did you mean 'maxRetries'"),
        ({"sessionToken": "sesame"}, "Option 'sessionToken' is a secret"),
    ],
)
def test_bad_options(
    spark: SparkSession, stream: StreamUnderTest, table: str, more: dict[str, str], message: str
) -> None:
    """CREATE TABLE refuses misspelled options, secrets and streams that do not exist."""
    with pytest.raises(Exception, match=message) as caught:
        create(spark, f"TABLE {table}", table_options(stream, **more))
    assert "sesame" not in str(caught.value)
    assert not spark.catalog.tableExists(table)


def test_properties_that_spark_reserves(spark: SparkSession) -> None:
    """No option has the name of a property that Spark reserves for itself."""
    jvm: Any = spark._jvm
    reserved = jvm.org.apache.spark.sql.connector.catalog.CatalogV2Util.TABLE_RESERVED_PROPERTIES()
    names = reserved.mkString(",").split(",")
    assert {"comment", "location", "owner"} <= set(names)
    assert [name for name in names if SOURCE_OPTIONS.find(name)] == []


def test_table_with_columns(spark: SparkSession, stream: StreamUnderTest, table: str) -> None:
    """Spark drops the options of a table with columns, and stores them in its catalog, also secrets. The error says so."""
    create(spark, f"TABLE {table} (data BINARY)", {**table_options(stream), "awsSecretKey": "sesame"})
    with pytest.raises(Exception, match=r"names no columns.* stores them, unchecked"):
        spark.table(table).count()
    jvm: Any = spark._jvm
    identifier = jvm.org.apache.spark.sql.catalyst.TableIdentifier(table)
    stored = spark._jsparkSession.sessionState().catalog().getTableMetadata(identifier)
    assert "sesame" in f"{stored.properties().mkString()} {stored.storage().properties().mkString()}"


def test_what_sql_shows(spark: SparkSession, stream: StreamUnderTest, table: str) -> None:
    """The schema of a table shows its options as metadata of streamName, which another expression removes."""
    create(spark, f"TABLE {table}", table_options(stream))
    schema = spark.table(table).schema
    carried = {field.name: field.metadata for field in schema.fields if field.metadata}
    assert carried == {
        "streamName": {
            "kinesis.table": {
                "version": 1,
                "options": {name.lower(): value for name, value in table_options(stream).items()},
            }
        }
    }
    replaced = spark.table(table).selectExpr("data", "upper(streamName) AS streamName").schema
    assert "kinesis.table" not in json.dumps(replaced.jsonValue())


def test_read_a_view(spark: SparkSession, stream: StreamUnderTest, table: str) -> None:
    """A temporary view may have columns and secrets."""
    stream.put_numbers(3)
    create(spark, f"TEMPORARY VIEW {table} (data BINARY, shardId STRING)", stream.options())
    rows = spark.table(table).collect()
    assert [(bytes(row.data), row.shardId) for row in rows] == [
        (put.data, put.shard_id) for put in stream.sent
    ]


def test_insert_into_a_view(spark: SparkSession, stream: StreamUnderTest, table: str) -> None:
    """INSERT INTO writes to a temporary view whose columns are those of the sink."""
    create(spark, f"TEMPORARY VIEW {table} (data STRING, partitionKey STRING)", sink_options(stream))
    spark.sql(f"INSERT INTO {table} VALUES ('green', 'a'), ('black', 'b')")
    rows = spark.read.format("kinesis").options(**stream.options()).load().collect()
    assert sorted((bytes(row.data), row.partitionKey) for row in rows) == [(b"black", "b"), (b"green", "a")]


def test_insert_into_a_table(spark: SparkSession, stream: StreamUnderTest, table: str) -> None:
    """Spark does not pass the options of a table to INSERT INTO. The insert names the stream, or it fails and says so."""
    stream.put_numbers(2)
    create(spark, f"TABLE {table}", table_options(stream))
    with pytest.raises(Exception, match="Name the stream with the write"):
        spark.sql(f"INSERT INTO {table} SELECT * FROM {table}")
    listed = ", ".join(f"`{name}` = '{value}'" for name, value in sink_options(stream).items())
    spark.sql(f"INSERT INTO {table} WITH ({listed}) SELECT * FROM {table}")
    assert spark.table(table).count() == 4


def test_rows_of_a_table_elsewhere(
    spark: SparkSession, stream: StreamUnderTest, make_stream: Any, table: str
) -> None:
    """Rows of a table are never written to its stream by mistake: they need an option, or another streamName in each row."""
    other = make_stream()
    stream.put_numbers(2)
    create(spark, f"TABLE {table}", table_options(stream))
    frame = spark.table(table)
    by_row = sink_options(stream, streamName=None)
    with pytest.raises(Exception, match="Name the stream with the write"):
        frame.write.format("kinesis").options(**by_row).mode("append").save()
    frame.write.format("kinesis").options(**sink_options(other)).mode("append").save()
    replaced = frame.selectExpr("data", "partitionKey", f"concat('{other.name}', '') AS streamName")
    replaced.write.format("kinesis").options(**by_row).mode("append").save()
    renamed = frame.withColumnRenamed("streamName", "origin").withColumn("streamName", lit(other.name))
    assert "kinesis.table" in renamed.schema["origin"].metadata
    renamed.write.format("kinesis").options(**by_row).mode("append").save()
    assert spark.table(table).count() == 2
    assert spark.read.format("kinesis").options(**other.options()).load().count() == 6
