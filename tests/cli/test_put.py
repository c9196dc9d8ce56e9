"""`kinesis put`: lines become records."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kinesis_emulator import Emulator, Fault, FaultScript, Settings, Step
from support.command_line import CommandLine
from support.loops import variants
from support.streams import StreamUnderTest, make_client
from support.user_records import await_data, data_of, user_records

Create = Callable[[int], str]


def test_lines_of_the_standard_input(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """Each line is a record without its newline. Empty lines are skipped and counted. Nothing goes to the standard output."""
    stream = create(2)
    ran = kinesis("put", stream, stdin=b"a\n\nb b\r\nc")
    assert ran.out == b""
    assert ran.err.startswith(f"3 records written to {stream}, 1 empty line skipped, aggregated into ")
    assert data_of(emulator, stream) == [b"a", b"b b\r", b"c"]


def test_the_last_line_tells_of_aggregates(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """A reader that is not ours finds bytes of an aggregate in place of the lines. So it is said, and how to prevent it."""
    stream, lines = create(1), b"a\nb\nc\n"
    how = "(--no-aggregate writes plain records)"
    ran = kinesis("put", stream, stdin=lines)
    assert (
        ran.err
        == f"3 records written to {stream}, aggregated into {len(emulator.records(stream))} record of Kinesis {how}\n"
    )
    for options, stdin, written in ((["--no-aggregate"], lines, "3 records"), ([], b"a\n", "1 record")):
        assert kinesis("put", stream, *options, stdin=stdin).err == f"{written} written to {stream}\n"


def test_json(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """-o json has the counts of the last line, and replaces it. Notes on single lines stay on the standard error."""
    stream = create(1)
    ran = kinesis("put", stream, "--key", ".c", "-o", "json", stdin=b'{"c": 1}\n\n{"c": 2}\n3\n', status=3)
    assert json.loads(ran.text) == {
        "stream": stream,
        "written": 2,
        "recordsOfKinesis": len(emulator.records(stream)),
        "notWritten": 1,
        "maybeMissing": 0,
        "sentAgain": 0,
        "emptyLines": 1,
    }
    assert ran.err == "line 4 has no .c\n"
    plain = json.loads(kinesis("put", stream, "-o", "json", "--no-aggregate", stdin=b"a\nb\n").text)
    assert (plain["written"], plain["recordsOfKinesis"]) == (2, 2)


def test_files(kinesis: CommandLine, emulator: Emulator, create: Create, tmp_path: Path) -> None:
    """Files are read one after the other."""
    stream, file = create(1), tmp_path / "orders.jsonl"
    file.write_bytes(b"1\n2\n")
    kinesis("put", stream, str(file), "/dev/stdin", stdin=b"3\n")
    assert data_of(emulator, stream) == [b"1", b"2", b"3"]
    by_option = create(1)
    kinesis("put", by_option, "--file", str(file), "--file", "/dev/stdin", stdin=b"3\n")
    assert data_of(emulator, by_option) == [b"1", b"2", b"3"]


def test_whole_files(kinesis: CommandLine, emulator: Emulator, create: Create, tmp_path: Path) -> None:
    """With --whole a file is a record, newlines included."""
    stream, file = create(1), tmp_path / "picture"
    file.write_bytes(b"1\n2\n\0")
    kinesis("put", stream, "--whole", str(file))
    assert data_of(emulator, stream) == [b"1\n2\n\0"]


def test_nul_and_empty(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """With -0 records end with a NUL, and with --keep-empty empty ones are written."""
    stream = create(1)
    kinesis("put", stream, "-0", "--keep-empty", stdin=b"a\nb\0\0c\0")
    assert data_of(emulator, stream) == [b"", b"a\nb", b"c"]


def test_keys(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """A key is a field of the record, a constant, or random."""
    stream = create(1)
    kinesis("put", stream, "--key", ".c.id", stdin=b'{"c": {"id": 17}}\n')
    kinesis("put", stream, "-k", "c-7", stdin=b"1\n")
    kinesis("put", stream, "-k", "=.x", stdin=b"2\n")
    kinesis("put", stream, stdin=b"3\n4\n")
    *named, first, second = (record.partition_key for record in user_records(emulator, stream))
    assert named == ["17", "c-7", ".x"]
    assert first != second


def test_explicit_hash_keys(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """The explicit hash key chooses the shard."""
    stream = create(2)
    low, high = b'{"h": 0}', b'{"h": "%d"}' % (2**128 - 1)
    kinesis("put", stream, "-k", "c", "--explicit-hash-key", ".h", stdin=low + b"\n" + high)
    shards = {record.data: record.shard_id for record in user_records(emulator, stream)}
    assert [shards[low], shards[high]] == emulator.shard_ids(stream)


def test_aggregates(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """Lines share records of Kinesis, unless --no-aggregate is given."""
    lines = b"".join(b"%d\n" % number for number in range(100))
    together, apart = create(1), create(1)
    kinesis("put", together, stdin=lines)
    kinesis("put", apart, "--no-aggregate", stdin=lines)
    assert len(emulator.records(together)) < 10
    assert len(emulator.records(apart)) == 100
    assert data_of(emulator, together) == data_of(emulator, apart)


def test_lines_that_cannot_be_written(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """Bad lines are named by their numbers, never shown. The lines around them are written, and the exit status is 3."""
    stream = create(1)
    long = b'{"c": "secret", "x": "%s"}' % (b"x" * 1024 * 1024)
    lines = [b'{"c": 1}', b"secret", b'{"secret": 1}', long, b'{"c": "%s"}' % (b"secret" * 50), b'{"c": 2}']
    ran = kinesis("put", stream, "--key", ".c", stdin=b"\n".join(lines), status=3)
    assert data_of(emulator, stream) == [b'{"c": 1}', b'{"c": 2}']
    assert "secret" not in ran.err
    *_, last = ran.err.splitlines()
    assert last.startswith(f"2 records written to {stream}, 4 not written (lines 2, 3, 4, 5)")
    assert "line 4 has 1025 KiB (data and partition key)" in ran.err
    assert "line 5 has a wrong partition key: it has 300 characters; Kinesis accepts 1 to 256" in ran.err


def test_lines_are_sent_while_more_may_come(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """A line is written although the standard input does not end. At its end everything is."""
    stream = create(1)
    with kinesis.started("put", stream) as running:
        running.write(b"first\nhalf a ")
        await_data(emulator, stream, [b"first"])
        ran = running.rest(b"line\n")
    assert (ran.status, data_of(emulator, stream)) == (0, [b"first", b"half a line"])


@pytest.mark.parametrize(
    ("number", "status"), variants([(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
)
def test_stop(
    kinesis: CommandLine, emulator: Emulator, create: Create, number: signal.Signals, status: int
) -> None:
    """Ctrl-C, SIGTERM and SIGHUP stop reading. What was read is written, and the last line says where reading stopped."""
    stream = create(1)
    with kinesis.started("put", stream) as running:
        running.write(b"first\nsecond\nhal")
        await_data(emulator, stream, [b"first", b"second"])
        ran = running.end(number, b"third\n")
    assert ran.status == status
    assert ran.err.startswith(
        f"{len(data_of(emulator, stream))} records written to {stream}, stopped after line "
    )


def test_a_full_standard_error(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """What is written is written: a script that would repeat the command would write it twice."""
    stream = create(1)
    with Path("/dev/full").open("wb") as full, kinesis.started("put", stream, stderr=full) as running:
        ran = running.rest(b"a\n")
    assert (ran.status, data_of(emulator, stream)) == (0, [b"a"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--key", ""], "--key has 0 characters. Use 1 to 256."),
        (["--key", "x" * 257], "--key has 257 characters. Use 1 to 256."),
        (["--key", "="], "--key has 0 characters. Use 1 to 256."),
        (
            ["--explicit-hash-key", "foo"],
            "--explicit-hash-key is 'foo'. Use a whole number from 0 to 2**128 - 1.",
        ),
        (["--explicit-hash-key", str(2**128)], f"--explicit-hash-key is '{2**128}'. Use a whole number"),
        (["--explicit-hash-key", "07"], "--explicit-hash-key is '07'. Use a whole number"),
    ],
)
def test_wrong_constants(
    kinesis: CommandLine, emulator: Emulator, create: Create, options: list[str], said: str
) -> None:
    """A constant that no record can have is refused before anything is read."""
    stream = create(1)
    ran = kinesis("put", stream, *options, stdin=b"a\n", status=2)
    assert ran.err.startswith(f"kinesis put: {said}")
    assert data_of(emulator, stream) == []


@pytest.mark.everything
def test_typed_lines(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """On a terminal each typed line is a record, and Ctrl-D ends."""
    stream = create(1)
    with kinesis.terminal("put", stream) as terminal:
        terminal.wait_for("Ctrl-D ends.")
        terminal.type("a\n")
        await_data(emulator, stream, [b"a"])
        terminal.type("\x04")
        ran = terminal.rest()
    assert (ran.status, ran.lines[-1]) == (0, f"1 record written to {stream}")


@pytest.mark.everything
def test_progress(kinesis: CommandLine, create: Create, tmp_path: Path) -> None:
    """On a terminal there is a line of progress, and in a pipe there is none."""
    stream, file = create(1), tmp_path / "lines"
    file.write_bytes(b"x\n" * 100)
    shown = kinesis.on_terminal("put", stream, str(file)).text
    assert "100 records, 100 B" in shown
    assert "records/s" not in kinesis("put", stream, str(file)).err


def test_rate(kinesis: CommandLine, create: Create) -> None:
    """--rate spreads the records: thirty at twenty a second take more than a second."""
    stream = create(1)
    started_s = time.monotonic()
    kinesis("put", stream, "--rate", "20", stdin=b"x\n" * 30)
    assert time.monotonic() - started_s > 1.0


@pytest.mark.parametrize("rate", [(), ("--rate", "1000")])
def test_a_rate_leaves_nothing_out(
    kinesis: CommandLine, emulator: Emulator, create: Create, tmp_path: Path, rate: tuple[str, ...]
) -> None:
    """Lines that are no records are named and counted, with a rate as without one."""
    stream, file = create(1), tmp_path / "lines"
    file.write_bytes(b"a\n\n" + bytes(10 * 1024 * 1024 + 1).replace(b"\0", b"x") + b"\nb\n")
    ran = kinesis("put", stream, str(file), *rate, status=3)
    assert [record.data for record in user_records(emulator, stream)] == [b"a", b"b"]
    refused, last = ran.err.splitlines()
    assert refused == f"{file}:3 is longer than any record, 10 MiB"
    assert last.startswith(f"2 records written to {stream}, 1 not written ({file}:3), 1 empty line skipped")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--key", ".a b"], "--key does not accept '.a b'."),
        (["--rate", "0"], "--rate is 0. Use 0.001 to 1000000000 records/s."),
        (["--null", "--whole"], "--null and --whole exclude each other."),
    ],
)
def test_wrong_options(kinesis: CommandLine, arguments: list[str], message: str) -> None:
    """Wrong options are refused with status 2, before the stream is looked at."""
    ran = kinesis("put", "missing", *arguments, status=2)
    assert ran.err.startswith(f"kinesis put: {message}")


def test_a_missing_file(kinesis: CommandLine, emulator: Emulator, create: Create, tmp_path: Path) -> None:
    """A file that does not exist is noticed before anything is written."""
    stream, file = create(1), tmp_path / "there"
    file.write_bytes(b"1\n")
    ran = kinesis("put", stream, str(file), str(tmp_path / "missing"), status=1)
    assert "missing does not exist. Nothing was written." in ran.err
    assert not emulator.records(stream)


@pytest.mark.parametrize(("succeeding", "status"), [(0, 1), (1, 3)])
def test_records_that_kinesis_refuses(kinesis: CommandLine, succeeding: int, status: int) -> None:
    """When Kinesis refuses, the error says how many records are written and how many may be missing."""
    denied = Step(Fault(code="AccessDeniedException"), "PutRecords", after_calls=succeeding, times=None)
    with Emulator(settings=Settings(fault=FaultScript(denied))) as emulator:
        emulator.create_stream("orders", 1)
        with kinesis.to(emulator).started("put", "orders", "--no-aggregate", "-o", "json") as running:
            if succeeding:
                running.write(b"secret\n")
                await_data(emulator, "orders", [b"secret"])
            ran = running.rest(b"secret\nsecret\n")
    assert ran.status == status
    assert f"{succeeding} records were written, and 2 may be missing." in ran.err
    assert f"Reading stopped after line {succeeding + 2}." in ran.err
    counts = json.loads(ran.text)
    assert (counts["written"], counts["maybeMissing"]) == (succeeding, 2)
    assert "secret" not in ran.err


@pytest.mark.witness
def test_another_server(kinesis: CommandLine, witness: str) -> None:
    """kinesis-local, which is not ours, has the records that were put."""
    stream = StreamUnderTest(witness, shards=2)
    lines = b"".join(b'{"id": %d}\n' % number for number in range(50))
    kinesis("put", "orders", "--no-aggregate", "--key", ".id", "--endpoint-url", witness, stdin=lines)
    client = make_client(witness)
    found = []
    for shard in client.list_shards(StreamName=stream.name)["Shards"]:
        start = {"ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = client.get_shard_iterator(StreamName=stream.name, **start)["ShardIterator"]
        found += client.get_records(ShardIterator=iterator)["Records"]
    assert sorted(record["Data"] for record in found) == sorted(lines.splitlines())
    assert all(record["Data"] == b'{"id": %s}' % record["PartitionKey"].encode() for record in found)
