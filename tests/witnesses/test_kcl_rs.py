"""Workers of kcl-rs, a port of the KCL 3 to Rust, over the emulator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kinesis_emulator import Emulator
from support.kcl.application import KclApplication
from support.kcl.dynamodb_local import DynamoDbLocal
from support.kcl.group_worker import GroupWorker
from support.kcl.refusal import refuses
from support.streams import REGION
from support.witness import WitnessUnavailableError, require
from support.witnesses.claims import check_claim
from support.witnesses.environment import start_program

pytestmark = [pytest.mark.witness, pytest.mark.libraries]


@pytest.fixture
def application(
    emulator: Emulator, dynamodb_local: DynamoDbLocal, tmp_path: Path
) -> Iterator[KclApplication]:
    with KclApplication(dynamodb_local, emulator.endpoint_url, tmp_path) as made:
        made.create_table()
        yield made


@pytest.fixture
def start(application: KclApplication, tmp_path: Path) -> Callable[[str, str], GroupWorker]:
    """Return a function that starts a worker by its name and way of retrieval."""
    endpoints = {"kinesis": application.kinesis_url, "dynamodb": application.dynamodb.endpoint_url}

    def started(worker: str, retrieval: str) -> GroupWorker:
        arguments = {
            "application": application.name,
            "stream": application.stream.name,
            "region": REGION,
            "worker": worker,
            "position": "TRIM_HORIZON",
            "retrieval": retrieval,
        }
        try:
            process = start_program("kcl_rs_worker.py", tmp_path / worker, arguments, endpoints)
        except WitnessUnavailableError as error:
            require(error)
        return application.watched(GroupWorker(worker, process))

    return started


def test_over_reshards_and_a_kill(
    emulator: Emulator, application: KclApplication, start: Callable[[str, str], GroupWorker]
) -> None:
    """
    By fan-out a worker reads 300 user records over a split and a merge. After `kill -9` under load another one has its shards, and
    reads by polling over a further split and merge. Each record comes once, but for those that the killed worker had not committed.
    """
    application.put(100)
    first = start("first", "FANOUT")
    first.wait_records(100)
    reshard_and_put(application)
    came = [record.data for record in application.wait_all_delivered()]
    check_claim("kcl-rs", "reads by fan-out over a split and a merge", application.sent, came)
    assert emulator.calls.count("GetRecords") == 0
    with application.load():
        first.process.wait_until(lambda: len(first.records()) > 330)
        first.kill()
        second = start("second", "POLLING")
        second.wait_records(100)
    reshard_and_put(application)
    verdict = application.last_verdict()
    assert not verdict.faults
    assert len(second.events("shardEnded")) == 3
    assert set(verdict.repeated) <= set(application.sent[300:])  # what came before the load was committed


def reshard_and_put(application: KclApplication) -> None:
    application.stream.split()
    application.put(100)
    application.stream.merge(1)
    application.put(100)


def test_a_group_does_not_share_its_table(
    application: KclApplication, start: Callable[[str, str], GroupWorker]
) -> None:
    """Its workers take leases for themselves and report nothing, as those of KCL 2.x do. So a group of ours is refused."""
    rust = start("rust", "POLLING")
    rust.process.wait_until(lambda: len(rust.shards()) == 2)
    before = application.items().keys()
    refuses(application, "seen=rust, renewing leases", lease_duration_s=10.0)
    assert application.items().keys() == before
