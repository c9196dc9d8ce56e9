"""The command `kinesis advise`, as a process."""

from __future__ import annotations

import shlex
from collections.abc import Callable

import boto3  # type: ignore[import-untyped]
import pytest

from cli.bursts import AT_ONCE, burst
from kinesis_emulator import Emulator
from support.command_line import CommandLine
from support.lineages import name

Create = Callable[[int], str]
KEYS = {"aws_access_key_id": "000000000000", "aws_secret_access_key": "secret"}


def test_split_where_the_traffic_is(kinesis: CommandLine, standing: Emulator) -> None:
    """The printed call splits a hot shard where its traffic is halved. `advise` itself changes nothing."""
    standing.create_stream("orders", 2)
    keys = [f"key-{number}" for number in range(300)]
    low = [key for key in keys if standing.put("orders", b"", key).shard_id == name(0)]
    burst(standing, "orders", low, records=AT_ONCE)
    lines = kinesis("advise", "orders", "--sample", "1h", "--endpoint-url", standing.endpoint_url).lines
    assert any("hot" in line and line.startswith(name(0)) for line in lines)
    (call,) = [line for line in lines if line.startswith("  aws kinesis split-shard")]
    assert standing.shard_ids("orders") == [name(0), name(1)]
    options = dict(zip(*[iter(shlex.split(call)[3:])] * 2, strict=True))
    assert options["--endpoint-url"] == standing.endpoint_url
    client = boto3.client("kinesis", endpoint_url=options["--endpoint-url"], region_name="us-east-1", **KEYS)
    client.split_shard(
        StreamARN=options["--stream-arn"],
        ShardToSplit=options["--shard-to-split"],
        NewStartingHashKey=options["--new-starting-hash-key"],
    )
    owners = [standing.put("orders", b"", key).shard_id for key in low]  # they had equal parts of the traffic
    assert abs(owners.count(name(2)) - owners.count(name(3))) <= 1


def test_a_hot_key_is_named(kinesis: CommandLine, standing: Emulator) -> None:
    """A key that carries a hot shard is named with its share, and no split is advised for it."""
    standing.create_stream("orders", 1)
    burst(standing, "orders", ["customer-7"], records=AT_ONCE)
    ran = kinesis.to(standing)("advise", "orders", "--sample", "1h")
    assert "The key 'customer-7' has 100% of its traffic." in ran.text
    assert any(line.split() == ["customer-7", name(0), "100%", "100%"] for line in ran.lines)
    assert "aws kinesis" not in ran.text


def test_an_idle_stream(kinesis: CommandLine, create: Create) -> None:
    """A stream without traffic is not judged."""
    ran = kinesis("advise", create(2))
    assert ran.lines[-1].startswith("* 0 records were found, too few")


def test_wrong_options(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """Wrong values are refused before anything is called."""
    stream = create(1)
    assert "--sample is '2h'. Use" in kinesis("advise", stream, "--sample", "2h", status=2).err
    assert "--keys is -1. Use" in kinesis("advise", stream, "--keys", "-1", status=2).err
    assert emulator.calls.count("DescribeStreamSummary", stream) == 0


@pytest.mark.everything
def test_a_call_is_one_line_on_a_terminal(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """A call that is longer than the terminal is wide is printed without a line break, so that it can be copied."""
    stream = create(4)
    for number in range(150):
        emulator.put(stream, bytes(10), f"key-{number}")
    shown = kinesis.on_terminal("advise", stream, size=(60, 24)).text
    assert (
        f"aws kinesis update-shard-count --stream-arn arn:aws:kinesis:us-east-1:000000000000:stream/{stream} --region us-east-1 "
        "--target-shard-count 2 --scaling-type UNIFORM_SCALING" in shown
    )
