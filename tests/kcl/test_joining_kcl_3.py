"""Workers of a group join a running application of KCL 3.5.1: its leader gives them leases, and takes some back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.kcl.application import KclApplication
from support.kcl.worker import BY_NUMBER

pytestmark = pytest.mark.witness
Make = Callable[..., KclApplication]


@pytest.fixture
def application(kcl_application: Make) -> KclApplication:
    made = kcl_application(shards=6)
    made.create_table()
    return made


def test_hand_overs_by_a_java_leader(application: KclApplication) -> None:
    """
    A Java leader gives shards to Python gracefully, and to another Java worker from Python, while all three read.

    After `kill -9` of Python and an orderly end of Java, the other Java worker has all.
    """
    java = application.start("3.5.1", "java", settings=BY_NUMBER)
    java.wait_shards(6)
    with application.load():
        python = application.start_python("python")
        python.wait_shards(3)
        java.wait_shards(3)
        assert len(java.events("shutdownRequested")) >= 3
        python.wait_records(100)
        other = application.start("3.5.1", "other", settings=BY_NUMBER)
        other.wait_shards(2)
        other.wait_records(50)
        assert leader(application) == "java"
        assert python.events("shutdownRequested")
        python.kill()
        other.wait_shards(3)
        java.wait_shards(3)
        java.stop()
        other.wait_shards(6)
    assert not application.last_verdict().faults


def leader(application: KclApplication) -> str | None:
    return application.items().get("Leader", {}).get("ownerName")


def test_reshards_while_both_work(application: KclApplication) -> None:
    """Splits, and a merge of a shard of Java with one of Python: each record comes once, those of parents first."""
    java = application.start("3.5.1", "java", settings=BY_NUMBER)
    java.wait_shards(6)
    python = application.start_python("python")
    python.wait_shards(3)
    java.wait_shards(3)
    application.put(300)
    reshard(application)
    application.put(300)
    assert not application.last_verdict().faults
    assert python.events("shardEnded")
    assert java.events("shardEnded")


def reshard(application: KclApplication) -> None:
    """Merge a shard of one worker with a shard of the other one, and split another shard of each."""
    stream, leases = application.stream, application.leases()
    owners = [leases[shard["ShardId"]]["leaseOwner"] for shard in stream.open_shards()]
    border = next(i for i in range(len(owners) - 1) if owners[i] != owners[i + 1])
    merged = {border, border + 1}
    split = [
        next(i for i, each in enumerate(owners) if each == owner and i not in merged) for owner in set(owners)
    ]
    for index in sorted({*split, border}, reverse=True):  # so that the indexes of those before it stay
        (stream.merge if index == border else stream.split)(index)
