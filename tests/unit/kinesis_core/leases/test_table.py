"""
The client of a lease table: the table is created if missing, refused if it is of another kind, and written item by
item.
"""

from __future__ import annotations

import pickle
import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from attrs import define, field
from botocore.exceptions import ClientError

from kinesis_core.aws import RetryPolicy
from kinesis_core.errors import (
    AccessDeniedError,
    InvalidRequestError,
    ServiceError,
    TableLayoutError,
    TableNotFoundError,
    ThrottledError,
    UnavailableError,
)
from kinesis_core.leases.lease import Lease, LeaseCheckpoint
from kinesis_core.leases.table import LeaseTable
from kinesis_core.leases.table_client import OWNER_INDEX, OwnerIndex
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
    pages: list[dict[str, Any]] = field(factory=list)

    def describe_table(self, **request: Any) -> dict[str, Any]:
        self._note("describe_table", request)
        table = self.tables.pop(0) if len(self.tables) > 1 else self.tables[0]
        if table is None:
            raise refusal("ResourceNotFoundException")
        return {"Table": table}

    def create_table(self, **request: Any) -> None:
        self._note("create_table", request)

    def update_table(self, **request: Any) -> None:
        self._note("update_table", request)

    def update_item(self, **request: Any) -> dict[str, Any]:
        self._note("update_item", request)
        return {}

    def scan(self, **request: Any) -> dict[str, Any]:
        self._note("scan", dict(request))
        return self.pages.pop(0)

    def names(self) -> list[str]:
        return [name for name, _ in self.calls]

    def _note(self, name: str, request: dict[str, Any]) -> None:
        self.calls.append((name, request))
        if self.refusals.get(name):
            raise self.refusals[name].pop(0)


def table(
    status: str = "ACTIVE", key: str = "leaseKey", kind: str = "S", index: str = "", **more: Any
) -> dict[str, Any]:
    """Return the description of a table, with an index of the status *index* if there is one."""
    indexes = [{"IndexName": OWNER_INDEX, "IndexStatus": index}] if index else []
    return {
        "TableStatus": status,
        "KeySchema": [{"AttributeName": key, "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": key, "AttributeType": kind}],
        "GlobalSecondaryIndexes": [{"IndexName": "another", "IndexStatus": "CREATING"}, *indexes],
        **more,
    }


def readable(request: dict[str, Any], expression: str) -> str:
    """Return an expression of *request* with names and values instead of placeholders."""
    placeholders = {**request["ExpressionAttributeNames"], **request["ExpressionAttributeValues"]}
    return re.sub(r"[#:]\w+", lambda found: str(placeholders[found[0]]), request[expression])


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


INDEX = {
    "IndexName": "LeaseOwnerToLeaseKeyIndex",
    "KeySchema": [
        {"AttributeName": "leaseOwner", "KeyType": "HASH"},
        {"AttributeName": "leaseKey", "KeyType": "RANGE"},
    ],
    "Projection": {"ProjectionType": "KEYS_ONLY"},
}
"""As the KCL makes it."""
ATTRIBUTES = [
    {"AttributeName": "leaseKey", "AttributeType": "S"},
    {"AttributeName": "leaseOwner", "AttributeType": "S"},
]


@pytest.mark.parametrize("index", [OwnerIndex.OF_NEW_TABLES, OwnerIndex.OF_ALL_TABLES])
def test_a_missing_table_is_created_with_its_index(make_table: Any, index: OwnerIndex) -> None:
    """A missing table is created with the KCL's index in one call, and both are waited for."""
    leases, client = make_table(None, None, table("CREATING"), table(index="CREATING"), table(index="ACTIVE"))
    leases.prepare(index=index)
    assert client.names() == ["describe_table", "create_table", *["describe_table"] * 4]
    assert client.calls[1][1] == {
        "TableName": "leases",
        "KeySchema": [{"AttributeName": "leaseKey", "KeyType": "HASH"}],
        "AttributeDefinitions": ATTRIBUTES,
        "GlobalSecondaryIndexes": [INDEX],
        "BillingMode": "PAY_PER_REQUEST",
    }


CAPACITY = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 7}


@pytest.mark.parametrize(
    ("facts", "capacity"),
    [
        ({"BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"}}, {}),
        (
            {"ProvisionedThroughput": {**CAPACITY, "NumberOfDecreasesToday": 0}},
            {"ProvisionedThroughput": CAPACITY},
        ),
    ],
)
def test_an_index_is_added(make_table: Any, facts: dict[str, Any], capacity: dict[str, Any]) -> None:
    """A table without the index gets it when asked for, billed as the table is, and it is waited for."""
    tables = table(**facts), table("UPDATING", index="CREATING"), table(index="ACTIVE")
    leases, client = make_table(*tables)
    leases.prepare(index=OwnerIndex.OF_ALL_TABLES)
    assert client.names() == ["describe_table", "update_table", "describe_table", "describe_table"]
    assert client.calls[1][1] == {
        "TableName": "leases",
        "AttributeDefinitions": ATTRIBUTES,
        "GlobalSecondaryIndexUpdates": [{"Create": {**INDEX, **capacity}}],
    }


@pytest.mark.parametrize(
    ("index", "found"),
    [
        (OwnerIndex.NONE, table(index="CREATING")),
        (OwnerIndex.OF_NEW_TABLES, table()),
        (OwnerIndex.OF_ALL_TABLES, table(index="ACTIVE")),
        (OwnerIndex.OF_ALL_TABLES, table("UPDATING", index="UPDATING")),
    ],
)
def test_an_index_that_is_not_asked_for(make_table: Any, index: OwnerIndex, found: dict[str, Any]) -> None:
    """A table without the index is used as it is, and so is one whose index can be queried."""
    leases, client = make_table(found)
    leases.prepare(index=index)
    assert client.names() == ["describe_table"]


@pytest.mark.parametrize(
    ("code", "status"),
    [("ResourceInUseException", 400), ("LimitExceededException", 400), ("InternalServerError", 500)],
)
def test_another_process_changes_the_table(make_table: Any, code: str, status: int) -> None:
    """While the table cannot be changed, the index is asked for again."""
    leases, client = make_table(
        table(), table("UPDATING"), table(index="ACTIVE"), update_table=[refusal(code, status)]
    )
    leases.prepare(index=OwnerIndex.OF_ALL_TABLES)
    assert client.names().count("update_table") == 2


def test_another_process_adds_the_index(make_table: Any) -> None:
    """It is no error if another process has added the index between two calls. Another refusal is one."""
    refused = refusal("ValidationException")
    leases, _ = make_table(table(), table(index="CREATING"), table(index="ACTIVE"), update_table=[refused])
    leases.prepare(index=OwnerIndex.OF_ALL_TABLES)
    leases, _ = make_table(table(), update_table=[refused])
    with pytest.raises(InvalidRequestError, match="UpdateTable failed"):
        leases.prepare(index=OwnerIndex.OF_ALL_TABLES)


def test_an_index_that_never_becomes_active(make_table: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A wait has a line in the log every 30 s. When it takes too long, there is an error that is worth a retry."""
    caplog.set_level("INFO", "kinesis_core")
    leases, _ = make_table(table(index="CREATING"))
    with pytest.raises(
        UnavailableError, match="still creating index LeaseOwnerToLeaseKeyIndex of table leases"
    ):
        leases.prepare(60.0, OwnerIndex.OF_NEW_TABLES)
    waits = [record.getMessage().rpartition("=")[2] for record in caplog.records]
    assert waits == ["0", "30"]


def test_a_table_that_is_being_deleted(make_table: Any) -> None:
    """A table that is being deleted is waited for, and created again."""
    leases, client = make_table(table("DELETING"), None, table())
    leases.prepare()
    assert client.names() == ["describe_table", "describe_table", "create_table", "describe_table"]


@pytest.mark.parametrize("other", [table(key="metadataKey"), table(kind="N")])
def test_a_table_of_another_kind(make_table: Any, other: dict[str, Any]) -> None:
    """A table with another key is an error that says what the key must be."""
    leases, _ = make_table(other)
    with pytest.raises(TableLayoutError, match=r"The key of the table is .*table=leases") as caught:
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
    assert readable(request, "ConditionExpression") == "attribute_not_exists(leaseOwner)"
    assert readable(request, "UpdateExpression") == (
        "SET checkpoint = {'S': '4966'}, checkpointSubSequenceNumber = {'N': '7'}, ownerSwitchesSinceCheckpoint = {'N': '0'}, "
        "parentShardId = {'SS': ['shardId-000000000009']} ADD leaseCounter {'N': '1'}"
    )


def test_writing_only_what_is_there(make_table: Any) -> None:
    """On request, a lease that is absent is not created."""
    leases, client = make_table(table())
    assert leases.write(LEASE, may_create=False)
    [(_, request)] = client.calls
    names, values = request["ExpressionAttributeNames"], request["ExpressionAttributeValues"]
    assert request["ConditionExpression"] == "attribute_not_exists(#n5) AND #n6 = :v5"
    assert (names["#n5"], names["#n6"], values[":v5"]) == ("leaseOwner", "leaseKey", {"S": LEASE.key})


def test_looking_for_a_lease(make_table: Any) -> None:
    """Whether a lease is there is found out by an update that changes nothing, under the permission to write."""
    leases, client = make_table(table(), update_item=[refusal("ConditionalCheckFailedException")])
    assert not leases.has(LEASE.key)
    assert leases.has(LEASE.key)
    assert client.calls[1] == (
        "update_item",
        {
            "TableName": "leases",
            "Key": {"leaseKey": {"S": LEASE.key}},
            "ConditionExpression": "#n0 = :v0",
            "ExpressionAttributeNames": {"#n0": "leaseKey"},
            "ExpressionAttributeValues": {":v0": {"S": LEASE.key}},
        },
    )


def test_reading_all_items(make_table: Any) -> None:
    """A table is read page by page, as it is at that moment. A throttled page is read again."""
    leases, client = make_table(table(), scan=[refusal("ThrottlingException")])
    client.pages = [
        {"Items": [{"leaseKey": {"S": "a"}}], "LastEvaluatedKey": {"leaseKey": {"S": "a"}}},
        {"Items": []},
    ]
    assert leases.scan() == [{"leaseKey": {"S": "a"}}]
    assert [request for _, request in client.calls] == [
        {"TableName": "leases", "ConsistentRead": True},
        {"TableName": "leases", "ConsistentRead": True},
        {"TableName": "leases", "ConsistentRead": True, "ExclusiveStartKey": {"leaseKey": {"S": "a"}}},
    ]


def test_a_lease_of_another_consumer(make_table: Any) -> None:
    """A lease that another consumer owns is left alone."""
    leases, _ = make_table(table(), update_item=[refusal("ConditionalCheckFailedException")])
    assert not leases.write(LEASE)


@pytest.mark.parametrize(
    ("code", "status", "kind", "advice"),
    [
        (
            "ResourceNotFoundException",
            400,
            TableNotFoundError,
            r"Check the name of the table,",
        ),
        ("ProvisionedThroughputExceededException", 400, ThrottledError, "write capacity"),
        ("RequestLimitExceeded", 400, ThrottledError, "write capacity"),
        ("AccessDeniedException", 400, AccessDeniedError, "dynamodb:UpdateItem on the table"),
        ("InternalServerError", 500, UnavailableError, "and dynamodb_endpoint_url"),
    ],
)
def test_refusals(make_table: Any, code: str, status: int, kind: type[ServiceError], advice: str) -> None:
    """A refused write is not retried here. The error has its class, and says what to do."""
    leases, client = make_table(table(), update_item=[refusal(code, status)])
    with pytest.raises(kind, match=advice):
        leases.write(LEASE)
    assert len(client.calls) == 1
