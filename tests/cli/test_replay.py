"""`kinesis replay` writes the records of a file to a stream."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kinesis_emulator import Emulator
from support.command_line import CommandLine
from support.loops import variants
from support.user_records import user_records
from support.waiting import wait_until

Create = Callable[[int], str]
PAYLOADS = [b'{"total": 9}', b"", b"\xff\0", b"a\nb", b'{"a":\n1}']


@pytest.fixture
def orders(emulator: Emulator, create: Create) -> str:
    stream = create(1)
    for number, payload in enumerate(PAYLOADS):
        emulator.put(stream, payload, f"c-{number}")
    return stream


@pytest.mark.parametrize("name", variants(["orders.jsonl", "orders.parquet", "orders.arrow"], kept=2))
def test_what_was_dumped(
    kinesis: CommandLine, emulator: Emulator, orders: str, create: Create, tmp_path: Path, name: str
) -> None:
    """Payloads and keys are those of the stream that was dumped, byte for byte."""
    target, file = create(1), str(tmp_path / name)
    kinesis("dump", orders, "--file", file)
    ran = kinesis("replay", target, "--file", file, "--speed", "1000")
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


def test_json(kinesis: CommandLine, orders: str, create: Create) -> None:
    """-o json has the counts of the last line, and replaces it."""
    dumped = kinesis("dump", orders).out
    ran = kinesis("replay", "-", create(1), "--speed", "max", "-o", "json", stdin=dumped)
    counts = json.loads(ran.text)
    assert (counts["written"], counts["notWritten"], ran.err) == (len(PAYLOADS), 0, "")


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


def table(path: Path, form: str, **columns: Any) -> str:
    """Write a table of 2,500 rows as a file."""
    rows = pa.table({"data": [b"%d" % number for number in range(2500)]} | columns)
    if form == "parquet":
        pq.write_table(rows, path)
    else:
        with pa.ipc.new_stream(path, rows.schema) as writer:
            writer.write_table(rows, max_chunksize=700)
    return str(path)


@pytest.mark.parametrize("form", variants(["arrow", "parquet"]))
def test_rows_without_data(
    kinesis: CommandLine, emulator: Emulator, create: Create, tmp_path: Path, form: str
) -> None:
    """A row without data is named, and all others are written."""
    target = create(1)
    data = [None if number in (3, 2399) else b"%d" % number for number in range(2500)]
    file = table(tmp_path / f"rows.{form}", form, data=data)
    ran = kinesis("replay", file, target, "--speed", "max", status=3)
    assert [record.data for record in user_records(emulator, target)] == [one for one in data if one]
    assert ran.err.splitlines() == [
        f"{file}:4 has no data",
        f"{file}:2400 has no data",
        f"2,498 records written to {target}, 2 not written ({file}:4, {file}:2400)",
    ]


def test_a_value_that_is_no_time(
    kinesis: CommandLine, emulator: Emulator, create: Create, tmp_path: Path
) -> None:
    """What was read before it is written, and the error says where the value is."""
    target = create(1)
    times = ["2026-01-31T09:00:00Z"] * 2399 + ["yesterday"] + ["2026-01-31T09:00:00Z"] * 100
    file = table(tmp_path / "rows.arrow", "arrow", approximateArrivalTimestamp=times)
    ran = kinesis("replay", file, target, "--speed", "max", status=3)
    assert len(user_records(emulator, target)) == 2100
    assert f"2,100 records written to {target}" in ran.err
    assert (
        "has values in its column 'approximateArrivalTimestamp', in the records 2101 to 2500, that are no"
        in ran.err
    )
    assert ran.err.endswith("The records that were read before are written.\n")


@pytest.mark.parametrize(
    ("column", "values"),
    variants(
        [("data", list(range(2500))), ("data", [[1]] * 2500), ("approximateArrivalTimestamp", [True] * 2500)]
    ),
)
def test_a_column_of_another_kind(
    kinesis: CommandLine, create: Create, tmp_path: Path, column: str, values: list[Any]
) -> None:
    """The error names the column, and nothing is written."""
    file = table(tmp_path / "rows.parquet", "parquet", **{column: values})
    ran = kinesis("replay", file, create(1), "--speed", "max", status=1)
    assert f"has values in its column '{column}'" in ran.err.splitlines()[-1]


@pytest.mark.everything
@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_stop_in_a_table(
    kinesis: CommandLine, emulator: Emulator, create: Create, tmp_path: Path, form: str
) -> None:
    """A signal stops the reading of a table, also where nothing waits for a time."""
    target, file, count = create(1), tmp_path / f"rows.{form}", 3_000_000
    rows = pa.table({"data": pa.array(map(str, range(count))).cast(pa.binary())})
    if form == "parquet":
        pq.write_table(rows, file)
    else:
        with pa.ipc.new_stream(file, rows.schema) as writer:
            writer.write_table(rows, max_chunksize=10_000)
    with kinesis.started("replay", str(file), target, "--speed", "max") as replaying:
        wait_until(lambda: emulator.records(target))
        ran = replaying.interrupt()
    assert ran.status == 130
    numbers = sorted(int(record.data) for record in user_records(emulator, target))
    written = len(numbers)
    assert 0 < written < count
    assert numbers == list(range(written))
    assert ran.err == f"{written:,} records written to {target}, stopped after {file}:{written}\n"


def test_stop_while_no_table_comes(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """A signal ends the wait for a part of a table that nobody writes."""
    target, sink = create(1), io.BytesIO()
    rows = pa.table({"data": [b"first"]})
    writer = pa.ipc.new_stream(sink, rows.schema)
    writer.write_table(rows)  # and no end
    with kinesis.started("replay", "-", target, "--form", "arrow") as replaying:
        replaying.write(sink.getvalue())
        wait_until(lambda: emulator.records(target))
        ran = replaying.interrupt()
    assert (ran.status, ran.err) == (
        130,
        f"1 record written to {target}, stopped after the standard input:1\n",
    )


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["-", "orders", "--speed", "0"], 2, "--speed is 0.0. Use a number above 0, or max"),
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
