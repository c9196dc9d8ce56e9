"""The options of publishing progress as checked values."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from kinesis_core.aws import Connection
from kinesis_core.errors import OptionError
from kinesis_core.options import Option, Values
from spark_kinesis_source.options.fan_out import CONSUMER_NAME, CONSUMER_TYPE, ReadMode
from spark_kinesis_source.options.publishing import (
    DYNAMODB_ENDPOINT_URL,
    DYNAMODB_TABLE_NAME,
    METADATA_COMMITTER_TYPE,
    ProgressStore,
)


@frozen
class LeaseTableOptions:
    """The DynamoDB table that progress is published to."""

    name: str
    endpoint_url: str | None = None


def read_lease_table(
    values: Values, connection: Connection, *, is_read: bool
) -> tuple[LeaseTableOptions | None, tuple[str, ...]]:
    """
    Return the table for progress, if progress is published, and a line for the log for each option without effect.

    With *is_read*, the table of a KCL application is read at the endpoint of DynamoDB.

    Raises:
        OptionError: There are several streams, and no name for the table.
    """
    if values[METADATA_COMMITTER_TYPE] is ProgressStore.DYNAMODB:
        name = values[DYNAMODB_TABLE_NAME] or _default_table(values, connection)
        return LeaseTableOptions(name, values[DYNAMODB_ENDPOINT_URL]), ()
    given: list[Option[Any]] = [
        option
        for option in (METADATA_COMMITTER_TYPE, DYNAMODB_TABLE_NAME, DYNAMODB_ENDPOINT_URL)
        if values.is_given(option) and not (is_read and option is DYNAMODB_ENDPOINT_URL)
    ]
    reason = "has no effect here: Spark's checkpoint holds all progress."
    return None, tuple(f"{values.label(option)} {reason}" for option in given)


def _default_table(values: Values, connection: Connection) -> str:
    """Return the name that the awslabs connector gives to the table."""
    if len(connection.streams) > 1:
        raise OptionError(
            f"{values.label(METADATA_COMMITTER_TYPE)} set to '{ProgressStore.DYNAMODB.value}' also requires "
            f"'{DYNAMODB_TABLE_NAME.name}' for several streams."
        )
    consumer = values[CONSUMER_NAME] if values[CONSUMER_TYPE] is ReadMode.FAN_OUT else None
    return f"kdsc_{connection.region}_{connection.streams[0].name}" + (f"_{consumer}" if consumer else "")
