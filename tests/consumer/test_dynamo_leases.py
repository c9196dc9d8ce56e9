"""How a group is opened with its leases in DynamoDB."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kinesis_consumer import ConsumerGroup, DynamoLeases, GroupSettings
from kinesis_credentials import StaticKeys
from kinesis_emulator import Emulator
from support.lease_tables import DynamoDb, dynamodb, kcl_lease
from support.streams import KEY_ID, REGION, SECRET

QUICK = GroupSettings(lease_duration_s=30.0, fetch_interval_s=0.2)


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    with Emulator() as running:
        running.create_stream("orders", 1)
        yield running


@pytest.fixture
def database() -> Iterator[DynamoDb]:
    with dynamodb() as running:
        yield running


def opened(emulator: Emulator, database: DynamoDb, **more: Any) -> ConsumerGroup:
    leases = more.pop("leases", DynamoLeases(endpoint_url=database.endpoint_url))
    chosen = {"start": "TRIM_HORIZON", "settings": QUICK, **more}
    return ConsumerGroup.open(
        "orders",
        database.table,
        leases=leases,
        region=REGION,
        endpoint_url=emulator.endpoint_url,
        credentials=StaticKeys(KEY_ID, SECRET),
        **chosen,
    )


class Once(dict[str, str]):
    """Error codes that are each returned once."""

    def get(self, key: str, default: Any = None) -> Any:
        return self.pop(key, default)


def test_a_throttle_does_not_end_an_opening(emulator: Emulator, database: DynamoDb) -> None:
    """Each call that an opening makes is repeated."""
    database.create_table(leaseKey="HASH")
    database.put_item(kcl_lease("shardId-000000000000", "TRIM_HORIZON"))
    database.refuse = Once(
        DescribeTable="InternalServerError", GetItem="ThrottlingException", Scan="ThrottlingException"
    )
    opened(emulator, database)
    assert not database.refuse


def test_tables_of_kcl_3_0_that_appear_later(emulator: Emulator, database: DynamoDb) -> None:
    """They are found by another look, if a group takes leases and nothing says how it coordinates."""
    database.create_table(leaseKey="HASH")
    database.put_item(kcl_lease("shardId-000000000000", "TRIM_HORIZON"))
    tables = opened(emulator, database)._threads.coordinator.tables
    assert (tables.legacy_coordination, tables.legacy_reports) == (None, None)
    for suffix, key in (("CoordinatorState", "key"), ("WorkerMetricStats", "wid")):
        database.client.create_table(
            TableName=f"{database.table}-{suffix}",
            KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
    assert tables.look_again is not None
    found = tables.look_again()
    assert found.legacy_coordination is not None
    assert found.legacy_reports is not None
    assert found.legacy_coordination.create("Leader", {"ownerName": "java"})
    assert found.legacy_reports.create("java", {"lut": 1})
    assert [item["key"] for item in found.legacy_coordination.scan()] == ["Leader"]
