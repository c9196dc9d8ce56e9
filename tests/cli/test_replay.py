"""`kinesis replay` writes the records of a file to a stream."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kinesis_emulator import Emulator
from support.command_line import CommandLine
from support.user_records import user_records

Create = Callable[[int], str]
PAYLOADS = [b'{"total": 9}', b"", b"\xff\0", b"a\nb", b'{"a":\n1}']


@pytest.fixture
def orders(emulator: Emulator, create: Create) -> str:
    stream = create(1)
    for number, payload in enumerate(PAYLOADS):
        emulator.put(stream, payload, f"c-{number}")
    return stream


@pytest.mark.parametrize("name", ["orders.jsonl", "orders.arrow", "orders.parquet"])
def test_what_was_dumped(
    kinesis: CommandLine, emulator: Emulator, orders: str, create: Create, tmp_path: Path, name: str
) -> None:
    """Payloads and keys are those of the stream that was dumped, byte for byte."""
    target, file = create(1), str(tmp_path / name)
    kinesis("dump", orders, "--file", file)
    ran = kinesis("replay", file, target, "--speed", "1000")
    assert (ran.out, ran.err) == (b"", f"5 records written to {target}\n")
    assert [(record.partition_key, record.data) for record in user_records(emulator, target)] == [
        (f"c-{number}", payload) for number, payload in enumerate(PAYLOADS)
    ]


def test_a_pipe(kinesis: CommandLine, emulator: Emulator, orders: str, create: Create) -> None:
    """A dump can be piped into it."""
    for output in ("json", "arrow"):
        target = create(1)
        dumped = kinesis("dump", orders, "-o", output).out
        kinesis("replay", "-", target, "--speed", "max", "--form", output, "--no-aggregate", stdin=dumped)
        assert [record.data for record in emulator.records(target)] == PAYLOADS


def test_the_pace(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """A record comes as long after the first one as it was recorded, divided by the speed. Others do not wait for it."""
    target = create(1)
    lines = [
        b'{"data": "a", "arrived": "2026-01-31T09:00:00Z"}',
        b'{"data": "b", "arrived": "2026-01-31T09:00:10Z"}',
    ]
    kinesis("replay", "-", target, "--speed", "10", "--no-aggregate", stdin=b"\n".join(lines))
    first, second = (record.arrived_ms or 0 for record in emulator.records(target))
    assert second - first > 500


def test_lines_that_are_no_records(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """Good lines around them are written. The status is 3, and the lines are named but not shown."""
    target = create(1)
    ran = kinesis("replay", "-", target, stdin=b'{"data": "a"}\nsecret\n{"data": "b"}\n', status=3)
    assert [record.data for record in user_records(emulator, target)] == [b"a", b"b"]
    assert ran.err.splitlines() == [
        "line 2 is not a record: it is not a JSON object with the fields of a record",
        f"2 records written to {target}, 1 not written (line 2)",
    ]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["-", "orders", "--speed", "0"], 2, "--speed accepts a number above 0, or max; got 0"),
        (["/dev/null", "orders"], 2, "does not say the form of the file. Choose it with --form"),
        (["missing", "orders"], 1, "missing does not exist"),
        (["missing.jsonl", "orders"], 1, "missing.jsonl does not exist"),
        (["-", "{stream}", "--form", "arrow"], 1, "is not of the form 'arrow'"),
        (["-", "{stream}", "--form", "parquet"], 1, "name a file instead of the standard input"),
    ],
)
def test_wrong_arguments(
    kinesis: CommandLine, create: Create, arguments: list[str], status: int, message: str
) -> None:
    """A wrong option or file is an error of one line."""
    stream = create(1)
    ran = kinesis("replay", *(each.format(stream=stream) for each in arguments), stdin=b"x", status=status)
    assert message in ran.err
    assert ran.err.startswith("kinesis replay: ")
