"""Finds and checks the columns that the sink writes, before any row is written."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from attrs import frozen
from pyspark.sql.types import BinaryType, CharType, DataType, StringType, StructType, VarcharType

from kinesis_credentials import KinesisError

DATA, PARTITION_KEY = "data", "partitionKey"
EXPLICIT_HASH_KEY, STREAM_NAME = "explicitHashKey", "streamName"

_TEXT: tuple[type[DataType], ...] = (StringType, CharType, VarcharType)
_ACCEPTED: dict[str, tuple[type[DataType], ...]] = {
    DATA: (*_TEXT, BinaryType),
    PARTITION_KEY: (*_TEXT, BinaryType),
    EXPLICIT_HASH_KEY: _TEXT,
    STREAM_NAME: _TEXT,
}
_LIKENESS = 0.9
"""Similarity from which a name counts as misspelt: partition_key and partitionKeys do, partition and streamId do not."""


class ColumnError(KinesisError, ValueError):
    """
    A column that the sink needs is missing, or has a type that it cannot write.

    Rename, cast or drop the column, as the message says.
    """


@frozen
class Columns:
    """The index of each column in a row, or None for an absent column."""

    data: int
    partition_key: int | None = None
    explicit_hash_key: int | None = None
    stream_name: int | None = None


def find_columns(schema: StructType, *, routes_rows: bool) -> Columns:
    """
    Return the indexes of the sink's columns in *schema*. Other columns are not written.

    Names are case-insensitive, as in Spark. With *routes_rows* each row names its stream. Without it a column
    `streamName`, which the rows of a source have, is ignored.

    Raises:
        ColumnError: A column is missing, occurs twice, or has a type that the sink cannot write. Or it is absent, and another
            column has a similar name.
    """
    wanted = [DATA, PARTITION_KEY, EXPLICIT_HASH_KEY, *([STREAM_NAME] if routes_rows else [])]
    indexes = {name: _find(schema, name) for name in wanted}
    for name, index in indexes.items():
        if index is None:
            _check_absent(schema, name)
    data = indexes[DATA]
    assert data is not None  # noqa: S101 - _check_absent has raised
    return Columns(data, indexes[PARTITION_KEY], indexes[EXPLICIT_HASH_KEY], indexes.get(STREAM_NAME))


def _find(schema: StructType, name: str) -> int | None:
    found = [index for index, field in enumerate(schema.fields) if field.name.lower() == name.lower()]
    if len(found) > 1:
        raise ColumnError(f"The frame has {len(found)} columns '{name}'. Drop or rename all but one.")
    if not found:
        return None
    given = schema.fields[found[0]].dataType
    if not isinstance(given, _ACCEPTED[name]):
        raise ColumnError(
            f"Column '{name}' has the type {_shown(given)}; the sink writes {_domain(name)}. {_remedy(name, given)}"
        )
    return found[0]


def _domain(name: str) -> str:
    return "string or binary" if BinaryType in _ACCEPTED[name] else "string"


def _shown(given: DataType) -> str:
    text = given.simpleString()
    return text if len(text) <= 80 else f"{text[:80]}..."


def _remedy(name: str, given: DataType) -> str:
    if given.typeName() in ("struct", "array", "map", "variant"):
        return f"Convert it to text, for example with to_json({name})."
    return f"Cast it: .withColumn('{name}', col('{name}').cast('string'))."


def _check_absent(schema: StructType, name: str) -> None:
    """Raise an error if the column is required, or if another column has a similar name."""
    names = schema.fieldNames()
    if like := _find_like(name, names):
        raise ColumnError(f"There is no column '{name}'. Did you mean '{like}'? Rename it, or drop it.")
    if name == DATA:
        raise ColumnError(
            f"Column '{name}' is missing: the sink writes its values, which must be {_domain(name)}. The frame has "
            f"{', '.join(names) or 'no columns'}. Rename one of them, for example with .withColumnRenamed(...)."
        )
    if name == STREAM_NAME:
        raise ColumnError(
            f"Column '{name}' is missing, and no option names the stream. Set the option 'streamName' or 'streamARN', "
            "or add the column."
        )


def _find_like(name: str, names: Iterable[str]) -> str | None:
    plain = {_plain(other): other for other in names}
    nearest = get_close_matches(_plain(name), plain, n=1, cutoff=_LIKENESS)
    return plain[nearest[0]] if nearest else None


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
