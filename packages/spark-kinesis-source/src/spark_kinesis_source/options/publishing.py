"""The options of publishing progress to a table, and the name of the table."""

from __future__ import annotations

from enum import Enum
from typing import Any

from kinesis_core.aws import Connection
from kinesis_core.errors import OptionError
from kinesis_core.options import Group, Option, Values, matching, one_of, url
from spark_kinesis_source.options.fan_out import CONSUMER_NAME, ReadMode, read_mode

PUBLISHING = Group("Publishing progress")


class ProgressStore(Enum):
    """Where progress is published, in addition to Spark's checkpoint."""

    SPARK = "HDFS"
    """Nowhere else. The option value is awslabs' name for the checkpoint directory."""
    DYNAMODB = "DYNAMODB"


METADATA_COMMITTER_TYPE = PUBLISHING.option(
    name="metadataCommitterType",
    meaning=(
        "Where progress is published. Spark's checkpoint has all progress in both cases. `HDFS` publishes nothing else. "
        "`DYNAMODB` also writes the progress after each micro-batch to a table in the layout of the KCL's lease table. "
        "Monitoring can read it, and other consumers can continue from it."
    ),
    parser=one_of({store.value: store for store in ProgressStore}),
    default=ProgressStore.SPARK,
)
DYNAMODB_TABLE_NAME = PUBLISHING.option(
    name="dynamodbTableName",
    meaning="The table for `DYNAMODB`. It is created if it does not exist. Use a separate table for each query.",
    parser=matching(
        r"[a-zA-Z0-9_.-]{3,255}",
        "the name of a DynamoDB table, 3 to 255 letters, digits, '_', '.' and '-'",
    ),
    default_text=(
        "`kdsc_<region>_<stream>`, or `kdsc_<region>_<stream>_<consumerName>` with enhanced fan-out and a `consumerName`; "
        "required for several streams"
    ),
)
DYNAMODB_ENDPOINT_URL = PUBLISHING.option(
    name="dynamodbEndpointUrl",
    meaning=(
        "The URL of DynamoDB, for example of a VPC endpoint or a local server. It is also where the table of a `kclApplication` in "
        "`startingPosition` is read."
    ),
    parser=url(),
    default_text="botocore's endpoint of the region",
)


def read_lease_table(
    values: Values, connection: Connection, *, is_read: bool
) -> tuple[str | None, tuple[str, ...]]:
    """
    Return the name of the table for progress, if progress is published, and a line for the log for each option without effect.

    With *is_read*, the table of a KCL application is read at the endpoint of DynamoDB.

    Raises:
        OptionError: There are several streams, and no name for the table.
    """
    if values[METADATA_COMMITTER_TYPE] is ProgressStore.DYNAMODB:
        return values[DYNAMODB_TABLE_NAME] or _default_table(values, connection), ()
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
    consumer = values[CONSUMER_NAME] if read_mode(values) is ReadMode.FAN_OUT else None
    return f"kdsc_{connection.region}_{connection.streams[0].name}" + (f"_{consumer}" if consumer else "")
