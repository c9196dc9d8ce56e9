"""The columns as Spark types."""

from __future__ import annotations

import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import BinaryType, StringType, StructField, StructType, TimestampNTZType

from kinesis_core.errors import OptionError
from kinesis_core.reading.arrow import BatchBuilder
from spark_kinesis_source.schema import all_columns, column_names, default_schema, table_options, table_schema


def test_arrow_and_spark_agree() -> None:
    """The Arrow schema of our batches equals the one that Spark derives from its types, for every column."""
    schema = all_columns()
    assert BatchBuilder(schema.fieldNames()).schema == to_arrow_schema(schema, timezone="UTC")


def test_default() -> None:
    """Without a schema there are five columns, in this order."""
    assert default_schema().simpleString() == (
        "struct<data:binary,streamName:string,partitionKey:string,sequenceNumber:string,"
        "approximateArrivalTimestamp:timestamp>"
    )


def test_any_order() -> None:
    """Columns are in the order of the schema."""
    schema = StructType().add("shardId", StringType()).add("data", BinaryType())
    assert column_names(schema) == ("shardId", "data")


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (StructField("shardID", StringType()), "Unknown column 'shardID'. Did you mean 'shardId'?"),
        (
            StructField("data", StringType()),
            "Column 'data' has the type binary; .schema() declares it string.",
        ),
        (StructField("approximateArrivalTimestamp", TimestampNTZType()), "has the type timestamp"),
        (StructField("data", BinaryType(), nullable=False), "is nullable; .schema() declares it NOT NULL"),
    ],
)
def test_refused(field: StructField, message: str) -> None:
    """A column that is unknown, mistyped or declared NOT NULL is refused by name."""
    with pytest.raises(OptionError) as caught:
        column_names(StructType([field]))
    assert message in str(caught.value)


def test_options_of_a_table() -> None:
    """The schema of a table carries its options in streamName. Other columns do not count, nor does the case of the name."""
    options = {"streamname": "orders"}
    schema = table_schema(options)
    assert table_options(schema) == options
    of_column = schema["streamName"].metadata
    assert table_options(StructType([StructField("STREAMNAME", StringType(), metadata=of_column)])) == options
    assert table_options(StructType([StructField("origin", StringType(), metadata=of_column)])) == {}
    assert table_options(default_schema()) == {}
