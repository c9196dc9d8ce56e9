"""The columns as Spark sees them."""

from __future__ import annotations

from pyspark.sql.types import (
    BinaryType,
    DataType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from kinesis_core.errors import OptionError
from kinesis_core.reading import COLUMNS, DEFAULT_COLUMNS, Kind, find_columns

SPARK_TYPES: dict[Kind, DataType] = {
    Kind.BINARY: BinaryType(),
    Kind.STRING: StringType(),
    Kind.TIMESTAMP: TimestampType(),
    Kind.LONG: LongType(),
}


def default_schema() -> StructType:
    """Return the schema of a reader that is not told any."""
    return StructType([StructField(column.name, SPARK_TYPES[column.kind]) for column in DEFAULT_COLUMNS])


def column_names(schema: StructType) -> tuple[str, ...]:
    """
    Return the columns that *schema* asks for, in its order.

    Raises:
        OptionError: A column is unknown, comes twice, has another type than ours, or is declared NOT NULL.
    """
    columns = find_columns(schema.fieldNames())
    for column, given in zip(columns, schema.fields, strict=True):
        wanted = SPARK_TYPES[column.kind]
        if given.dataType != wanted:
            raise OptionError(
                f"Column '{column.name}' has the type {wanted.simpleString()}; .schema() gives it "
                f"{given.dataType.simpleString()}. Read it as {wanted.simpleString()} and cast it afterwards."
            )
        if not given.nullable:
            # Spark drops rows or computes nonsense when it trusts such a promise and a null comes.
            raise OptionError(f"Column '{column.name}' is nullable; .schema() declares it NOT NULL.")
    return tuple(column.name for column in columns)


def all_columns() -> StructType:
    """Return a schema with every column there is."""
    return StructType([StructField(column.name, SPARK_TYPES[column.kind]) for column in COLUMNS.values()])
