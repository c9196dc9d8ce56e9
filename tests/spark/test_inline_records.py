"""Small micro-batches, whose records the driver passes to the tasks: they are those that tasks read, and a replay has them again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import Row

from kinesis_emulator import Emulator, Fault, Request
from support.aggregates import aggregate
from support.checks import is_check
from support.spark_harness import Query
from support.streams import StreamUnderTest

pytestmark = [pytest.mark.all_sparks, pytest.mark.tests]
COLUMNS = (
    "data binary, partitionKey string, explicitHashKey string, sequenceNumber string, subSequenceNumber long, "
    "approximateArrivalTimestamp timestamp, shardId string, streamName string"
)
PACKED = aggregate([("a", None, b"1"), ("b", "7", b"2"), ("a", "0", b"3")])


def test_a_replay_has_the_records_that_came_with_the_plan(
    emulator: Emulator, stream: StreamUnderTest, make_query: Callable[..., Query]
) -> None:
    """The first run of a batch makes no call for its records beside those of the plan, and its replay by tasks has the same rows."""
    asked = list[Any]()

    def note(request: Request) -> Fault | None:
        if request.action == "GetShardIterator" and not is_check(request):
            asked.append(request.params.get("StartingSequenceNumber"))
        return None

    emulator.settings.fault = note
    first = stream.put("plain", b"", PACKED)[0].sequence_number
    query = make_query(stream.options(inlineRecords="true"), schema=COLUMNS).start().wait_for_rows(5).stop()
    assert first not in asked
    lost = query.lose_last_commit()
    stream.put("later")
    query.start().wait_for_rows(6).stop()
    planned, read = query.runs[lost]
    assert planned == read
    assert first in asked
    assert [_shown(row) for row in planned] == [
        ("key-0", None, b"plain", 0),
        ("key-1", None, b"", 0),
        ("a", None, b"1", 0),
        ("b", "7", b"2", 1),
        ("a", "0", b"3", 2),
    ]


def _shown(row: Row) -> tuple[str, str | None, bytes, int]:
    return row.partitionKey, row.explicitHashKey, bytes(row.data), row.subSequenceNumber
