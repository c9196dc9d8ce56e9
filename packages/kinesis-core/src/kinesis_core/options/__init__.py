"""
The declarations of options: name, meaning, domain, default, and the names that other connectors have for an option.

This folder has the parsers and the options that source and sink share. Each Spark package declares its own options with them.
"""

from kinesis_core.options.catalog import (
    COMMON_ALTERNATIVES,
    COMMON_OPTIONS,
    COMMON_UNSUPPORTED,
    FREEZE_WORKER_HEAP,
    SPARK_OPTIONS,
    STREAM_ARN,
    STREAM_NAME,
    WHERE,
)
from kinesis_core.options.clamps import clamped_duration, clamped_integer
from kinesis_core.options.connection import ignored_region, read_connection
from kinesis_core.options.kafka import KAFKA_SINK_HINTS, KAFKA_SOURCE_HINTS
from kinesis_core.options.option import (
    Alias,
    Alternatives,
    BadValueError,
    Hint,
    IgnoredOption,
    Option,
    Origin,
    Parser,
    Scope,
    Unsupported,
    awslabs,
    databricks,
    or_none,
    qubole,
)
from kinesis_core.options.parsers import (
    boolean,
    byte_size,
    bytes_read_in,
    duration,
    integer,
    list_of,
    matching,
    number,
    one_of,
    text,
    url,
)
from kinesis_core.options.positions import ending_position, starting_position
from kinesis_core.options.spark_tables import (
    TABLE_COLUMN,
    as_metadata,
    check_named_stream,
    is_table_column,
    options_in_metadata,
    options_of_new_table,
    options_of_read,
)
from kinesis_core.options.table import OptionTable, Values

__all__ = [
    "Alias",
    "Alternatives",
    "BadValueError",
    "COMMON_ALTERNATIVES",
    "COMMON_OPTIONS",
    "COMMON_UNSUPPORTED",
    "FREEZE_WORKER_HEAP",
    "Hint",
    "IgnoredOption",
    "KAFKA_SINK_HINTS",
    "KAFKA_SOURCE_HINTS",
    "Option",
    "OptionTable",
    "Origin",
    "Parser",
    "SPARK_OPTIONS",
    "STREAM_ARN",
    "STREAM_NAME",
    "Scope",
    "TABLE_COLUMN",
    "Unsupported",
    "Values",
    "WHERE",
    "as_metadata",
    "awslabs",
    "boolean",
    "byte_size",
    "bytes_read_in",
    "check_named_stream",
    "clamped_duration",
    "clamped_integer",
    "databricks",
    "duration",
    "ending_position",
    "ignored_region",
    "integer",
    "is_table_column",
    "list_of",
    "matching",
    "number",
    "one_of",
    "options_in_metadata",
    "options_of_new_table",
    "options_of_read",
    "or_none",
    "qubole",
    "read_connection",
    "starting_position",
    "text",
    "url",
]
