"""A group takes over the table of a KCL application that was stopped, and the reverse: nothing is lost, and nothing committed comes again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kinesis_core import UserRecord
from support.kcl.application import KclApplication
from support.kcl.group_worker import GroupWorker
from support.kcl.worker import VERSIONS, Version

pytestmark = pytest.mark.witness
each_version = pytest.mark.parametrize("version", VERSIONS)
Make = Callable[..., KclApplication]


@each_version
def test_in_turn(application: KclApplication, version: Version) -> None:
    """
    Java stops inside an aggregate, Python goes on behind that user record until it is killed, then Java and Python have the rest.
    An application that went over to Python may come back as one of KCL 3.5.

    Only the batches that Python had in hand come again, and Python itself delivers them as the same batches.
    """
    application.put(300)
    java = application.start(version, "java", stop_after=100)
    java.process.wait()
    [shard_id] = [event["shard"] for event in java.events("halted")]
    number, sub_number = java.checkpoints()[shard_id]

    application.put(300)
    python = application.start_python("python", checkpoint="command")
    python.process.wait_until(lambda: len(open_batches(python)) == 2)
    first = python.records(shard_id)[0]
    assert (first.sequence_number, first.sub_sequence_number) == (number, sub_number + 1)
    before = open_batches(python)
    other = min(before.keys() - {shard_id})
    python.checkpoint(other)
    python.process.wait_until(lambda: open_batches(python).get(other, before[other]) != before[other])
    held = open_batches(python)
    assert held[shard_id] == before[shard_id]
    python.kill()

    again = application.start_python("again", checkpoint="command")
    again.process.wait_until(lambda: open_batches(again) == held)
    again.checkpoint()
    again.stop()
    repeated = application.verdict().repeated
    in_hand = {
        record[-1]
        for event in python.events("records")
        if event["batch"] in held.values()
        for record in event["records"]
    }
    # Java may have had records of the other shard when it stopped. Those that it committed are judged below.
    assert in_hand <= set(repeated) <= in_hand | {record.data for record in java.records()}

    application.start("3.5.1", "java-again")
    verdict = application.last_verdict()
    assert not verdict.faults
    assert verdict.repeated == repeated


def open_batches(worker: GroupWorker) -> dict[str, str]:
    """Return the batches that were delivered and are not committed, by shard."""
    found: dict[str, str] = {}
    for event in worker.events("records", "checkpointed"):
        if event["event"] == "records":
            found[event["shard"]] = event["batch"]
        else:
            found.pop(event["shard"], None)
    return found


def test_a_table_of_kcl_1(kcl_application: Make) -> None:
    """
    A table of the KCL 1.x is taken over, inside an aggregate, too. Its items lack hash keys, children and the kind of item.

    The group adds the index, and says in the table that a leader assigns the leases.
    """
    application = kcl_application()
    application.dynamodb.create_lease_table(application.name, with_index=False)
    application.put(100)
    application.stream.split()
    application.put(200)
    by_shard = read_all(application)
    ended, half, new, other = sorted(by_shard)
    last = next(each for each in by_shard[half] if each.sub_sequence_number == 2)
    processed = by_shard[ended] + by_shard[half][: by_shard[half].index(last) + 1]
    for lease in (
        lease_of_kcl_1(ended, "SHARD_END", owner="dead"),
        lease_of_kcl_1(half, last.sequence_number, last.sub_sequence_number, owner="dead"),
        lease_of_kcl_1(new, "TRIM_HORIZON", parent=ended),
        lease_of_kcl_1(other, "TRIM_HORIZON", parent=ended),
    ):
        application.dynamodb.client.put_item(TableName=application.name, Item=lease)
    python = application.start_python("python")
    wanted = set(application.sent) - {each.data.decode() for each in processed}
    python.process.wait_until(lambda: wanted <= {record.data for record in python.records()})
    assert sorted(wanted) == sorted(record.data for record in python.records())
    assert application.items().keys() == {*by_shard, "Leader", "Migration3.0", "python"}


def read_all(application: KclApplication) -> dict[str, list[UserRecord]]:
    """Return all user records by shard."""
    found: dict[str, list[UserRecord]] = {}
    for record in application.stored():
        found.setdefault(record.shard_id, []).append(record)
    return found


def lease_of_kcl_1(
    shard_id: str, checkpoint: str, sub_sequence_number: int = 0, *, owner: str = "", parent: str = ""
) -> dict[str, Any]:
    return {
        "leaseKey": {"S": shard_id},
        "leaseCounter": {"N": "77"},
        "ownerSwitchesSinceCheckpoint": {"N": "0"},
        "checkpoint": {"S": checkpoint},
        "checkpointSubSequenceNumber": {"N": str(sub_sequence_number)},
        **({"leaseOwner": {"S": owner}} if owner else {}),
        **({"parentShardId": {"SS": [parent]}} if parent else {}),
    }
