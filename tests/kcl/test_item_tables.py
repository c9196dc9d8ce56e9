"""Tables of a group over DynamoDB Local: all that the unit tests ask of a table, and the index of the KCL."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from importlib import import_module

import pytest

from kinesis_consumer.stores import DynamoTable
from kinesis_core.errors import InvalidRequestError
from support.item_tables import Opener, open_dynamo_table
from support.kcl.dynamodb_local import DynamoDbLocal

test_tables = import_module("tests.unit.kinesis_consumer.stores.test_tables")
pytestmark = pytest.mark.witness
# pytest collects the tests of this module's own names, and they get the fixtures below.
globals().update(
    {name: test for name, test in vars(test_tables).items() if name.startswith("test_") or name == "table"}
)


@pytest.fixture
def is_moto() -> bool:
    return False


@pytest.fixture
def unprepared(dynamodb_local: DynamoDbLocal) -> Iterator[Opener]:
    """Opens a table once more. It does not exist yet."""
    name = f"items-{uuid.uuid4().hex[:8]}"
    with ExitStack() as opened:

        def open_again() -> DynamoTable:
            table = open_dynamo_table(dynamodb_local.endpoint_url, name, with_index=True)
            opened.callback(table.close)
            return table

        yield open_again


@pytest.fixture
def opener(unprepared: Opener) -> Opener:
    unprepared().prepare()
    return unprepared


def test_a_table_without_its_index(dynamodb_local: DynamoDbLocal, unprepared: Opener) -> None:
    """A query of a table of KCL 2 is refused. Several workers of KCL 3 add the index at the same time."""
    tables = [unprepared() for _ in range(4)]
    dynamodb_local.create_lease_table(tables[0].name, with_index=False)
    assert tables[0].create("shardId-000000000000", {"leaseOwner": "a"})
    with pytest.raises(
        InvalidRequestError, match=r"lacks the index LeaseOwnerToLeaseKeyIndex.*add_index=True"
    ):
        tables[0].keys_of_owner("a")
    test_tables.at_once(lambda worker: tables[worker].prepare(), len(tables))
    assert tables[0].keys_of_owner("a") == ["shardId-000000000000"]
