"""Positions in checkpoint directories, of our source and of other connectors."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from attrs import frozen

from kinesis_cli.checkpoints.folders import LocalFolder
from kinesis_cli.ending import CommandError
from kinesis_cli.lag.readings import Reading
from kinesis_cli.lag.spark_checkpoints import read_checkpoint
from kinesis_core import After, At, AtTimestamp, KinesisError, ShardEnd, TrimHorizon

GOLDEN = Path(__file__).parents[3] / "golden"
OURS, PACKED = ((GOLDEN / "offsets" / f"v{version}.json").read_text().strip() for version in (1, 2))
RETURNS = "arn:aws:kinesis:eu-west-1:000000000000:stream/returns"
ARN = "arn:aws:kinesis:eu-west-1:000000000000:stream/orders"
HEAD = 'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1790000020000,"conf":{}}\n'
S = [f"shardId-{number:012d}" for number in range(7)]


@frozen
class Folder:
    """A checkpoint directory in memory."""

    files: Mapping[str, str]
    location: str = "cp"

    def names(self, folder: str) -> list[str] | None:
        path = f"{folder}/" if folder else ""
        found = {name.removeprefix(path).partition("/")[0] for name in self.files if name.startswith(path)}
        return sorted(found) or None

    def read(self, file: str) -> str:
        return self.files[file]

    def written_ms(self, file: str) -> int | None:
        return 1_790_000_000_000 + sorted(self.files).index(file)


def one(files: Mapping[str, str], stream: str = "orders", arn: str = ARN) -> Reading:
    [reading] = read_checkpoint(Folder(files), stream, arn)
    return reading


def golden(connector: str) -> dict[str, str]:
    """Return the golden files of a connector as a checkpoint directory whose batch 7 is committed."""
    folder = {"awslabs": "shard-source", "qubole": "shard-commit"}[connector]
    files = {
        "offsets/7": (GOLDEN / "checkpoints" / connector / "offsets-7").read_text(),
        "commits/7": "v1\n{}",
    }
    for path in (GOLDEN / "checkpoints" / connector).glob("shardId-*"):
        files[f"sources/0/{folder}/7/{path.name}"] = path.read_text()
    return files


@pytest.mark.parametrize("offset", [OURS, PACKED], ids=["version 1", "version 2"])
def test_our_source(offset: str) -> None:
    """The offset of the last committed batch has the positions, and the shards without one begin at their oldest record."""
    reading = one(
        {"offsets/6": "v1\n{}\n-", "offsets/7": HEAD + offset, "commits/7": "v1", "offsets/8": HEAD + "x"}
    )
    cuts = {shard: position.cut for shard, position in reading.positions.items()}
    number = 49660000000000000000000000000000000000000000000000000000
    assert cuts == dict(
        zip(
            S,
            [
                *(ShardEnd(), ShardEnd(), After(number + 22), After(number + 31), At(number + 41)),
                *(AtTimestamp(1790000000000), TrimHorizon()),
            ],
            strict=True,
        )
    )
    assert reading.positions[S[2]].arrived_ms == 1790000012345
    assert reading.positions[S[2]].kept_hours is None, "an older release wrote the offset"
    assert (reading.batch, reading.planned) == (7, 8)
    assert reading.created_ms == 1780000000000
    assert reading.kind == "spark"


def test_the_retention_of_an_offset() -> None:
    """It says for how long records were kept. A record that was read shows that by itself, once it is gone."""
    text = (GOLDEN / "offsets" / "v1-retention.json").read_text().replace('"retention":24', '"retention":100')
    positions = one({"offsets/0": HEAD + text, "commits/0": ""}).positions
    assert [(positions[s].arrived_ms, positions[s].kept_hours) for s in S[:3]] == [
        (1790000012345, 24),
        (1790000054321, 100),
        (1790000054321, 100),
    ]


def test_before_the_first_commit() -> None:
    """Until the first batch is committed, the query is at the first records of that batch."""
    reading = one({"offsets/0": HEAD + OURS})
    number = 49660000000000000000000000000000000000000000000000000000
    assert reading.positions[S[1]].cut == At(number + 10)
    assert reading.positions[S[2]].cut == At(number + 20)
    assert reading.positions[S[2]].arrived_ms is None
    assert reading.positions[S[3]].cut == After(number + 31)
    assert (reading.batch, reading.planned) == (None, 0)
    assert "no batch yet" in reading.notes[0]


def test_by_arn() -> None:
    """A stream that the checkpoint names by its ARN is found by it, whatever the user calls it."""
    assert one({"offsets/0": HEAD + OURS, "commits/0": ""}, "returns", RETURNS).created_ms == 1780000000001


def test_another_account() -> None:
    """A stream of the same name in another account is another stream."""
    with pytest.raises(CommandError, match="no position in returns"):
        one({"offsets/0": HEAD + OURS}, "returns", RETURNS.replace("000000000000", "111111111111"))


def test_several_sources() -> None:
    """The offset is found among sources of other kinds. A query that reads the stream twice has two positions."""
    kafka = '{"clicks":{"0":12}}'
    assert one({"offsets/0": f"{HEAD}-\n{kafka}\n7\n{OURS}"}).planned == 0
    found = read_checkpoint(Folder({"offsets/0": f"{HEAD}{OURS}\n{kafka}\n{OURS}"}), "orders", ARN)
    assert [reading.reader for reading in found] == ["cp (1 of 2)", "cp (2 of 2)"]


def test_another_stream() -> None:
    """Where the stream has no position, the error names those that have one."""
    with pytest.raises(
        CommandError, match=f"cp has no position in clicks. It has positions in: {RETURNS}, orders."
    ):
        one({"offsets/0": HEAD + OURS}, "clicks", "arn:aws:kinesis:eu-west-1:000000000000:stream/clicks")


@pytest.mark.parametrize(
    ("files", "what"),
    [
        ({"other/0": ""}, "no folder 'offsets'"),
        ({}, "^There is no folder cp. Check the path, and the bucket of a URL.$"),
        ({"offsets/.0.crc": ""}, "no batch yet"),
        ({"offsets/0": HEAD + '{"clicks":{"0":12}}'}, "no offset of a Kinesis source"),
        ({"offsets/0": HEAD + "-"}, "no offset of a Kinesis source"),
        ({"offsets/0": HEAD + OURS.replace('"version":1', '"version":3')}, "version 3; this release reads"),
        ({"offsets/0": HEAD + OURS.replace('"SHARD_END":true', '"SHARD_END":1')}, "damaged"),
        ({"offsets/0": HEAD + '{"shardId-1":{"iteratorType":"NONE"}}'}, "damaged.*shardId-1"),
    ],
)
def test_no_position(files: dict[str, str], what: str) -> None:
    """What is no checkpoint of Kinesis, or a damaged one, is refused with the reason."""
    with pytest.raises((CommandError, KinesisError), match=what):
        one(files)


def test_awslabs() -> None:
    """The files of the shards say where the committed batch ends. Where there is none, it has not moved from its start."""
    reading = one(golden("awslabs"))
    cuts = {shard: position.cut for shard, position in reading.positions.items()}
    assert cuts == {
        S[1]: At(49605240428222307037115827613554798409561082419642105999, 5),
        S[2]: ShardEnd(),
        S[3]: AtTimestamp(1790000020000 - 5000),
        S[4]: TrimHorizon(),
    }
    assert (reading.kind, reading.batch, reading.notes) == ("awslabs", 7, ())


def test_qubole() -> None:
    """The same for the connector of qubole, which has another folder for them."""
    reading = one(golden("qubole"))
    cuts = {shard: position.cut for shard, position in reading.positions.items()}
    assert cuts == {
        S[0]: ShardEnd(),
        S[1]: After(49605240428222307037115827613554798409561082419642105999),
        S[2]: AtTimestamp(1789990000000),
    }
    assert reading.kind == "qubole"


def test_ends_elsewhere() -> None:
    """Where the ends are in a table of DynamoDB, the position is where the batch begins, and a note says so."""
    files = {name: text for name, text in golden("awslabs").items() if not name.startswith("sources")}
    reading = one(files)
    assert reading.positions[S[1]].cut == After(49605240428222307037115827613554798409561082419642105874)
    assert "table of DynamoDB" in reading.notes[0]


def test_ends_elsewhere_with_a_planned_batch() -> None:
    """Where the next batch is planned, its start is the end of the committed one."""
    files = {name: text for name, text in golden("awslabs").items() if not name.startswith("sources")}
    following = {
        "metadata": {"streamName": "orders"},
        S[1]: {"iteratorType": "AFTER_SEQUENCE_NUMBER", "iteratorPosition": "5"},
    }
    reading = one({**files, "offsets/8": HEAD + json.dumps(following)})
    assert {shard: position.cut for shard, position in reading.positions.items()} == {S[1]: After(5)}
    assert reading.notes == ("Its position is where batch 8 begins.",)


def test_on_disk(tmp_path: Path) -> None:
    """A directory of this machine is read as it is."""
    for name, text in golden("awslabs").items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    os.utime(tmp_path / "commits" / "7", (1, 1_790_000_000))
    [reading] = read_checkpoint(LocalFolder(str(tmp_path), tmp_path), "orders", ARN)
    assert reading.positions[S[2]].cut == ShardEnd()
    assert reading.committed_ms == 1_790_000_000_000


def test_when_the_last_batch_was_committed() -> None:
    """It is when the file of its commit was written. Before the first commit there is no such time."""
    files = {"commits/0": "v1\n{}", "commits/1": "v1\n{}", "offsets/0": HEAD + OURS, "offsets/1": HEAD + OURS}
    assert one(files).committed_ms == 1_790_000_000_001
    assert one({"offsets/0": HEAD + OURS}).committed_ms is None
