"""A Python worker leads a group in the protocol of KCL 3, and Java workers follow. Who leads next is whoever is there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.kcl.application import KclApplication
from support.kcl.worker import BY_NUMBER, DEFAULTS

pytestmark = pytest.mark.witness
Make = Callable[..., KclApplication]


def leader(application: KclApplication) -> str | None:
    return application.items().get("Leader", {}).get("ownerName")


def test_java_follows_and_takes_the_lead(kcl_application: Make) -> None:
    """
    Python makes the table and leads; Java joins and gets shards by graceful hand-over. After `kill -9` of the leader Java leads.

    Another Python worker then joins and follows. After `kill -9` of Java it leads.
    """
    application = kcl_application(shards=4)
    first = application.start_python("first")
    first.wait_shards(4)
    with application.load():
        java = application.start("3.5.1", "java", settings=BY_NUMBER)
        java.wait_shards(2)
        first.wait_shards(2)
        assert leader(application) == "first"
        assert len(first.events("shutdownRequested")) == 2
        java.wait_records(100)
        first.kill()
        java.wait_shards(4)
        assert leader(application) == "java"
        second = application.start_python("second")
        second.wait_shards(2)
        second.wait_records(100)
        assert leader(application) == "java"
        java.kill()
        second.wait_shards(4)
        assert leader(application) == "second"
    assert not application.last_verdict().faults


def test_java_with_its_own_times_follows(kcl_application: Make) -> None:
    """With the default settings of both, Java joins a group that Python leads, and has all shards after an orderly end of Python."""
    application = kcl_application(shards=4)
    python = application.start_python("python", settings={})
    python.wait_shards(4)
    with application.load():
        java = application.start("3.5.1", "java", settings=DEFAULTS, first_sync="default")
        java.wait_shards(2)
        python.wait_shards(2)
        assert leader(application) == "python"
        python.stop()
        java.wait_shards(4)
    assert not application.last_verdict().faults
    assert not application.verdict().repeated
