"""`kinesis lag` reads the checkpoints that Spark writes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from support.command_line import CommandLine
from support.spark_harness import Query
from support.streams import KEY_ID, SECRET, StreamUnderTest

MakeStream = Callable[..., StreamUnderTest]
MakeQuery = Callable[..., Query]
OFFSET_LOG = "spark.sql.streaming.offsetLog.formatVersion"


def measured(stream: StreamUnderTest, checkpoint: Path, home: Path) -> dict[str, Any]:
    """Return what `kinesis lag` says of the query with this checkpoint."""
    keys = {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": stream.region}
    kinesis = CommandLine(
        {
            **keys,
            "AWS_ENDPOINT_URL_KINESIS": stream.endpoint_url,
            "PATH": os.environ["PATH"],
            "HOME": str(home),
        }
    )
    [reader] = json.loads(kinesis("lag", stream.name, "--checkpoint", str(checkpoint), "-o", "json").out)[
        "readers"
    ]
    assert reader["kind"] == "spark"
    return dict(reader)


def behind(reader: dict[str, Any]) -> set[str]:
    return {shard["shardId"] for shard in reader["shards"] if shard["lagMs"]}


@pytest.mark.all_sparks
def test_before_and_after_more_records(
    make_stream: MakeStream, make_query: MakeQuery, tmp_path: Path
) -> None:
    """A query that has read everything has no lag. Records that come while it is down count, until it has read them."""
    stream = make_stream(shards=2)
    stream.put_numbers(20)
    query = make_query(stream.options()).start().wait_for_rows(20).stop()
    reader = measured(stream, query.checkpoint, tmp_path)
    assert (reader["lagMs"], reader["committedBatch"]) == (0, query.commits()[-1])
    assert {shard["state"] for shard in reader["shards"]} == {"current"}
    more = stream.put_numbers(20)
    reader = measured(stream, query.checkpoint, tmp_path)
    assert reader["lagMs"] > 0
    assert behind(reader) == {put.shard_id for put in more}
    query.start().wait_for_rows(40).stop()
    assert measured(stream, query.checkpoint, tmp_path)["lagMs"] == 0


@pytest.mark.all_sparks
def test_a_planned_batch(make_stream: MakeStream, make_query: MakeQuery, tmp_path: Path) -> None:
    """A batch that was planned and not committed does not count as read. Before the first commit, nothing does."""
    stream = make_stream()
    stream.put_numbers(5)
    query = make_query(stream.options()).start().wait_for_rows(5).stop()
    while query.commits():
        lost = query.lose_last_commit()
    reader = measured(stream, query.checkpoint, tmp_path)
    assert (reader["committedBatch"], reader["plannedBatch"]) == (None, lost)
    assert reader["shardsBehind"] == 1


def test_a_resharded_stream(make_stream: MakeStream, make_query: MakeQuery, tmp_path: Path) -> None:
    """Children of a shard wait until the query has read it to its end, and are read from their oldest record then."""
    stream = make_stream()
    stream.put_numbers(5)
    query = make_query(stream.options()).start().wait_for_rows(5).stop()
    stream.split()
    more = stream.put_numbers(20)
    reader = measured(stream, query.checkpoint, tmp_path)
    assert {shard["state"] for shard in reader["shards"]} == {"current", "waiting"}
    assert behind(reader) == {put.shard_id for put in more}
    query.start().wait_for_rows(25).stop()
    reader = measured(stream, query.checkpoint, tmp_path)
    assert {shard["state"] for shard in reader["shards"]} == {"finished", "current"}


def test_the_second_version_of_the_offset_log(
    spark: SparkSession, make_stream: MakeStream, make_query: MakeQuery, tmp_path: Path
) -> None:
    """Spark's newer format of the offset log, which names the sources, is read too."""
    stream = make_stream()
    stream.put_numbers(5)
    spark.conf.set(OFFSET_LOG, "2")
    try:
        query = make_query(stream.options()).start().wait_for_rows(5).stop()
    finally:
        spark.conf.unset(OFFSET_LOG)
    assert (query.checkpoint / "offsets" / "0").read_text().startswith("v2\n")
    assert measured(stream, query.checkpoint, tmp_path)["lagMs"] == 0
