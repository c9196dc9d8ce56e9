"""Batches that wait for a number of records."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kinesis_emulator import Emulator
from spark_kinesis_source.data_source import HAS_ADMISSION_CONTROL
from support.spark_harness import Query
from support.streams import StreamUnderTest

MakeQuery = Callable[..., Query]
pytestmark = pytest.mark.all_sparks

NEVER = {"minRecordsPerTrigger": 1_000_000, "maxTriggerDelay": "1h"}


def test_records_wait_for_others(emulator: Emulator, stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """A running query holds records back until there are enough, and reads them in one batch."""
    stream.put_numbers(3)
    query = make_query(stream.options(minRecordsPerTrigger=10, maxTriggerDelay="1h")).start()
    query.wait_for_rows(3)
    planned = query.offsets()
    stream.put_numbers(9)
    calls = emulator.calls.count("GetRecords")
    query.wait(lambda: emulator.calls.count("GetRecords") >= calls + 4, "4 further calls")
    assert query.offsets() == planned
    stream.put("the tenth")
    query.wait(lambda: len(query.rows) == 13, "the batch")
    assert len(query.batches[max(query.batches)]) == 10
    assert query.payloads == stream.payloads


def test_a_restarted_query_reads_what_waited(stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """Records that a stopped query held back are in the first batch of its next run."""
    stream.put_numbers(3)
    query = make_query(stream.options(**NEVER)).start().wait_for_rows(3)
    stream.put_numbers(4)
    query.stop().start().wait(lambda: len(query.rows) == 7, "7 rows")
    assert query.payloads == stream.payloads


@pytest.mark.parametrize("trigger", ["availableNow", "once"])
def test_a_run_that_ends_waits_for_nothing(
    trigger: str, stream: StreamUnderTest, make_query: MakeQuery
) -> None:
    """Each run of AvailableNow and Once reads what is there and ends, even if there are fewer records."""
    query = make_query(stream.options(**NEVER))
    for rows in (5, 10):
        stream.put_numbers(5)
        query.start(**{trigger: True}).finish()
        assert len(query.rows) == rows
    assert query.payloads == stream.payloads


@pytest.mark.skipif(not HAS_ADMISSION_CONTROL, reason="AvailableNow is one batch before Spark 4.2")
def test_available_now_does_not_wait_between_batches(stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """AvailableNow in several batches does not wait before any of them."""
    stream.put_numbers(20)
    query = make_query(stream.options(maxRecordsPerShard=5, **NEVER)).start(availableNow=True).finish()
    assert query.payloads == stream.payloads
    assert len(query.batches) >= 3
