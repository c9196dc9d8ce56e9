"""The columns as Spark types."""

from __future__ import annotations

from collections.abc import Mapping

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
from kinesis_core.options import TABLE_COLUMN, as_metadata, is_table_column, options_in_metadata
from kinesis_core.reading import COLUMNS, DEFAULT_COLUMNS, ColumnKind, find_columns

SPARK_TYPES: dict[ColumnKind, DataType] = {
    ColumnKind.BINARY: BinaryType(),
    ColumnKind.STRING: StringType(),
    ColumnKind.TIMESTAMP: TimestampType(),
    ColumnKind.LONG: LongType(),
}


def default_schema() -> StructType:
    """Return the schema of a reader without a schema from the user."""
    return StructType([StructField(column.name, SPARK_TYPES[column.kind]) for column in DEFAULT_COLUMNS])


def table_schema(options: Mapping[str, str]) -> StructType:
    """Return the schema of a table of the catalog. It carries the options of the table."""
    schema = default_schema()
    schema[TABLE_COLUMN].metadata = as_metadata(options)
    return schema


def table_options(schema: StructType) -> dict[str, str]:
    """
    Return the options that *schema* carries. There are none if it is not the schema of a table of the catalog.

    Raises:
        OptionError: A later version of this package has created the table.
    """
    found = (options_in_metadata(field.metadata) for field in schema.fields if is_table_column(field.name))
    return next(found, {})


def column_names(schema: StructType) -> tuple[str, ...]:
    """
    Return the columns of *schema*, in its order.

    Raises:
        OptionError: A column is unknown, occurs twice, has a wrong type, or is declared NOT NULL.
    """
    columns = find_columns(schema.fieldNames())
    for column, given in zip(columns, schema.fields, strict=True):
        wanted = SPARK_TYPES[column.kind]
        if given.dataType != wanted:
            raise OptionError(
                f"Column '{column.name}' has the type {wanted.simpleString()}; .schema() declares it "
                f"{given.dataType.simpleString()}. Read it as {wanted.simpleString()} and cast it afterwards."
            )
        if not given.nullable:
            # If such a column contains a null, Spark drops rows or computes wrong results.
            raise OptionError(f"Column '{column.name}' is nullable; .schema() declares it NOT NULL.")
    return tuple(column.name for column in columns)


def all_columns() -> StructType:
    """Return a schema with every column."""
    return StructType([StructField(column.name, SPARK_TYPES[column.kind]) for column in COLUMNS.values()])
