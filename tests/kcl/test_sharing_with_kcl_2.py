"""Workers of a group and running workers of KCL 2.7.2 share a stream: each takes leases for itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.kcl.application import KclApplication

pytestmark = pytest.mark.witness
Make = Callable[..., KclApplication]


@pytest.fixture
def application(kcl_application: Make) -> KclApplication:
    """Return an application of a stream with four shards. Its table has no index, as KCL 2 makes it."""
    made = kcl_application(shards=4)
    made.dynamodb.create_lease_table(made.name, with_index=False)
    return made


def test_python_steals_from_java(application: KclApplication) -> None:
    """Python steals its share of a Java worker, which has it back after an orderly end. After `kill -9` of Java, Python has all."""
    java = application.start("2.7.2", "java")
    java.wait_shards(4)
    with application.load():
        first = application.start_python("first")
        first.wait_shards(2)
        java.wait_shards(2)
        first.wait_records(200)
        first.stop()
        java.wait_shards(4)
        second = application.start_python("second")
        second.wait_shards(2)
        java.wait_shards(2)
        second.wait_records(200)
        java.kill()
        second.wait_shards(4)
    assert not application.last_verdict().faults
    assert all("entityType" not in lease for lease in application.leases().values())


def test_java_steals_from_python(application: KclApplication) -> None:
    """Java steals its share of a Python worker. After `kill -9` of Python it has all, and a next Python worker after its end."""
    first = application.start_python("first", mode="taking")
    first.wait_shards(4)
    with application.load():
        java = application.start("2.7.2", "java")
        java.wait_shards(2)
        first.wait_shards(2)
        java.wait_records(200)
        first.kill()
        java.wait_shards(4)
        second = application.start_python("second")
        second.wait_shards(2)
        java.wait_shards(2)
        java.stop()
        second.wait_shards(4)
    assert not application.last_verdict().faults
    assert application.items().keys() == application.leases().keys()
