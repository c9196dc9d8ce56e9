"""The options of publishing progress to a table."""

from __future__ import annotations

from enum import Enum

from kinesis_core.options import Option, Scope, matching, one_of, url

PUBLISHING = "Publishing progress"


class ProgressStore(Enum):
    """Where progress is published, in addition to Spark's checkpoint."""

    SPARK = "HDFS"
    """Nowhere else. The option value is awslabs' name for the checkpoint directory."""
    DYNAMODB = "DYNAMODB"


METADATA_COMMITTER_TYPE = Option[ProgressStore](
    name="metadataCommitterType",
    meaning=(
        "Where progress is published. Spark's checkpoint has all progress in both cases. `HDFS` publishes nothing else. "
        "`DYNAMODB` also writes the progress after each micro-batch to a table in the layout of the KCL's lease table, for "
        "monitoring and for other consumers that continue from there."
    ),
    parser=one_of({store.value: store for store in ProgressStore}),
    default=ProgressStore.SPARK,
    group=PUBLISHING,
    scope=Scope.SOURCE,
)
DYNAMODB_TABLE_NAME = Option[str | None](
    name="dynamodbTableName",
    meaning="The table for `DYNAMODB`. It is created if it does not exist. Use a separate table for each query.",
    parser=matching(
        r"[a-zA-Z0-9_.-]{3,255}",
        "the name of a DynamoDB table, 3 to 255 letters, digits, '_', '.' and '-'",
    ),
    default=None,
    default_text=(
        "`kdsc_<region>_<stream>`, or `kdsc_<region>_<stream>_<consumerName>` with enhanced fan-out and a `consumerName`; "
        "required for several streams"
    ),
    group=PUBLISHING,
    scope=Scope.SOURCE,
)
DYNAMODB_ENDPOINT_URL = Option[str | None](
    name="dynamodbEndpointUrl",
    meaning=(
        "The URL of DynamoDB, for example of a VPC endpoint or a local server. It is also where the table of a `kclApplication` in "
        "`startingPosition` is read."
    ),
    parser=url(),
    default=None,
    default_text="botocore's endpoint of the region",
    group=PUBLISHING,
    scope=Scope.SOURCE,
)

PUBLISHING_OPTIONS = (
    METADATA_COMMITTER_TYPE,
    DYNAMODB_TABLE_NAME,
    DYNAMODB_ENDPOINT_URL,
)
