"""A group does not share leases with workers of a KCL before 3.5, or of one that has not completed its migrations."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.kcl.application import KclApplication
from support.kcl.refusal import refuses
from support.kcl.worker import BY_NUMBER, quick

pytestmark = pytest.mark.witness
Make = Callable[..., KclApplication]
LEASE_S = 2.0


@pytest.fixture
def application(kcl_application: Make) -> KclApplication:
    made = kcl_application(shards=4)
    made.create_table()
    return made


def test_beside_kcl_2(application: KclApplication) -> None:
    """A group is refused while a worker of KCL 2.7.2 runs, and has all shards once it was stopped."""
    java = application.start("2.7.2", "java")
    java.wait_shards(4)
    before = application.items().keys()
    refuses(application, "seen=java, renewing leases", LEASE_S)
    assert application.items().keys() == before
    java.stop(graceful=False)
    application.put(100)
    python = application.start_python("python")
    python.wait_shards(4)
    assert not application.last_verdict().faults


def test_beside_the_tables_of_kcl_3_0_to_3_4(application: KclApplication) -> None:
    """There the lock and the reports of workers have tables of their own, which a group does not look for."""
    create_legacy_tables(application)
    application.start("3.5.1", "java", settings=BY_NUMBER).wait_shards(4)
    refuses(application, "seen=java, renewing leases", LEASE_S)


def create_legacy_tables(application: KclApplication) -> None:
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


def test_on_the_way_from_2_to_3(application: KclApplication) -> None:
    """A KCL 3 in the mode that is compatible with 2.x reports to the table, and takes leases for itself."""
    compatible = {"coordinator.clientVersionConfig": "CLIENT_VERSION_CONFIG_COMPATIBLE_WITH_2X"}
    application.start("3.5.1", "java", settings={**quick("3.5.1"), **compatible}).wait_shards(4)
    refuses(
        application, "seen=java, renewing leases; Migration3.0 says CLIENT_VERSION_UPGRADE_FROM_2X", LEASE_S
    )
