"""The calls of a consumer group, from its opening to its end, are those that the IAM policies of the docs allow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kinesis_consumer import ConsumerGroup, DynamoLeases, GroupSettings
from kinesis_core import AccessDeniedError
from kinesis_core.aws import CALLS, Location, Purpose
from kinesis_credentials import StaticKeys
from kinesis_emulator import Emulator
from support.lease_tables import DynamoDb, dynamodb, kcl_lease
from support.streams import KEY_ID, REGION, SECRET

QUICK = GroupSettings(lease_duration_s=30.0, fetch_interval_s=0.2)
SHARD = "shardId-000000000000"


def declared(purpose: Purpose, service: str, location: Location | None = None) -> set[str]:
    """Return the operations that are declared for *purpose*."""
    return {
        call.operation
        for call in CALLS
        for use in call.uses
        if call.service == service and use.purpose is purpose and location in (None, *use.locations)
    }


OF_TABLE = declared(Purpose.GROUP_TABLE, "dynamodb", Location.WORKER)


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    with Emulator() as running:
        running.create_stream("orders", 1)
        running.put("orders", b"order", "k")
        running.calls.clear()
        yield running


@pytest.fixture
def database() -> Iterator[DynamoDb]:
    with dynamodb() as running:
        yield running


def make_old_table(database: DynamoDb) -> None:
    """Create the table of a KCL 2.x, which has no index."""
    database.create_table(leaseKey="HASH")
    database.put_item(kcl_lease(SHARD, "TRIM_HORIZON"))


def run(emulator: Emulator, database: DynamoDb, *, add_index: bool = False) -> None:
    """Read one batch, commit it, and close the group."""
    with ConsumerGroup.open(
        "orders",
        database.table,
        leases=DynamoLeases(endpoint_url=database.endpoint_url, add_index=add_index),
        region=REGION,
        endpoint_url=emulator.endpoint_url,
        credentials=StaticKeys(KEY_ID, SECRET),
        start="TRIM_HORIZON",
        settings=QUICK,
    ) as group:
        next(group).commit()


def test_a_group_with_a_new_table(emulator: Emulator, database: DynamoDb) -> None:
    """It makes the declared calls to create the table and to use it, and those of a source that polls."""
    run(emulator, database)
    assert set(database.calls) == OF_TABLE - {"UpdateTable"}
    assert set(emulator.calls.by_action()) == declared(Purpose.SOURCE, "kinesis")


def test_a_group_with_the_table_of_an_older_kcl(emulator: Emulator, database: DynamoDb) -> None:
    """It adds the index."""
    make_old_table(database)
    run(emulator, database, add_index=True)
    assert set(database.calls) == OF_TABLE - {"CreateTable"}


@pytest.mark.parametrize("operation", sorted(OF_TABLE - {"DeleteItem"}))
def test_a_missing_permission(emulator: Emulator, database: DynamoDb, operation: str) -> None:
    """The error names the action. Only deletions may fail without an error: they are made when a worker ends."""
    if operation == "UpdateTable":
        make_old_table(database)
    database.refuse = {operation: "AccessDeniedException"}
    with pytest.raises(AccessDeniedError, match=f"Allow the IAM action dynamodb:{operation} on the table"):
        run(emulator, database, add_index=True)
