"""The size of batches, and idle streams, which run no batches."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, Row

from kinesis_emulator import Emulator
from support.servers import both_ways
from support.spark_harness import Query
from support.streams import StreamUnderTest

MakeQuery = Callable[..., Query]


@pytest.mark.tests
@both_ways
def test_backlog_in_bounded_batches(
    stream: StreamUnderTest, put_backlog: Callable[[str, int], list[bytes]], make_query: MakeQuery
) -> None:
    """maxRecordsPerShard splits a backlog into several batches, also across a restart."""
    backlog = put_backlog(stream.name, 550)
    query = make_query(stream.options(maxRecordsPerShard=100)).start()
    query.wait(lambda: len(query.commits()) >= 2, "second batch").stop()
    query.start().wait_for_rows(550)
    sizes = [len(batch) for batch in query.batches.values()]
    assert query.payloads == backlog
    assert max(sizes) <= 101  # the limit is a time span, both ends included
    assert len(sizes) >= 6


@pytest.mark.tests
@pytest.mark.parametrize("limit", [{"maxRecordsPerTrigger": 100}, {"maxBytesPerBatch": 1000}])
def test_idle_shards_need_nothing_of_a_limit(
    emulator: Emulator, make_query: MakeQuery, limit: dict[str, int]
) -> None:
    """A limit of a whole batch goes to the one shard that is behind, and not to the 15 that are idle."""
    stream = StreamUnderTest(emulator.endpoint_url, "busy", shards=16)
    started_s = time.time() - 3600
    for number in range(600):
        emulator.put(stream.name, f"{number:010}", explicit_hash_key=0, arrived_s=started_s + number / 1000)
    query = make_query(stream.options(**limit)).start().wait_for_rows(600)
    sizes = [len(batch) for batch in query.batches.values()]
    assert max(sizes) <= 101
    assert len(sizes) <= 10, sizes  # 6 at best; with equal parts 100


@pytest.mark.tests
@both_ways
def test_idle_stream(emulator: Emulator, stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """An idle stream runs no batches, however often it is polled."""
    stream.put_numbers(3)
    query = make_query(stream.options()).start().wait_for_rows(3)
    planned, calls = query.offsets(), emulator.calls.count("GetRecords")
    query.wait(lambda: emulator.calls.count("GetRecords") >= calls + 20, "20 further calls")
    assert query.offsets() == planned


@pytest.mark.tests
def test_lag_in_progress(stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """From Spark 4.2 on, the progress of a query reports the lag of each shard. This causes no batches."""
    stream.put_numbers(3)
    query = make_query(stream.options()).start().wait_for_rows(3)
    reports = [json.loads(p.json)["sources"][0]["latestOffset"] for p in query.query.recentProgress]
    shard_id = stream.sent[0].shard_id
    assert {
        "msBehindLatest": {stream.name: {shard_id: 0}},
        "shardCounts": {stream.name: 1},
        "maxMsBehindLatest": 0,
        "avgMsBehindLatest": 0,
        "minMsBehindLatest": 0,
        "retentionHours": {stream.name: 24},
        "dataLosses": {stream.name: 0},
    } in reports


@both_ways
def test_batch_that_nobody_reads(stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """A foreachBatch that returns without reading skips its batch. The next batch is right."""
    skipped: list[int] = []

    def read_from_second(frame: DataFrame) -> list[Row]:
        if stream.payloads == [b"skipped"]:
            skipped.append(1)
            return []
        return frame.collect()

    stream.put("skipped")
    query = make_query(stream.options(), each=read_from_second).start()
    query.wait(lambda: skipped, "first batch").process_all()
    stream.put("read")
    assert query.wait_for_rows(1).payloads == [b"read"]


@both_ways
def test_actions_on_one_batch(stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """Two actions, isEmpty() and two tasks on the same range read identical records, whatever is put meanwhile."""
    seen: list[list[Row]] = []

    def act(frame: DataFrame) -> list[Row]:
        first = frame.collect()
        if first and not seen:
            stream.put_numbers(5, "later-")
            assert not frame.isEmpty()
            twice = frame.union(frame).collect()
            seen.extend([first, frame.collect(), twice[: len(first)], twice[len(first) :]])
        return first

    stream.put_numbers(20)
    query = make_query(stream.options(), each=act).start().wait_for_rows(25)
    assert [rows == seen[0] for rows in seen] == [True] * 4
    assert query.payloads == stream.payloads


@pytest.mark.tests
def test_retried_task(stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """A task that fails after the source and is retried reads identical records."""

    def fail_once(frame: DataFrame) -> list[Row]:
        def attempts(batches):  # type: ignore[no-untyped-def] # Spark cannot ship names that only type checkers know
            from pyspark import TaskContext

            context = TaskContext.get()
            assert context is not None
            batches = list(batches)
            if context.attemptNumber() == 0:
                raise ValueError("the first attempt fails on purpose")
            yield from batches

        return frame.mapInArrow(attempts, frame.schema).collect()

    stream.put_numbers(20)
    query = make_query(stream.options(), each=fail_once).start().wait_for_rows(20)
    assert query.payloads == stream.payloads
