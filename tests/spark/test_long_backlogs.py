"""A warning about a backlog of hours that is planned as one batch."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from kinesis_emulator import Emulator
from spark_kinesis_source.data_source import HAS_ADMISSION_CONTROL
from support.python_log import PythonLog
from support.spark_harness import Query
from support.streams import StreamUnderTest

MakeQuery = Callable[..., Query]
pytestmark = pytest.mark.all_sparks

SEVEN_HOURS_S = 7 * 3600


@pytest.mark.parametrize("trigger", ["processingTime", "availableNow", "once"])
@pytest.mark.parametrize("options", [{}, {"maxRecordsPerShard": 1000}])
def test_a_batch_without_a_bound(
    trigger: str,
    options: dict[str, int],
    emulator: Emulator,
    stream: StreamUnderTest,
    make_query: MakeQuery,
    python_log: PythonLog,
) -> None:
    """Trigger.Once from Spark 4.2 on, and any trigger on Spark 4.0 and 4.1 without a limit, log a warning. Others do not."""
    emulator.put(stream.name, "old", arrived_s=time.time() - SEVEN_HOURS_S)
    query = make_query(stream.options(**options))
    if trigger == "processingTime":
        query.start().wait_for_rows(1)
    else:
        query.start(**{trigger: True}).finish()
    is_unbounded = trigger == "once" if HAS_ADMISSION_CONTROL else not options
    lines = [line for line in python_log.lines("backlog.planned") if f"stream={stream.name} " in line]
    assert len(lines) == is_unbounded
    assert all("shards=1 hours=7.0 retention_hours=24" in line for line in lines)
