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
    opened(emulator, database, leases=DynamoLeases(endpoint_url=database.endpoint_url, add_index=True))
    assert not database.refuse
