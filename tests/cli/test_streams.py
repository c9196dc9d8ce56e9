"""`kinesis streams`: the streams of the account and region."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from kinesis_emulator import Emulator
from support.command_line import CommandLine

NAMES = [f"orders-{number:04d}" for number in range(30)]


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    """An emulator with streams of its own."""
    with Emulator() as running:
        running.create_stream("teas", 3)
        yield running


def test_a_table(kinesis: CommandLine, emulator: Emulator) -> None:
    """Each stream has a line with its mode, open shards, consumers and retention, in the order of names."""
    emulator.create_stream("orders", 2)
    emulator.register_consumer("orders", "billing")
    emulator.split("teas", emulator.shard_ids("teas")[0])
    header, orders, teas = kinesis("streams").lines
    assert header.split() == ["STREAM", "STATUS", "MODE", "SHARDS", "CONSUMERS", "RETENTION"]
    assert orders.split() == ["orders", "ACTIVE", "provisioned", "2", "1", "24", "h"]
    assert teas.split() == ["teas", "ACTIVE", "provisioned", "4", "0", "24", "h"]


def test_json(kinesis: CommandLine) -> None:
    """For scripts there is an object a line."""
    (line,) = kinesis("streams", "-o", "json").lines
    found = json.loads(line)
    created = found.pop("created")
    assert (created[10], created[-1]) == ("T", "Z")
    assert found == {
        "stream": "teas",
        "streamArn": "arn:aws:kinesis:us-east-1:000000000000:stream/teas",
        "status": "ACTIVE",
        "mode": "PROVISIONED",
        "openShards": 3,
        "consumers": 0,
        "retentionHours": 24,
        "isEncrypted": False,
    }


def test_many_streams(kinesis: CommandLine, emulator: Emulator) -> None:
    """All of them are described, although an account may describe 20 a second. Names alone describe none."""
    for name in NAMES:
        emulator.create_stream(name)
    assert kinesis("streams", "-o", "names").lines == [*NAMES, "teas"]
    assert not emulator.calls.count("DescribeStreamSummary")
    assert [line.split()[0] for line in kinesis("streams").lines[1:]] == [*NAMES, "teas"]


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        (["teas"], ["teas"]),
        (["tea"], []),
        (["tea?"], ["teas"]),
        (["orders-*", "teas"], ["orders-1", "teas"]),
        (["ORDERS-*"], []),
    ],
)
def test_patterns(kinesis: CommandLine, emulator: Emulator, patterns: list[str], found: list[str]) -> None:
    """A pattern stands for whole names, with upper and lower case as they are. Streams of other names are not described."""
    emulator.create_stream("orders-1")
    ran = kinesis("streams", *patterns, "-o", "names")
    assert ran.lines == found
    missing = "" if found else f"There are no streams named {patterns[0]} in us-east-1.\n"
    assert ran.err == missing


def test_a_stream_that_may_not_be_described(kinesis: CommandLine, emulator: Emulator) -> None:
    """A policy may allow the list and no more: the names are shown with AWS's code."""
    emulator.settings.deny = {"DescribeStreamSummary"}
    ran = kinesis("streams")
    assert ran.lines[1].split() == ["teas", "AccessDeniedException", "-", "-", "-", "-"]
    assert ran.err == "1 stream could not be described: see kinesis:DescribeStreamSummary in the policy.\n"
    (line,) = kinesis("streams", "-o", "json").lines
    assert json.loads(line) == {"stream": "teas", "problem": "AccessDeniedException"}


def test_a_list_that_is_denied(kinesis: CommandLine, emulator: Emulator) -> None:
    """Without the permission to list streams the command fails."""
    emulator.settings.deny = {"ListStreams"}
    assert "kinesis:ListStreams" in kinesis("streams", status=1).err


def test_no_streams(kinesis: CommandLine, emulator: Emulator) -> None:
    """An account without streams is no error."""
    emulator.delete_stream("teas")
    ran = kinesis("streams")
    assert (ran.out, ran.err) == (b"", "There are no streams in us-east-1.\n")
