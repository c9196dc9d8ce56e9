"""
The declarations of options: name, meaning, domain, default, and the names that other connectors have for an option.

This folder has the parsers and the options that source and sink share. Each Spark package declares its own options with them.
"""

from kinesis_core.options.connection import (
    COMMON_ALTERNATIVES,
    COMMON_OPTIONS,
    COMMON_UNSUPPORTED,
    FREEZE_WORKER_HEAP,
    SPARK_OPTIONS,
    STREAM_ARN,
    STREAM_NAME,
    WHERE,
    ignored_region,
    read_connection,
)
from kinesis_core.options.durations import parse_duration
from kinesis_core.options.foreign import (
    GLUE_CONSUMER,
    IGNORED_BY_SINK,
    IGNORED_BY_SOURCE,
    KAFKA_SINK_HINTS,
    KAFKA_SOURCE_HINTS,
    REFUSED_BY_SINK,
    Origin,
    aliases_of,
)
from kinesis_core.options.option import (
    Alternatives,
    BadValueError,
    Group,
    Hint,
    IgnoredOption,
    Option,
    Parser,
    Unsupported,
    or_none,
)
from kinesis_core.options.parsers import (
    boolean,
    byte_size,
    duration,
    integer,
    list_of,
    matching,
    number,
    one_of,
    text,
    url,
)
from kinesis_core.options.positions import STARTS_OF_ALL_SHARDS, ending_position, starting_position
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
from kinesis_core.options.words import SPARK

__all__ = [
    "Alternatives",
    "BadValueError",
    "COMMON_ALTERNATIVES",
    "COMMON_OPTIONS",
    "COMMON_UNSUPPORTED",
    "FREEZE_WORKER_HEAP",
    "GLUE_CONSUMER",
    "Group",
    "Hint",
    "IGNORED_BY_SINK",
    "IGNORED_BY_SOURCE",
    "IgnoredOption",
    "KAFKA_SINK_HINTS",
    "KAFKA_SOURCE_HINTS",
    "Option",
    "OptionTable",
    "Origin",
    "Parser",
    "REFUSED_BY_SINK",
    "SPARK",
    "SPARK_OPTIONS",
    "STARTS_OF_ALL_SHARDS",
    "STREAM_ARN",
    "STREAM_NAME",
    "TABLE_COLUMN",
    "Unsupported",
    "Values",
    "WHERE",
    "aliases_of",
    "as_metadata",
    "boolean",
    "byte_size",
    "check_named_stream",
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
    "parse_duration",
    "read_connection",
    "starting_position",
    "text",
    "url",
]
