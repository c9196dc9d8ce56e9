"""What only a table in DynamoDB has: an index, pages, IAM and a service that refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import define, field
from botocore.exceptions import ClientError

from kinesis_consumer.stores import DynamoTable, ItemTable, Update
from kinesis_core.aws import Connection, RetryPolicy, make_client
from kinesis_core.errors import (
    AccessDeniedError,
    InvalidRequestError,
    MalformedResponseError,
    ServiceError,
    TableLayoutError,
    TableNotFoundError,
    ThrottledError,
    UnavailableError,
)
from kinesis_core.leases import OWNER_INDEX, TableClient
from kinesis_credentials import StaticKeys
from support.canned import Canned
from support.fake_stream import FakeClock
from support.item_tables import Servers, open_dynamo_table

KEY = "shardId-000000000000"
Call = Callable[[ItemTable], object]
CALLS: dict[str, Call] = {
    "Scan": lambda table: table.scan(),
    "GetItem": lambda table: table.get(KEY),
    "Query": lambda table: table.keys_of_owner("a"),
    "PutItem": lambda table: table.create(KEY, {"leaseCounter": 0}),
    "UpdateItem": lambda table: table.update(Update(KEY, {}, add={"leaseCounter": 1})),
    "DeleteItem": lambda table: table.delete(KEY, {}),
}
"""A call of each operation."""


@define
class FakeDynamoDb:
    """Responds to every operation with the next of *responses*: raises an error, and returns all else."""

    responses: list[Any]
    requests: list[tuple[str, dict[str, Any]]] = field(factory=list)

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        def respond(**request: Any) -> Any:
            self.requests.append((operation, request))
            response = self.responses.pop(0)
            if isinstance(response, Exception):
                raise response
            return response

        return respond


def table_of(*responses: Any) -> tuple[DynamoTable, FakeDynamoDb]:
    fake = FakeDynamoDb(list(responses))
    policy = RetryPolicy(max_retries=5, outage_timeout_s=60.0)
    return DynamoTable(TableClient("leases", fake, policy, FakeClock(), None)), fake  # type: ignore[arg-type] # no random numbers


def refusal(code: str, status: int = 400, text: str = "It will not do.") -> ClientError:
    response: Any = {
        "Error": {"Code": code, "Message": text},
        "ResponseMetadata": {"HTTPStatusCode": status, "RequestId": "request-1"},
    }
    return ClientError(response, "Operation")


def item(key: str) -> dict[str, Any]:
    return {"leaseKey": {"S": key}}


@pytest.mark.parametrize("operation", ["Scan", "Query"])
def test_pages(operation: str) -> None:
    """All pages are read, each from the last key of the one before. A page may be empty."""
    pages = [
        {"Items": [item("1"), item("2")], "LastEvaluatedKey": item("2")},
        {"Items": [], "LastEvaluatedKey": item("5")},
        {"Items": [item("6")]},
    ]
    table, fake = table_of(*pages)
    found = CALLS[operation](table)
    keys = ["1", "2", "6"]
    assert found == ([{"leaseKey": key} for key in keys] if operation == "Scan" else keys)
    starts = [request.get("ExclusiveStartKey") for _, request in fake.requests]
    assert starts == [None, item("2"), item("5")]


def test_reads_are_consistent() -> None:
    """Items are read as they are now. Only an index cannot be read so."""
    table, fake = table_of({"Items": []}, {}, {"Items": []})
    table.scan()
    table.get(KEY)
    table.keys_of_owner("a")
    assert [request.get("ConsistentRead") for _, request in fake.requests] == [True, True, None]


@pytest.mark.parametrize("operation", sorted(CALLS))
@pytest.mark.parametrize(
    "body", [b"<html>Please log in.</html>", b"\n<html>", b"{", b"null", b"[]", b"\xa0", b""]
)
def test_a_page_in_place_of_a_response(operation: str, body: bytes) -> None:
    """Nothing is read, written or deleted, if a proxy says so: some responses have no members that could be missing."""
    connection = Connection.to_stream(
        "orders", region="eu-west-1", credentials=StaticKeys("AKIAEXAMPLE", "secret")
    )
    client, canned = make_client(connection, "dynamodb", "http://127.0.0.1:9"), Canned()
    canned.serve(client, "dynamodb")
    canned.response(body, content_type="text/html")
    table = DynamoTable(TableClient("leases", client, RetryPolicy(max_retries=0), FakeClock(), None))  # type: ignore[arg-type] # no random numbers
    with pytest.raises(MalformedResponseError, match=f"responded to {operation} with a malformed body"):
        CALLS[operation](table)


@pytest.mark.parametrize("operation", sorted(CALLS))
@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("ProvisionedThroughputExceededException", 400, ThrottledError),
        ("ThrottlingException", 400, ThrottledError),
        ("RequestLimitExceeded", 400, ThrottledError),
        ("InternalServerError", 500, UnavailableError),
        ("ResourceNotFoundException", 400, TableNotFoundError),
        ("AccessDeniedException", 400, AccessDeniedError),
        ("ValidationException", 400, InvalidRequestError),
        ("ItemCollectionSizeLimitExceededException", 400, ServiceError),
    ],
)
def test_refusals(operation: str, code: str, status: int, kind: type[ServiceError]) -> None:
    """Each call is made once. The error has its class, and names the operation and the table."""
    table, fake = table_of(refusal(code, status))
    with pytest.raises(kind, match=rf"DynamoDB {operation} failed.*request-1.*\[table=leases.*\]") as caught:
        CALLS[operation](table)
    assert len(fake.requests) == 1
    assert caught.value.retryable is (kind in {ThrottledError, UnavailableError})


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (
            "The table does not have the specified index: X",
            InvalidRequestError,
            r"add_index=True.*request-1.*\[table=leases\]",
        ),
        (
            "Cannot read from backfilling global secondary index: X",
            UnavailableError,
            "Query failed.*backfilling",
        ),
        ("Invalid KeyConditionExpression", InvalidRequestError, "Query failed.*KeyCondition"),
    ],
)
def test_a_query_without_the_index(text: str, kind: type[ServiceError], message: str) -> None:
    """The error says what to do about a missing index. One that is being made is waited for."""
    table, _ = table_of(refusal("ValidationException", text=text))
    with pytest.raises(kind, match=message):
        table.keys_of_owner("a")


@pytest.mark.parametrize("operation", sorted(CALLS))
def test_denied(operation: str) -> None:
    """A missing permission is named, with the resource that needs it: for a query that is the index."""
    table, _ = table_of(refusal("AccessDeniedException"))
    resource = "the table's index" if operation == "Query" else "the table,"
    with pytest.raises(AccessDeniedError, match=f"Allow the IAM action dynamodb:{operation} on {resource}"):
        CALLS[operation](table)


@pytest.mark.parametrize(
    ("operation", "response"),
    [
        ("GetItem", {"Item": {"leaseKey": {}}}),
        ("GetItem", None),
        ("Scan", {}),
        ("Scan", {"Items": 7}),
        ("Scan", {"Items": [{"leaseKey": "text"}]}),
        ("Query", {"Items": [{"another": {"S": "a"}}]}),
        ("Query", None),
        ("UpdateItem", {}),
    ],
)
def test_malformed_responses(operation: str, response: Any) -> None:
    """A response that is not one of DynamoDB is an error that is worth a retry."""
    table, _ = table_of(response)
    with pytest.raises(MalformedResponseError, match=r"malformed body.*\[table=leases"):
        CALLS[operation](table)


# Against moto -----------------------------------------------------------------------------------------------


@pytest.fixture
def endpoint_url(servers: Servers) -> str:
    pytest.importorskip("moto")
    return servers.moto


def describe(table: DynamoTable) -> Any:
    return table.client.client.describe_table(TableName=table.name)["Table"]


@pytest.mark.tests
def test_a_new_table_of_leases(endpoint_url: str) -> None:
    """A new table has the KCL's key and index, and is billed by request."""
    table = open_dynamo_table(endpoint_url, "dynamo-new")
    table.prepare()
    found = describe(table)
    assert found["KeySchema"] == [{"AttributeName": "leaseKey", "KeyType": "HASH"}]
    assert found["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    [index] = found["GlobalSecondaryIndexes"]
    assert index["IndexName"] == OWNER_INDEX
    assert index["KeySchema"][0] == {"AttributeName": "leaseOwner", "KeyType": "HASH"}
    assert index["Projection"] == {"ProjectionType": "KEYS_ONLY"}
    table.close()


@pytest.mark.tests
def test_a_table_of_an_older_kcl(endpoint_url: str) -> None:
    """A table without the index is used as it is, where a query fails. It gets the index when that is asked for."""
    old = open_dynamo_table(endpoint_url, "dynamo-old")
    old.client.prepare()
    assert old.create(KEY, {"leaseOwner": "a"})
    old.prepare()
    assert not describe(old).get("GlobalSecondaryIndexes")
    with pytest.raises(InvalidRequestError, match=r"Table dynamo-old lacks the index.*add_index=True"):
        old.keys_of_owner("a")
    new = open_dynamo_table(endpoint_url, "dynamo-old", with_index=True)
    new.prepare()
    assert new.keys_of_owner("a") == [KEY]
    old.close()
    new.close()


@pytest.mark.tests
def test_a_table_with_another_key(endpoint_url: str) -> None:
    """It is no lease table."""
    leases = open_dynamo_table(endpoint_url, "dynamo-state")
    key = {"AttributeName": "key"}
    leases.client.client.create_table(
        TableName="dynamo-state",
        KeySchema=[{**key, "KeyType": "HASH"}],
        AttributeDefinitions=[{**key, "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    with pytest.raises(TableLayoutError, match="The key of the table is key; that of a lease"):
        leases.prepare()
    leases.close()


@pytest.mark.tests
def test_large_items_make_pages(endpoint_url: str) -> None:
    """More than DynamoDB returns at once is scanned whole."""
    table = open_dynamo_table(endpoint_url, "dynamo-large")
    table.prepare()
    for number in range(12):
        assert table.create(f"{number:02}", {"text": "x" * 200_000})
    assert sorted(str(item["leaseKey"]) for item in table.scan()) == [f"{number:02}" for number in range(12)]
    table.close()
