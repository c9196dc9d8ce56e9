"""The command `kinesis shards`, as a process."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import boto3  # type: ignore[import-untyped]
import pytest

from cli.bursts import AT_ONCE, burst
from kinesis_emulator import Emulator
from kinesis_emulator.client_settings import environment
from support.command_line import CommandLine
from support.lineages import name
from support.witness import kinesis_local

KEYS = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
Create = Callable[[int], str]


def test_a_tree_with_rates(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """A resharded stream is a tree of all its shards, with the rates of what was written just now."""
    stream = create(2)
    emulator.put(stream, b"old", explicit_hash_key=0)
    emulator.split(stream, name(0))
    for _ in range(60):
        emulator.put(stream, bytes(997), explicit_hash_key=2**126)
    first, arn, counts, empty, header, *lines = kinesis("shards", stream, "--sample", "1m").lines
    assert first == f"{stream}  ACTIVE, provisioned, retention 24 h, not encrypted"
    assert arn.endswith(f":stream/{stream}")
    assert counts.startswith("3 open shards, 1 closed. In, over the last 1 min: ")
    assert (empty, header.split()) == ("", ["SHARD", "HASH", "KEYS", "STATE", "RECORDS/S", "BYTES/S", "LOAD"])
    assert [line.partition("  ")[0] for line in lines] == [
        name(0),
        f"├ {name(2)}",
        f"└ {name(3)}",
        name(1),
    ]
    assert "closed" in lines[0]
    assert lines[1].split()[-5:] == ["open", "0", "0", "B", "0%"]
    assert "········████████················  open" in lines[2]


def test_a_hot_shard_in_json(kinesis: CommandLine, standing: Emulator) -> None:
    """JSON names the hot shard, and the stream by its ARN is the same stream."""
    standing.create_stream("orders", 2)
    burst(standing, "orders", explicit_hash_key=0, records=AT_ONCE)
    there = kinesis.to(standing)
    ran = there("shards", "orders", "--sample", "1h", "-o", "json")
    shown = json.loads(ran.out)
    assert [shard["in"]["isHot"] for shard in shown["shards"]] == [True, False]
    assert (shown["stream"], shown["openShards"], shown["sampleMs"]) == ("orders", 2, 3_600_000)
    again = json.loads(there("shards", shown["streamArn"], "--no-sample", "-o", "json").out)
    assert again["stream"] == "orders"


def test_without_a_sample_nothing_is_read(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """With --no-sample no record is read."""
    stream = create(2)
    assert "RECORDS/S" not in kinesis("shards", stream, "--no-sample").text
    assert emulator.calls.count("GetRecords", stream) == 0
    assert "RECORDS/S" in kinesis("shards", stream).text
    assert emulator.calls.count("GetRecords", stream) == 2


def test_many_shards(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """Of a stream with many shards the busiest are shown; --all shows all of them."""
    stream = create(60)
    emulator.put(stream, bytes(5000), explicit_hash_key=2**128 - 1)
    lines = kinesis("shards", stream, "--sample", "1h", "--most", "3").lines
    assert sum("shardId-" in line for line in lines) == 3
    assert any(line.startswith(name(59)) for line in lines)
    assert lines[-1] == "57 more shards are not shown (57 open). --all shows them."
    lines = kinesis("shards", stream, "--all").lines
    assert sum("shardId-" in line for line in lines) == 60


def test_wrong_options(kinesis: CommandLine, create: Create, emulator: Emulator) -> None:
    """Wrong values are refused before anything is called."""
    stream = create(1)
    assert kinesis("shards", stream, "--sample", "10", status=2).err.startswith(
        "kinesis shards: --sample is '10'. Use a time"
    )
    assert kinesis("shards", stream, "--most", "0", status=2).err.startswith(
        "kinesis shards: --most is 0. Use"
    )
    assert emulator.calls.count("DescribeStreamSummary", stream) == 0


@pytest.mark.witness
def test_another_server(tmp_path: Path) -> None:
    """kinesis-local's splits and merges give the same tree, and its records the same rates."""
    with kinesis_local() as url:
        client = boto3.client("kinesis", endpoint_url=url, region_name="us-east-1", **KEYS)
        client.create_stream(StreamName="orders", ShardCount=2)
        client.get_waiter("stream_exists").wait(StreamName="orders", WaiterConfig={"Delay": 1})
        client.merge_shards(StreamName="orders", ShardToMerge=name(0), AdjacentShardToMerge=name(1))
        client.get_waiter("stream_exists").wait(StreamName="orders", WaiterConfig={"Delay": 1})
        for _ in range(60):
            client.put_record(StreamName="orders", Data=bytes(997), PartitionKey="key")
        kinesis = CommandLine(
            {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **environment(url, "us-east-1")}
        )
        ran = kinesis("shards", "orders", "--sample", "1m", "-o", "json")
        *_, merged = json.loads(ran.out)["shards"]
        lines = kinesis("shards", "orders", "--no-sample").lines
    assert merged["parents"] == [name(0), name(1)]
    assert 0 < merged["in"]["recordsPerSecond"] <= 60
    assert merged["in"]["bytesPerSecond"] == pytest.approx(1000 * merged["in"]["recordsPerSecond"], rel=0.01)
    assert [line.partition("  ")[0] for line in lines[-3:]] == [name(0), f"└ {name(2)} + 1", name(1)]
