"""Whether the run could delete what it creates. This is asked before anything is created, by calls on names that do not exist."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from botocore.exceptions import ClientError

from tools.aws.kit import code_of
from tools.aws.ledger import Run
from tools.aws.target import Target


def missing_permissions(target: Target, run: Run) -> list[str]:
    """Return the actions that are denied. Another error says that the call is allowed: AWS looks for the resource afterwards."""
    name = f"{run.prefix}nothing"
    kinesis, dynamodb = target.client("kinesis"), target.client("dynamodb")
    arn = f"arn:{_partition(target)}:dynamodb:{run.region}:{run.account}:table/{name}"
    calls: dict[str, Callable[[], Any]] = {
        "kinesis:ListTagsForStream": lambda: kinesis.list_tags_for_stream(StreamName=name),
        "kinesis:DeleteStream": lambda: kinesis.delete_stream(StreamName=name, EnforceConsumerDeletion=True),
        "kinesis:DescribeStreamSummary": lambda: kinesis.describe_stream_summary(StreamName=name),
        "dynamodb:DescribeTable": lambda: dynamodb.describe_table(TableName=name),
        "dynamodb:ListTagsOfResource": lambda: dynamodb.list_tags_of_resource(ResourceArn=arn),
        "dynamodb:DeleteTable": lambda: dynamodb.delete_table(TableName=name),
    }
    return list(_denied(calls))


def _denied(calls: dict[str, Callable[[], Any]]) -> Iterator[str]:
    for action, call in calls.items():
        try:
            call()
        except ClientError as error:
            if "AccessDenied" in code_of(error):
                yield action


def _partition(target: Target) -> str:
    return str(target.session.get_partition_for_region(target.region_name))
