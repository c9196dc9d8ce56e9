"""`kinesis dump` writes the records of a stream to a file."""

from __future__ import annotations

import io
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kinesis_cli.ending import Status
from kinesis_cli.records import decode_line
from kinesis_emulator import Emulator
from support.command_line import KINESIS, CommandLine, Ran
from support.loops import variants
from support.waiting import PATIENCE_S

Create = Callable[[int], str]
PAYLOADS = [b'{"total": 9}', b"", b"\xff\0", b"a\nb", "ü".encode()]


@pytest.fixture
def orders(emulator: Emulator, create: Create) -> str:
    stream = create(2)
    for number, payload in enumerate(PAYLOADS):
        emulator.put(stream, payload, f"c-{number}")
    return stream


def test_lines_of_json(kinesis: CommandLine, orders: str) -> None:
    """Each record is a line from which its payload can be restored byte for byte. The counts go to the standard error."""
    ran = kinesis("dump", orders)
    assert sorted(decode_line(line)[1] for line in ran.out.splitlines()) == sorted(PAYLOADS)
    assert ran.err == "5 records (19 B) written\n"


def test_a_file(kinesis: CommandLine, orders: str, tmp_path: Path) -> None:
    """--file writes a file whose name decides the form."""
    path = tmp_path / "orders.jsonl"
    assert kinesis("dump", orders, "--file", str(path)).out == b""
    assert len(path.read_bytes().splitlines()) == 5
    assert json.loads(path.read_bytes().splitlines()[0]).keys() >= {"arrived", "shardId", "partitionKey"}


def test_arrow(kinesis: CommandLine, orders: str) -> None:
    """-o arrow is an Arrow stream, in the order of arrival."""
    table = pa.ipc.open_stream(kinesis("dump", orders, "-o", "arrow").out).read_all()
    assert sorted(table["data"].to_pylist()) == sorted(PAYLOADS)
    times = table["approximateArrivalTimestamp"].to_pylist()
    assert times == sorted(times)


def test_parquet(kinesis: CommandLine, orders: str, tmp_path: Path) -> None:
    """A Parquet file has the columns that the Spark source has, in a pipe as well."""
    path = tmp_path / "orders.parquet"
    kinesis("dump", orders, "--file", str(path))
    table = pq.read_table(path)
    assert table.equals(pq.read_table(io.BytesIO(kinesis("dump", orders, "-o", "parquet").out)))
    assert sorted(table["partitionKey"].to_pylist()) == [f"c-{number}" for number in range(5)]
    assert str(table.schema.field("approximateArrivalTimestamp").type) == "timestamp[ms, tz=UTC]"


def test_some_records(kinesis: CommandLine, orders: str) -> None:
    """Records are chosen by key, shard, expression and time, as by tail."""
    assert kinesis("dump", orders, "-o", "raw", "--key", "c-0").out == b'{"total": 9}\n'
    assert kinesis("dump", orders, "-o", "raw", "--where", ".total > 1").out == b'{"total": 9}\n'
    assert kinesis("dump", orders, "--until", "1h").out == b""


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("no/orders.jsonl", "No such file or directory. Correct the name, or create the folder."),
        ("file/orders.jsonl", "Not a directory. Correct the name: a part of it is not a folder."),
        ("", "Is a directory. Name a file."),
        ("o" * 300, "File name too long. Use a shorter name."),
        ("loop", "Too many levels of symbolic links. Check it, or use another one."),
        ("/dev/full", "No space left on device. Make room on its disk, or use another one."),
    ],
)
@pytest.mark.parametrize("output", variants(["json", "parquet"]))
def test_a_file_that_cannot_be_written(
    kinesis: CommandLine, orders: str, tmp_path: Path, name: str, advice: str, output: str
) -> None:
    """The error is one line with the name of the file as it was given, the reason, and what to do."""
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    path = str(tmp_path / name)
    ran = kinesis("dump", orders, "--file", path, "-o", output, status=1)
    assert ran.err == f"kinesis dump: {path} cannot be written: {advice}\n"
    assert list(tmp_path.rglob("*.partial")) == []


@pytest.mark.parametrize("output", variants(["json", "parquet"]))
def test_a_full_disk(kinesis: CommandLine, orders: str, output: str) -> None:
    """A standard output that cannot be written is named too."""
    ran = kinesis.into("/dev/full", "dump", orders, "-o", output)
    line = "The standard output cannot be written: No space left on device. Make room on its disk, or use another one."
    assert ran == Ran(Status.FAILED, b"", f"kinesis dump: {line}\n")


def test_a_pipe_as_the_file(kinesis: CommandLine, orders: str) -> None:
    """A device that is a pipe is written like one: what it is a link to has no name."""
    assert kinesis("dump", orders, "--file", "/dev/stdout", "-o", "json").out == kinesis("dump", orders).out
    ran = kinesis.without_reader("dump", orders, "--file", "/dev/stdout", "-o", "json")
    assert ran == Ran(Status.READER_GONE, b"", "")


def test_a_file_needs_no_reader(kinesis: CommandLine, orders: str, tmp_path: Path) -> None:
    """Whoever reads the standard output may end: the file is written all the same."""
    path = tmp_path / "orders.jsonl"
    command = f"set -o pipefail; {KINESIS} dump {orders} --file {path} | true"
    subprocess.run(["bash", "-c", command], env=kinesis.environment, check=True, timeout=PATIENCE_S)
    assert len(path.read_bytes().splitlines()) == 5
