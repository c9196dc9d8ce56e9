"""
The client of a lease table: the table is created if missing, refused if it is of another kind, and written item by
item.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from typing import Any

import pytest
from attrs import define, field
from botocore.exceptions import ClientError

from kinesis_core.aws import RetryPolicy
from kinesis_core.errors import (
    AccessDeniedError,
    ServiceError,
    TableLayoutError,
    TableNotFoundError,
    ThrottledError,
    UnavailableError,
)
from kinesis_core.leases.lease import Lease, LeaseCheckpoint
from kinesis_core.leases.table import LeaseTable
from support.fake_stream import FakeClock

LEASE = Lease("shardId-000000000000", LeaseCheckpoint("4966", 7), parents=("shardId-000000000009",))


def refusal(code: str, status: int = 400) -> ClientError:
    return ClientError(
        {
            "Error": {"Code": code, "Message": "It will not do."},
            "ResponseMetadata": {  # type: ignore[typeddict-item] # what a refusal has
                "HTTPStatusCode": status,
                "RequestId": "request-1",
            },
        },
        "UpdateItem",
    )


@define
class FakeDynamoDb:
    """Returns the given responses of describe_table in order, and repeats the last one."""

    tables: list[Any]
    calls: list[tuple[str, dict[str, Any]]] = field(factory=list)
    refusals: dict[str, list[ClientError]] = field(factory=dict)

    def describe_table(self, **request: Any) -> dict[str, Any]:
        self._note("describe_table", request)
        table = self.tables.pop(0) if len(self.tables) > 1 else self.tables[0]
        if table is None:
            raise refusal("ResourceNotFoundException")
        return {"Table": table}

    def create_table(self, **request: Any) -> None:
        self._note("create_table", request)

    def update_item(self, **request: Any) -> None:
        self._note("update_item", request)

    def names(self) -> list[str]:
        return [name for name, _ in self.calls]

    def _note(self, name: str, request: dict[str, Any]) -> None:
        self.calls.append((name, request))
        if self.refusals.get(name):
            raise self.refusals[name].pop(0)


def table(status: str = "ACTIVE", key: str = "leaseKey", kind: str = "S") -> dict[str, Any]:
    return {
        "TableStatus": status,
        "KeySchema": [{"AttributeName": key, "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": key, "AttributeType": kind}],
    }


@pytest.fixture
def make_table() -> Callable[..., tuple[LeaseTable, FakeDynamoDb]]:
    def make_table(*tables: Any, **refusals: list[ClientError]) -> tuple[LeaseTable, FakeDynamoDb]:
        client = FakeDynamoDb(list(tables), refusals=refusals)
        policy = RetryPolicy(1, 0.0, 0.0, 0.0)
        return LeaseTable("leases", client, policy, FakeClock(), random.Random(0)), client

    return make_table


def test_a_table_that_is_there(make_table: Any) -> None:
    """An existing lease table is used."""
    leases, client = make_table(table())
    leases.prepare()
    assert client.names() == ["describe_table"]


def test_a_missing_table_is_created(make_table: Any) -> None:
    """A missing table is created with the KCL's key, billed by request, and waited for."""
    leases, client = make_table(None, None, table("CREATING"), table())
    leases.prepare()
    assert client.names() == ["describe_table", "create_table", *["describe_table"] * 3]
    assert client.calls[1][1] == {
        "TableName": "leases",
        "KeySchema": [{"AttributeName": "leaseKey", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "leaseKey", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    }


def test_two_queries_create_it_at_once(make_table: Any) -> None:
    """It is no error if another query has created the table meanwhile."""
    leases, _ = make_table(None, table(), create_table=[refusal("ResourceInUseException")])
    leases.prepare()


@pytest.mark.parametrize("patience_s", [0.0, 60.0])
def test_a_table_that_never_becomes_active(make_table: Any, patience_s: float) -> None:
    """A table that does not become active in time is a retryable error."""
    leases, client = make_table(table("CREATING"))
    with pytest.raises(UnavailableError, match="still creating table leases"):
        leases.prepare(patience_s)
    assert len(client.calls) == 1 + patience_s


@pytest.mark.parametrize("other", [table(key="metadataKey"), table(kind="N")])
def test_a_table_of_another_kind(make_table: Any, other: dict[str, Any]) -> None:
    """A table with another key is an error that says what the key must be."""
    leases, _ = make_table(other)
    with pytest.raises(
        TableLayoutError, match=r"Option 'dynamodbTableName' names a table with the key .*table=leases"
    ) as caught:
        leases.prepare()
    assert caught.value.keys == tuple(key["AttributeName"] for key in other["KeySchema"])
    assert pickle.loads(pickle.dumps(caught.value)).keys == caught.value.keys  # noqa: S301 - our own bytes


@pytest.mark.parametrize(
    ("call", "operation"), [("describe_table", "DescribeTable"), ("create_table", "CreateTable")]
)
def test_denied(make_table: Any, call: str, operation: str) -> None:
    """A missing permission is an error at once, and names the IAM action."""
    leases, client = make_table(None, **{call: [refusal("AccessDeniedException")]})
    with pytest.raises(
        AccessDeniedError,
        match=rf"DynamoDB {operation} failed.*request-1.*dynamodb:{operation} on the table.*\[table=leases\]",
    ):
        leases.prepare()
    assert client.names().count(call) == 1


def test_retries_at_the_start(make_table: Any) -> None:
    """Retryable errors are retried before the query starts."""
    leases, client = make_table(table(), describe_table=[refusal("InternalServerError", 500)])
    leases.prepare()
    assert client.names() == ["describe_table", "describe_table"]


def test_writing(make_table: Any) -> None:
    """A lease is written in one call, which increments its counter, on condition that it has no owner."""
    leases, client = make_table(table())
    assert leases.write(LEASE)
    [(_, request)] = client.calls
    assert request["Key"] == {"leaseKey": {"S": "shardId-000000000000"}}
    assert request["ConditionExpression"] == "attribute_not_exists(leaseOwner)"
    assert request["UpdateExpression"] == (
        "SET #checkpoint = :checkpoint, #checkpointSubSequenceNumber = :checkpointSubSequenceNumber, "
        "#ownerSwitchesSinceCheckpoint = :ownerSwitchesSinceCheckpoint, #parentShardId = :parentShardId "
        "ADD leaseCounter :one"
    )
    assert request["ExpressionAttributeValues"][":one"] == {"N": "1"}


def test_a_lease_of_another_consumer(make_table: Any) -> None:
    """A lease that another consumer owns is left alone."""
    leases, _ = make_table(table(), update_item=[refusal("ConditionalCheckFailedException")])
    assert not leases.write(LEASE)


@pytest.mark.parametrize(
    ("code", "status", "kind", "advice"),
    [
        ("ResourceNotFoundException", 400, TableNotFoundError, "Check dynamodbTableName"),
        ("ProvisionedThroughputExceededException", 400, ThrottledError, "write capacity"),
        ("RequestLimitExceeded", 400, ThrottledError, "write capacity"),
        ("AccessDeniedException", 400, AccessDeniedError, "dynamodb:UpdateItem on the table"),
        ("InternalServerError", 500, UnavailableError, "Check dynamodbEndpointUrl"),
    ],
)
def test_refusals(make_table: Any, code: str, status: int, kind: type[ServiceError], advice: str) -> None:
    """A refused write is not retried here. The error has its class, and says what to do."""
    leases, client = make_table(table(), update_item=[refusal(code, status)])
    with pytest.raises(kind, match=advice):
        leases.write(LEASE)
    assert len(client.calls) == 1
