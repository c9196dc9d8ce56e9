"""A KCL reads on where `kinesis leases` says, and takes the leases that it releases."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kinesis_cli.output import show_time
from support.command_line import CommandLine
from support.kcl.application import KclApplication
from support.kcl.group_worker import Delivered
from support.kcl.worker import VERSIONS, KclWorker, Version, quick
from support.streams import KEY_ID, SECRET

pytestmark = pytest.mark.witness
each_version = pytest.mark.parametrize("version", VERSIONS)
Make = Callable[..., KclApplication]
Records = dict[str, list[Delivered]]
NEVER_MS = 3_600_000
"""With it a lease does not expire within a test."""


def leases(application: KclApplication, home: Path, *arguments: str, status: int = 0) -> str:
    """Run `kinesis leases` for *application*, and return what it says."""
    kinesis = CommandLine(
        {
            "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": application.stream.region,
            "AWS_ENDPOINT_URL_KINESIS": application.kinesis_url,
            "AWS_ENDPOINT_URL_DYNAMODB": application.dynamodb.endpoint_url,
            "PATH": os.environ["PATH"],
            "HOME": str(home),
        }
    )
    return kinesis("leases", application.name, *arguments, "--yes", status=status).err


def change(application: KclApplication, home: Path, version: Version, *arguments: str) -> str:
    """Change leases of a worker that has ended. One of KCL 3 has just reported that it runs, so this is refused first."""
    if version == "2.7.2":
        return leases(application, home, *arguments)
    refusal = leases(application, home, *arguments, status=1)
    assert "run: first (it reported" in refusal
    return leases(application, home, *arguments, "--force")


def read_everything(application: KclApplication, version: Version, **options: object) -> Records:
    """Let the worker `first` read and checkpoint all records, and return them by shard. It ends with its leases."""
    first = application.start(version, "first", **options)
    first.wait_records(len(application.sent))
    first.process.wait_until(lambda: first.checkpoints() == ends(first))
    first.stop(graceful=False)
    found: Records = {}
    for record in first.records():
        found.setdefault(record.shard_id, []).append(record)
    return found


def ends(worker: KclWorker) -> dict[str, tuple[str, int]]:
    """Return the last record of each shard that *worker* has had."""
    return {each.shard_id: (each.sequence_number, each.sub_sequence_number) for each in worker.records()}


@each_version
def test_positions(kcl_application: Make, version: Version, tmp_path: Path) -> None:
    """After a reset a KCL reads on with exactly the record that the position names: the oldest one, one inside an aggregate, one of a time."""
    application = kcl_application(shards=5)
    application.create_table()
    application.put(300)
    application.put(300)
    by_shard = read_everything(application, version)
    _, at, after, inside, since = sorted(by_shard)
    middle = {shard: records[len(records) // 2] for shard, records in by_shard.items()}
    times_ms = arrival_times_ms(application)
    numbers = {shard: record.sequence_number for shard, record in middle.items()}
    said = change(
        application,
        tmp_path,
        version,
        "--reset=all=TRIM_HORIZON",
        f"--reset={at}=AT {numbers[at]}",
        f"--reset={after}=AFTER {numbers[after]}",
        f"--reset={inside}=AFTER {numbers[inside]}/{middle[inside].sub_sequence_number}",
        f"--reset={since}={show_time(times_ms[numbers[since]])}",
        f"--stream={application.stream.name}",
    )
    assert said.endswith("5 leases changed.\n")
    wanted = dict(by_shard)
    wanted[at] = [each for each in by_shard[at] if number(each) >= int(numbers[at])]
    wanted[after] = [each for each in by_shard[after] if number(each) > int(numbers[after])]
    wanted[inside] = by_shard[inside][by_shard[inside].index(middle[inside]) + 1 :]
    wanted[since] = [
        each for each in by_shard[since] if times_ms[each.sequence_number] >= times_ms[numbers[since]]
    ]
    second = application.start(version, "second")
    last = {records[-1] for records in wanted.values()}
    second.process.wait_until(lambda: last <= set(second.records()))
    assert {shard: second.records(shard) for shard in by_shard} == wanted


def number(record: Delivered) -> int:
    return int(record.sequence_number)


def arrival_times_ms(application: KclApplication) -> dict[str, int]:
    """Return when each record of the stream arrived, by its sequence number."""
    return {each.sequence_number: each.arrived_ms or 0 for each in application.stored()}


@each_version
def test_release(application: KclApplication, version: Version, tmp_path: Path) -> None:
    """The leases of a worker that died belong to another KCL at once, although they have not expired. It reads on from their checkpoints."""
    settings = quick(version, failoverTimeMillis=NEVER_MS)
    application.put(100)
    read_everything(application, version, settings=settings)
    assert {item["leaseOwner"] for item in application.leases().values()} == {"first"}
    said = change(application, tmp_path, version, "--release=first")
    assert said.endswith("2 leases changed.\n")
    rows = application.put(100)
    second = application.start(version, "second", settings=settings)
    second.wait_records(100)
    assert sorted(record.data for record in second.records()) == sorted(rows)
