"""Groups whose tables are not those of a new application: the tables of KCL 3.0 to 3.4, and the way from 2.x to 3.x."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from support.kcl.application import KclApplication
from support.kcl.dynamodb_local import plain
from support.kcl.worker import BY_NUMBER, quick

pytestmark = pytest.mark.witness
Make = Callable[..., KclApplication]


@pytest.fixture
def application(kcl_application: Make) -> KclApplication:
    made = kcl_application(shards=4)
    made.create_table()
    return made


def test_the_tables_of_kcl_3_0_to_3_4(application: KclApplication) -> None:
    """
    Where the lock and the reports of workers have tables of their own, Python writes its report there, is given leases by Java, and
    takes the lock there after `kill -9` of Java.
    """
    coordination, reports = create_legacy_tables(application)
    java = application.start("3.5.1", "java", settings=BY_NUMBER)
    java.wait_shards(4)
    with application.load():
        python = application.start_python("python")
        python.wait_shards(2)
        java.wait_shards(2)
        assert items(application, reports, "wid").keys() == {"java", "python"}
        assert items(application, coordination, "key")["Leader"]["ownerName"] == "java"
        python.wait_records(100)
        java.kill()
        python.wait_shards(4)
        assert items(application, coordination, "key")["Leader"]["ownerName"] == "python"
    assert not application.last_verdict().faults
    assert application.items().keys() == application.leases().keys()


def create_legacy_tables(application: KclApplication) -> tuple[str, str]:
    """Create the two further tables of KCL 3.0 to 3.4, which say that a leader assigns leases."""
    client = application.dynamodb.client
    names = f"{application.name}-CoordinatorState", f"{application.name}-WorkerMetricStats"
    for name, key in zip(names, ("key", "wid"), strict=True):
        client.create_table(
            TableName=name,
            KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
    state = {"key": {"S": "Migration3.0"}, "cv": {"S": "CLIENT_VERSION_3X"}, "mb": {"S": "an older worker"}}
    client.put_item(TableName=names[0], Item={**state, "mts": {"N": "1700000000000"}, "h": {"L": []}})
    return names


def items(application: KclApplication, table: str, key: str) -> dict[str, dict[str, Any]]:
    found = map(plain, application.dynamodb.client.scan(TableName=table)["Items"])
    return {item[key]: item for item in found}


def test_on_the_way_from_2_to_3(application: KclApplication) -> None:
    """
    Beside a KCL 3 in the mode that is compatible with 2.x, Python takes leases for itself, and reports that it is alive.

    The KCL waits for these reports before a leader assigns leases.
    """
    compatible = {"coordinator.clientVersionConfig": "CLIENT_VERSION_CONFIG_COMPATIBLE_WITH_2X"}
    java = application.start("3.5.1", "java", settings={**quick("3.5.1"), **compatible})
    java.wait_shards(4)
    with application.load():
        python = application.start_python("python")
        python.wait_shards(2)
        java.wait_shards(2)
        assert application.items()["Migration3.0"]["cv"] == "CLIENT_VERSION_UPGRADE_FROM_2X"
        assert application.items()["python"]["entityType"] == "WORKER_METRIC_STATS"
        assert "Leader" not in application.items()
        python.wait_records(100)
        python.stop()
        java.wait_shards(4)
    assert not application.last_verdict().faults
