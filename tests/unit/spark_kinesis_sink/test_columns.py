"""Which columns the sink takes, and what it says about those that it cannot take."""

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
    """Columns are found by name, in any order; others are left out."""
    given = schema(streamName=STRING, id=INTEGER, explicitHashKey=STRING, data=BINARY, partitionKey=STRING)
    assert find_columns(given, routes_rows=True) == Columns(3, 4, 2, 0)


def test_least() -> None:
    """Data is enough."""
    assert find_columns(schema(data=STRING), routes_rows=False) == Columns(0)


@pytest.mark.parametrize("kind", [STRING, BINARY, VarcharType(10)])
def test_types(kind: DataType) -> None:
    """Data and partition keys are text or bytes."""
    assert find_columns(schema(data=kind, partitionKey=kind), routes_rows=False) == Columns(0, 1)


def test_case() -> None:
    """Names are case-blind, as in Spark."""
    assert find_columns(schema(DATA=STRING, partitionkey=STRING), routes_rows=False) == Columns(0, 1)


def test_rows_of_a_source() -> None:
    """The rows of a source can be written as they are: where a stream is given, their streamName does not count."""
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
            "Column 'data' is missing: it is what is written, as string or binary. The frame has key, value; rename one "
            "of them, for example with .withColumnRenamed(...).",
        ),
        (
            schema(data=StructType([StructField("id", LongType())])),
            "Column 'data' has the type struct<id:bigint>; the sink writes string or binary. Make text of it, for "
            "example with to_json(data).",
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
        (schema(data=STRING, Data=STRING), "Column 'data' comes 2 times. Drop or rename all but one."),
        (
            schema(data=STRING, partition_key=STRING),
            "There is no column 'partitionKey'. Is 'partition_key' meant? Rename it, or drop it.",
        ),
        (
            schema(data=STRING, explicit_hash_keys=STRING),
            "There is no column 'explicitHashKey'. Is 'explicit_hash_keys' meant? Rename it, or drop it.",
        ),
    ],
)
def test_refusals(given: StructType, message: str) -> None:
    """A column that is missing, mistyped, there twice or misspelt is named, with what to do."""
    with pytest.raises(ColumnError) as caught:
        find_columns(given, routes_rows=False)
    assert str(caught.value) == message


def test_nowhere_to_go() -> None:
    """Without a stream in the options and in the rows, both ways are named."""
    with pytest.raises(
        ColumnError, match=r"Set the option 'streamName' or 'streamARN', or add the column\.$"
    ):
        find_columns(schema(data=STRING), routes_rows=True)


@pytest.mark.parametrize(
    "name", ["partition", "partitionId", "hashKey", "stream", "streamId", "key", "metadata"]
)
def test_unlike(name: str) -> None:
    """A column with a name of its own is not taken for a misspelt one."""
    assert find_columns(schema(data=STRING, **{name: STRING}), routes_rows=False) == Columns(0)
