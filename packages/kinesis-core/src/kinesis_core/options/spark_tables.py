"""
The options of a table in Spark's catalog: `CREATE TABLE t USING kinesis OPTIONS (...)`.

Spark asks for the schema when it creates the table, with the options among the table's properties. When it reads the table it
passes only this schema and the options of that read. So the schema carries the options of the table, as metadata of a column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kinesis_core.errors import OptionError
from kinesis_core.options.connection import STREAM_ARN, STREAM_NAME
from kinesis_core.options.option import Option
from kinesis_core.options.table import OptionTable, Values

METADATA_KEY = "kinesis.table"
"""The key of the options in the metadata of a column."""
TABLE_COLUMN = STREAM_NAME.name
"""
The column whose metadata carries the options. Not another one: a write without a stream takes the stream of each row from it,
and an expression that replaces it removes the options.
"""

_VERSION = 1
_OPTION_PREFIX = "option."
_ADDED_BY_SPARK = {"provider", "owner"}
"""Properties that Spark gives to every table. There are others, such as `location`, and those of TBLPROPERTIES."""


def options_of_new_table(given: Mapping[str, object], table: OptionTable) -> dict[str, str] | None:
    """
    Return the options of the table that Spark creates, or None if *given* are not properties of a table.

    Among the properties each option appears twice, with and without a prefix. Only the prefix tells options and other
    properties apart.

    Raises:
        OptionError: The table has no options, one of them is a secret, or another property has the name of an option.
    """
    properties = {name.lower(): str(value) for name, value in given.items()}
    if not properties.keys() >= _ADDED_BY_SPARK:
        return None
    found = {
        name.removeprefix(_OPTION_PREFIX): value
        for name, value in properties.items()
        if name.startswith(_OPTION_PREFIX)
    }
    if not found:
        raise OptionError(
            "CREATE TABLE ... USING kinesis needs OPTIONS (streamName '...'). TBLPROPERTIES are not options."
        )
    among_properties = [option for name in properties if name not in found and (option := table.find(name))]
    secrets = (*table.read(found).secrets, *(option.name for option in among_properties if option.is_secret))
    for name in secrets:
        raise OptionError(
            f"Option '{name}' is a secret, and the catalog stores options and TBLPROPERTIES as readable text. Set it with "
            f"each read, as in spark.read.option('{name}', ...).table('t'), or use a role or a profile."
        )
    for option in among_properties:
        raise OptionError(
            f"'{option.name}' is an option, and TBLPROPERTIES are not options. Write it in OPTIONS ({option.name} '...')."
        )
    return found


def as_metadata(options: Mapping[str, str]) -> dict[str, Any]:
    """Return *options* as the metadata of a column."""
    return {METADATA_KEY: {"version": _VERSION, "options": dict(options)}}


def is_table_column(name: str) -> bool:
    """Return whether *name* is that of the column that carries the options, in any case, as in Spark."""
    return name.lower() == TABLE_COLUMN.lower()


def options_in_metadata(metadata: Mapping[str, Any]) -> dict[str, str]:
    """
    Return the options in the metadata of a column, if there are any.

    Raises:
        OptionError: A later version of this package has written them, or another program.
    """
    match metadata.get(METADATA_KEY):
        case None:
            return {}
        case {"version": version, "options": dict(options)} if version == _VERSION:
            return options
        case {"version": int(version)} if version > _VERSION:
            raise OptionError(
                f"A later version of this package created the table (form {version}, known: {_VERSION}). Update this package, "
                "or create the table again."
            )
        case other:
            raise OptionError(
                f"The column metadata '{METADATA_KEY}' is not that of a table of this package: {other!r}. Create the table again."
            )


def check_named_stream(
    given: Mapping[str, object], columns: Iterable[tuple[str, Mapping[str, Any]]], table: OptionTable
) -> None:
    """
    Check that a write names its stream, if its rows come from a table or go to one.

    *columns* are the names and the metadata of their columns. The table that the metadata names may be the one that the rows
    are read from. So a write cannot take its options. A renamed column keeps its metadata, so other columns do not count.

    Raises:
        OptionError: *given* names no stream, and the column for it carries the options of a table.
    """
    is_of_table = any(METADATA_KEY in metadata for name, metadata in columns if is_table_column(name))
    if is_of_table and not _names_stream(table.read(given)):
        raise OptionError(
            "The rows come from a table of Kinesis, or go to one. Spark does not pass the options of a table to a write. Name the "
            "stream with the write: INSERT INTO t WITH (streamName = '...') SELECT ..., or .option('streamName', ...). Or insert "
            "into a temporary view."
        )


def options_of_read(
    given: Mapping[str, object], of_table: Mapping[str, str], table: OptionTable
) -> dict[str, object]:
    """
    Return the options of a read: *given*, and those of the table that *given* does not replace.

    An option replaces the same option of the table, by whichever name, and the options that exclude it. If *given* names a
    stream, it counts alone: a schema with the metadata of a table may have been copied from there.

    Raises:
        OptionError: There are no options, or *given* is not valid, as in `OptionTable.read`.
    """
    if not given and not of_table:
        raise OptionError(
            "Option 'streamName' or 'streamARN' is required. If you read a table: Spark drops its options unless CREATE TABLE "
            "names no columns. The catalog still stores them, unchecked: if one of them is a secret, drop the table and replace the "
            "secret. For columns of your own, use CREATE TEMPORARY VIEW."
        )
    values = table.read(given)
    if _names_stream(values):
        return dict(given)
    replaced = set(_list_replaced(values, table))
    kept = {name: value for name, value in of_table.items() if table.find(name) not in replaced}
    return {**kept, **given}


def _list_replaced(values: Values, table: OptionTable) -> Iterator[Option[Any]]:
    """Yield the options that *values* sets, and those that they exclude."""
    yield from (option for option in table.options if values.is_given(option))
    for alternatives in table.alternatives:
        for alternative in alternatives:
            chooses, *_ = alternative
            if values.is_given(chooses) and values[chooses] is not False:
                yield from (other for each in alternatives if each is not alternative for other in each)


def _names_stream(values: Values) -> bool:
    return values.is_given(STREAM_NAME) or values.is_given(STREAM_ARN)
