"""AvailableNow: a query reads what is in the stream at its start, and ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kinesis_emulator import Emulator
from spark_kinesis_source.data_source import HAS_ADMISSION_CONTROL
from support.checks import CarriedOut
from support.servers import both_ways
from support.spark_harness import Query
from support.streams import StreamUnderTest

MakeQuery = Callable[..., Query]
pytestmark = pytest.mark.all_sparks


@pytest.mark.tests
@both_ways
def test_available_now_ends(emulator: Emulator, stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """
    AvailableNow reads everything that was there at its start, children of finished shards included, and ends while producers
    continue.
    """
    stream.put_numbers(30)
    stream.split()
    stream.put_numbers(30)
    there = stream.payloads
    emulator.settings.fault = seen = CarriedOut()
    query = make_query(stream.options()).start(availableNow=True)
    query.wait(lambda: seen.calls["GetRecords"] > 0, "first read")
    stream.put_numbers(5)
    query.finish()
    assert set(query.payloads) >= set(there)
    query.start(availableNow=True).finish()
    assert sorted(query.payloads) == sorted(stream.payloads)


@pytest.mark.tests
def test_reshards_between_two_runs(
    emulator: Emulator, stream: StreamUnderTest, make_query: MakeQuery
) -> None:
    """
    The run after two calls of UpdateShardCount reads the shards of all generations. The second call opens and closes shards that
    never have a record.
    """
    emulator.scale(stream.name, 2)
    stream.put_numbers(20)
    query = make_query(stream.options()).start(availableNow=True).finish()
    stream.put_numbers(20)
    emulator.scale(stream.name, 4)
    stream.put_numbers(100)
    emulator.scale(stream.name, 3)
    stream.put_numbers(20)
    query.start(availableNow=True).finish()
    assert sorted(query.payloads) == sorted(stream.payloads)


@pytest.mark.tests
def test_available_now_without_data(stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """AvailableNow on an empty stream ends as well."""
    assert make_query(stream.options()).start(availableNow=True).finish().rows == []


@pytest.mark.tests
@pytest.mark.skipif(not HAS_ADMISSION_CONTROL, reason="AvailableNow is one batch before Spark 4.2")
def test_available_now_in_bounded_batches(
    stream: StreamUnderTest, put_backlog: Callable[[str, int], list[bytes]], make_query: MakeQuery
) -> None:
    """From Spark 4.2 on, AvailableNow respects maxRecordsPerShard, and its target while producers continue."""
    backlog = put_backlog(stream.name, 300)
    query = make_query(stream.options(maxRecordsPerShard=100)).start(availableNow=True)
    query.wait(query.commits, "first batch")
    stream.put("too late")
    query.finish()
    assert query.payloads == backlog
    assert len(query.batches) >= 3
