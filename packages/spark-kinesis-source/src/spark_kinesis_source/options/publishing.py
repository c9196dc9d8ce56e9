"""Whether progress is published, and where to."""

from __future__ import annotations

import re

from kinesis_core.options import BadValueError, Option, Parser, Scope, awslabs, one_of, url

PUBLISHING = "Publishing progress"


def _table_name() -> Parser[str]:
    def parse(text: str) -> str:
        if not re.fullmatch(r"[a-zA-Z0-9_.-]{3,255}", text):
            raise BadValueError()
        return text

    return Parser("the name of a DynamoDB table, 3 to 255 letters, digits, '_', '.' and '-'", parse)


METADATA_COMMITTER_TYPE = Option[bool](
    name="metadataCommitterType",
    meaning=(
        "Spark's checkpoint holds all progress, in either case. `DYNAMODB` publishes it as well, after each micro-batch, "
        "to a table in the layout that the KCL keeps leases in: to look at, and for another consumer to go on from."
    ),
    parser=one_of({"HDFS": False, "DYNAMODB": True}),
    default=False,
    default_text="`HDFS`: nothing is published",
    group=PUBLISHING,
    scope=Scope.SOURCE,
    aliases=(awslabs("kinesis.metadataCommitterType"),),
)
DYNAMODB_TABLE_NAME = Option[str | None](
    name="dynamodbTableName",
    meaning="The table to publish to; it is made when it is not there. Give each query a table of its own.",
    parser=_table_name(),
    default=None,
    default_text="`kdsc_<region>_<stream>`, or `kdsc_<region>_<stream>_<consumerName>`; required where there are several streams",
    group=PUBLISHING,
    scope=Scope.SOURCE,
    aliases=(awslabs("kinesis.dynamodb.tableName"),),
)
DYNAMODB_ENDPOINT_URL = Option[str | None](
    name="dynamodbEndpointUrl",
    meaning="Where DynamoDB answers: a VPC endpoint, or a local server.",
    parser=url(),
    default=None,
    default_text="botocore's, for the region",
    group=PUBLISHING,
    scope=Scope.SOURCE,
)

PUBLISHING_OPTIONS = (
    METADATA_COMMITTER_TYPE,
    DYNAMODB_TABLE_NAME,
    DYNAMODB_ENDPOINT_URL,
)
