"""`kinesis lag` reads the lease tables that a KCL writes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from support.command_line import CommandLine
from support.kcl.application import KclApplication
from support.kcl.worker import VERSIONS, Version
from support.streams import KEY_ID, SECRET

pytestmark = pytest.mark.witness


def measured(application: KclApplication, home: Path) -> dict[str, Any]:
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
    ran = kinesis("lag", application.stream.name, "--application", application.name, "-o", "json")
    [reader] = json.loads(ran.out)["readers"]
    return dict(reader)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_application(application: KclApplication, version: Version, tmp_path: Path) -> None:
    """What the KCL has checkpointed inside aggregates is read. What came after it stopped, also in children of a shard, is not."""
    application.put(200)
    worker = application.start(version)
    assert not application.last_verdict().faults
    reader = measured(application, tmp_path)
    assert reader["lagMs"] == 0
    assert {shard["state"] for shard in reader["shards"]} == {"current"}
    assert {shard["owner"] for shard in reader["shards"]} == {"worker"}
    worker.stop(graceful=False)
    application.stream.split()
    more = set(application.put(200))
    unread = {record.shard_id for record in application.stored() if record.data.decode() in more}
    reader = measured(application, tmp_path)
    assert {shard["state"] for shard in reader["shards"]} == {"behind", "current", "waiting"}
    assert {shard["shardId"] for shard in reader["shards"] if shard["lagMs"]} == unread
    assert reader["lagMs"] > 0
    assert reader["shardsBehind"] == len(unread) == 3
