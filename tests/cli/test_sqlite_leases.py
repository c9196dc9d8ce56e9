"""Consumer groups whose leases are in a file of SQLite: `lag`, `leases` and `top` see them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kinesis_consumer import ConsumerGroup
from kinesis_consumer.stores import SqliteTable, Update
from kinesis_core.leases import LEASE_KEY, LEASE_OWNER
from kinesis_credentials import StaticKeys
from kinesis_emulator import Emulator
from support.command_line import CommandLine
from support.streams import KEY_ID, SECRET

Create = Callable[[int], str]
SHARD = "shardId-000000000000"


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "leases.db")


@pytest.fixture
def stream(create: Create) -> str:
    return create(1)


@pytest.fixture
def group(emulator: Emulator, stream: str, file: str) -> Iterator[ConsumerGroup]:
    """A worker that runs, and has committed one of two records."""
    emulator.put(stream, b"1")
    with ConsumerGroup.open(
        stream,
        application="billing",
        start="TRIM_HORIZON",
        leases=file,
        worker="one",
        region=emulator.settings.region,
        endpoint_url=emulator.endpoint_url,
        credentials=StaticKeys(KEY_ID, SECRET),
    ) as group:
        next(group).commit()
        emulator.put(stream, b"2")
        yield group


def test_lag(kinesis: CommandLine, stream: str, file: str, group: ConsumerGroup) -> None:
    """The lag of a group is that of its leases, while its worker runs. It says when the last batch was committed."""
    assert next(group).record_count == 1  # it is delivered, and not committed
    found = json.loads(
        kinesis("lag", stream, "--application", "billing", "--leases", file, "-o", "json").text
    )
    (reader,) = found["readers"]
    assert (reader["reader"], reader["kind"], reader["shardsBehind"]) == ("billing", "application", 1)
    assert reader["shards"][0]["owner"] == "one"
    assert reader["committedAt"] <= found["measuredAt"]


def test_leases(kinesis: CommandLine, file: str, group: ConsumerGroup) -> None:
    """Leases and workers are shown. A reset is refused while a worker runs, and continues from the new position afterwards."""
    lines = kinesis("leases", "billing", "--leases", file).lines
    assert lines[1].split()[:3] == [SHARD, "one", "AFTER"]
    assert lines[-1].split() == ["one", "1", "running,", "leader"]
    reset = ("leases", "billing", "--leases", file, "--reset", "all=TRIM_HORIZON", "--yes")
    assert "Workers of billing run: one" in kinesis(*reset, status=1).err
    group.close()
    assert "1 lease changed." in kinesis(*reset, "--force").err
    assert kinesis("leases", "billing", "--leases", file).lines[1].split()[:3] == [
        SHARD,
        "-",
        "TRIM_HORIZON",
    ]


def test_leases_without_aws(kinesis: CommandLine, file: str, group: ConsumerGroup) -> None:
    """To show or release leases in a file, no region and no credentials are needed: nothing is called."""
    group.close()
    table = SqliteTable(file, "billing")
    (key,) = (str(item[LEASE_KEY]) for item in table.scan() if "shardId" in str(item[LEASE_KEY]))
    table.update(Update(key, {}, {LEASE_OWNER: "killed"}))
    offline = CommandLine({name: value for name, value in kinesis.environment.items() if "AWS" not in name})
    shown = ("leases", "billing", "--leases", file, "--watch-for", "0s")
    assert offline(*shown).lines[1].split()[:2] == [SHARD, "killed"]
    assert "1 lease changed." in offline(*shown, "--release", "killed", "--yes", "--force").err
    assert offline(*shown).lines[1].split()[:2] == [SHARD, "-"]
    assert "No AWS region was found" in offline(*shown[:2], status=2).err


@pytest.mark.everything
def test_top(kinesis: CommandLine, stream: str, file: str, group: ConsumerGroup) -> None:
    """The group is one of the readers on the screen."""
    assert group.worker == "one"
    arguments = ("top", stream, "--application", "billing", "--leases", file)
    with kinesis.terminal(*arguments, size=(140, 30)) as terminal:
        terminal.wait_for("billing")
        terminal.wait_for(" ago")
        terminal.type("q")
        assert terminal.rest().status == 0


def leave_no_file(path: Path) -> None:
    assert not path.exists()


def leave_a_folder(path: Path) -> None:
    path.mkdir()


def leave_another_database(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE orders (id TEXT)")
    connection.close()


def leave_another_file(path: Path) -> None:
    path.write_text("these are no leases of anybody" * 100)


@pytest.mark.parametrize(
    ("leave", "what"),
    [
        (leave_no_file, "There is no file {file}. Give --leases the file that the consumer group"),
        (leave_a_folder, "There is no file {file}."),
        (leave_another_database, "{file} has no leases. Give --leases the file"),
        (leave_another_file, "{file} cannot be used: file is not a database."),
    ],
)
@pytest.mark.parametrize("command", ["lag", "leases"])
def test_what_is_no_file_of_leases(
    kinesis: CommandLine, stream: str, file: str, leave: Callable[[Path], None], what: str, command: str
) -> None:
    """The error names the file, and says what to do. Nothing is created or changed."""
    leave(Path(file))
    before = Path(file).read_bytes() if Path(file).is_file() else None
    arguments = (stream, "--application", "billing") if command == "lag" else ("billing",)
    ran = kinesis(command, *arguments, "--leases", file, status=1)
    assert what.format(file=file) in ran.err
    assert (Path(file).read_bytes() if Path(file).is_file() else None) == before


def test_another_application(kinesis: CommandLine, stream: str, file: str, group: ConsumerGroup) -> None:
    """The error names the applications that have leases in the file."""
    assert group.worker == "one"
    for arguments in (("lag", stream, "--application", "biling"), ("leases", "biling")):
        err = kinesis(*arguments, "--leases", file, status=1).err
        assert f"{file} has no leases of the application biling. It has those of: billing." in err


def test_a_file_without_an_application(kinesis: CommandLine, stream: str, file: str) -> None:
    """A file may have several applications: one is named."""
    assert "--application NAME" in kinesis("lag", stream, "--leases", file, status=2).err
