"""The command `kinesis offset show`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.own_checkpoints import leave_own_checkpoint
from kinesis_core.model import MAX_PLAIN_SHARDS, Offset
from kinesis_emulator import Emulator
from support.command_line import CommandLine


@pytest.fixture
def checkpoint(emulator: Emulator, create: Callable[[int], str], tmp_path: Path) -> Path:
    """The checkpoint of a query of a stream whose offset is packed."""
    return leave_own_checkpoint(tmp_path / "checkpoint", emulator, create(MAX_PLAIN_SHARDS + 1), batch=3)


def test_a_packed_offset(kinesis: CommandLine, checkpoint: Path) -> None:
    """It is shown as a table of all shards, and as JSON whose shards are not packed."""
    text = (checkpoint / "offsets" / "3").read_text().splitlines()[-1]
    assert json.loads(text)["version"] == 2
    heading, columns, *shards = kinesis("offset", "show", str(checkpoint)).lines
    assert heading.startswith(f"{checkpoint}, batch 3 (committed): orders-")
    assert columns.split() == ["shard", "position", "arrived", "empty", "until", "first"]
    assert [shard.split()[0] for shard in shards] == [
        f"shardId-{i:012d}" for i in range(MAX_PLAIN_SHARDS + 1)
    ]
    shown = json.loads(kinesis("offset", "show", "-", "-o", "json", stdin=text.encode()).out)
    assert shown["version"] == 1
    assert Offset.from_json(shown) == Offset.from_json(json.loads(text))


def test_one_shard(kinesis: CommandLine, checkpoint: Path) -> None:
    """A shard may be chosen. One that is not there is an error of usage."""
    ran = kinesis("offset", "show", str(checkpoint), "--batch", "3", "--shard", "7")
    assert [line.split()[0] for line in ran.lines[2:]] == ["shardId-000000000007"]
    ran = kinesis("offset", "show", str(checkpoint), "--shard", "999", status=2)
    assert ran.err.endswith("has no shard shardId-000000000999.\n")


def test_no_checkpoint(kinesis: CommandLine, tmp_path: Path) -> None:
    """A wrong path is one line on the standard error."""
    ran = kinesis("offset", "show", str(tmp_path / "missing"), status=1)
    assert ran.err.startswith("kinesis offset: There is no folder ")
    assert (ran.out, ran.err.count("\n")) == (b"", 1)
