"""The columns that the sink writes, and its errors about others."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.types import (
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    VarcharType,
)

from spark_kinesis_sink import ColumnError
from spark_kinesis_sink.columns import Columns, find_columns

STRING, BINARY, INTEGER = StringType(), BinaryType(), IntegerType()


def schema(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


def test_all() -> None:
    """Columns are found by name, in any order. Other columns are ignored."""
    given = schema(streamName=STRING, id=INTEGER, explicitHashKey=STRING, data=BINARY, partitionKey=STRING)
    assert find_columns(given, routes_rows=True) == Columns(3, 4, 2, 0)


def test_least() -> None:
    """Only the column data is required."""
    assert find_columns(schema(data=STRING), routes_rows=False) == Columns(0)


@pytest.mark.parametrize("kind", [STRING, BINARY, VarcharType(10)])
def test_types(kind: DataType) -> None:
    """Data and partition keys may be text or bytes."""
    assert find_columns(schema(data=kind, partitionKey=kind), routes_rows=False) == Columns(0, 1)


def test_case() -> None:
    """Names are case-insensitive, as in Spark."""
    assert find_columns(schema(DATA=STRING, partitionkey=STRING), routes_rows=False) == Columns(0, 1)


def test_rows_of_a_source() -> None:
    """The rows of a source can be written unchanged: their column streamName is ignored if an option names the stream."""
    given = schema(
        data=BINARY,
        streamName=STRING,
        partitionKey=STRING,
        sequenceNumber=STRING,
        shardId=STRING,
        stream=STRING,
    )
    assert find_columns(given, routes_rows=False) == Columns(0, 2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            schema(key=STRING, value=STRING),
            "Column 'data' is missing: the sink writes its values, which must be string or binary. The frame has key, "
            "value. Rename one of them, for example with .withColumnRenamed(...).",
        ),
        (
            schema(data=StructType([StructField("id", LongType())])),
            "Column 'data' has the type struct<id:bigint>; the sink writes string or binary. Convert it to text, "
            "for example with to_json(data).",
        ),
        (
            schema(data=STRING, partitionKey=LongType()),
            "Column 'partitionKey' has the type bigint; the sink writes string or binary. Cast it: "
            ".withColumn('partitionKey', col('partitionKey').cast('string')).",
        ),
        (
            schema(data=STRING, explicitHashKey=BINARY),
            "Column 'explicitHashKey' has the type binary; the sink writes string. Cast it: "
            ".withColumn('explicitHashKey', col('explicitHashKey').cast('string')).",
        ),
        (schema(data=STRING, Data=STRING), "The frame has 2 columns 'data'. Drop or rename all but one."),
        (
            schema(data=STRING, partition_key=STRING),
            "There is no column 'partitionKey'. Did you mean 'partition_key'? Rename it, or drop it.",
        ),
        (
            schema(data=STRING, explicit_hash_keys=STRING),
            "There is no column 'explicitHashKey'. Did you mean 'explicit_hash_keys'? Rename it, or drop it.",
        ),
    ],
)
def test_refusals(given: StructType, message: str) -> None:
    """A missing, mistyped, duplicate or misspelt column is an error that names it and says what to do."""
    with pytest.raises(ColumnError) as caught:
        find_columns(given, routes_rows=False)
    assert str(caught.value) == message


def test_no_stream() -> None:
    """If neither the options nor the rows name a stream, the error names both ways to do it."""
    with pytest.raises(
        ColumnError, match=r"Set the option 'streamName' or 'streamARN', or add the column\.$"
    ):
        find_columns(schema(data=STRING), routes_rows=True)


@pytest.mark.parametrize(
    "name", ["partition", "partitionId", "hashKey", "stream", "streamId", "key", "metadata"]
)
def test_unlike(name: str) -> None:
    """A column with a sufficiently different name does not count as misspelt."""
    assert find_columns(schema(data=STRING, **{name: STRING}), routes_rows=False) == Columns(0)
