"""Failing calls while Spark reads and writes: no record is lost or repeated, and a query recovers after an outage."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kinesis_emulator import Emulator, Fault, Request
from spark.sinks import SinkQuery, sink_options
from spark.written import user_records
from support.checks import is_check
from support.injected import InjectedFaults
from support.python_log import PythonLog
from support.spark_harness import Query
from support.streams import StreamUnderTest

MakeQuery = Callable[..., Query]
MakeStream = Callable[..., StreamUnderTest]
ROUNDS, ROWS = 6, 60
QUICK = {"retryInterval": "10 ms", "maxRetryInterval": "1 s", "outageTimeout": "10 m"}
BRIEF = {"retryInterval": "20 ms", "maxRetryInterval": "200 ms", "outageTimeout": "1200 ms"}


@pytest.mark.parametrize("seed", [1, 2])
def test_reading_while_a_fifth_of_all_calls_fails(
    emulator: Emulator, make_stream: MakeStream, make_query: MakeQuery, python_log: PythonLog, seed: int
) -> None:
    """
    A query keeps up with a producer while a fifth of all calls fails, on driver and executors.

    Each record comes once, in the order of its key. The log has one line for each failed call.
    """
    stream = make_stream(shards=3)
    emulator.settings.fault = faults = InjectedFaults(seed)
    query = make_query(stream.options(**QUICK)).start()
    for number in range(ROUNDS):
        put_rows(emulator, stream, number)
        query.wait_for_rows((number + 1) * ROWS)
    emulator.settings.fault = lambda _: None  # stopping a query would lose the log lines of running calls
    query.process_all().stop()
    by_key: dict[str, list[int]] = {}
    for row in query.rows:
        by_key.setdefault(row.partitionKey, []).append(int(row.data))
    assert sorted(chain.from_iterable(by_key.values())) == list(range(ROUNDS * ROWS))
    assert all(numbers == sorted(numbers) for numbers in by_key.values())
    assert python_log.retries(stream.name) == faults.felt
    assert faults.felt.total() > 0.1 * faults.calls


@pytest.mark.parametrize("aggregated", ["true", "false"])
def test_writing_while_a_fifth_of_all_calls_fails(
    emulator: Emulator,
    spark: SparkSession,
    make_stream: MakeStream,
    python_log: PythonLog,
    tmp_path: Path,
    aggregated: str,
) -> None:
    """
    A query from stream to stream keeps up while a fifth of all calls fails, reads and writes.

    Every record is in the second stream. The log has one line for each failed call.
    """
    stream, copies = make_stream("orders", shards=3), make_stream("copies", shards=2)
    emulator.settings.fault = faults = InjectedFaults(3)
    frame = spark.readStream.format("kinesis").options(**stream.options(**QUICK)).load()
    options = sink_options(copies, aggregationEnabled=aggregated, **QUICK)
    query = SinkQuery(frame, tmp_path / "checkpoint", options).start()
    for number in range(ROUNDS):
        put_rows(emulator, stream, number)
        query.process_all()
    emulator.settings.fault = lambda _: None
    query.process_all().stop()
    written = {int(record.data) for record in user_records(emulator, copies.name)}
    assert written == set(range(ROUNDS * ROWS))
    assert python_log.retries(stream.name, copies.name) == faults.felt
    assert faults.felt["GetRecords"] + faults.felt["PutRecords"] > 5


def put_rows(emulator: Emulator, stream: StreamUnderTest, number: int) -> None:
    for row in range(number * ROWS, (number + 1) * ROWS):
        emulator.put(stream.name, str(row), f"key-{row % 13}")


@pytest.mark.all_sparks
def test_an_outage_is_reported_and_got_over(
    emulator: Emulator, stream: StreamUnderTest, make_query: MakeQuery
) -> None:
    """
    During an outage the query stops with an error that names the call and what to check.

    Started again after the outage, it continues from its checkpoint, with each record once.
    """
    stream.put_numbers(20)
    query = make_query(stream.options(**BRIEF))
    query.start().wait_for_rows(20)
    emulator.settings.fault = lambda _: Fault("InternalFailure", status=500)
    with pytest.raises(Exception, match=r"InternalFailure.*Check endpointUrl, region, network and proxy"):
        query.wait(lambda: False, "error")
    emulator.settings.fault = lambda _: None
    stream.put_numbers(20)
    query.start().wait_for_rows(40)
    assert query.payloads == stream.payloads


@pytest.mark.all_sparks
def test_an_outage_in_the_middle_of_a_batch(
    emulator: Emulator, stream: StreamUnderTest, make_query: MakeQuery
) -> None:
    """After a task failed with all its attempts, its batch is run again from the checkpoint with the same records."""
    stream.put_numbers(60)
    options = stream.options(**BRIEF, maxRecordsPerFetch="5", maxRecordsPerShard="40")
    pages = iter(range(6))

    def fail(request: Request) -> Fault | None:
        is_page = request.action == "GetRecords" and not is_check(request)
        is_out = is_page and next(pages, None) is None
        return Fault(drop_request=True, reset=True) if is_out else None

    emulator.settings.fault = fail
    query = make_query(options)
    with pytest.raises(Exception, match=r"GetRecords failed: .*stream=.* shard=shardId-000000000000"):
        query.start().wait(lambda: False, "error")
    emulator.settings.fault = lambda _: None
    stream.put_numbers(20)
    query.start().wait_for_rows(80)
    assert query.payloads == stream.payloads
