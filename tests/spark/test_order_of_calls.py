"""
The order in which Spark calls a Python stream reader. The readers for Spark 4.0 and 4.1 depend on it.

`partitions(e, e)` before the first `latestOffset()` is the only call by which Spark 4.0 and 4.1 pass the last offset to a
restarted reader.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark.recording_source import HAS_ADMISSION_CONTROL, RecordingSource
from support.spark_harness import Query

pytestmark = pytest.mark.all_sparks

without_start = pytest.mark.skipif(HAS_ADMISSION_CONTROL, reason="Spark 4.2 gives latestOffset its start")
with_start = pytest.mark.skipif(
    not HAS_ADMISSION_CONTROL, reason="Spark 4.0 and 4.1 give latestOffset no start"
)


class Recording:
    """A query over the recording source, and the calls that it made."""

    def __init__(self, query: Query, directory: Path) -> None:
        self._query = query
        self._directory = directory
        self.calls_file.touch()

    @property
    def calls_file(self) -> Path:
        return self._directory / "calls"

    def run(self, tip: int, **trigger: object) -> list[list[object]]:
        """Run the query until *tip* numbers are processed, stop it, and return the calls without repeats."""
        (self._directory / "tip").write_text(str(tip))
        self.calls_file.write_text("")
        query = self._query.start(**trigger)
        (query.finish if trigger else query.process_all)()
        query.stop()
        calls = [json.loads(line) for line in self.calls_file.read_text().splitlines()]
        return [call for before, call in zip([None, *calls], calls, strict=False) if call != before]

    def lose_last_commit(self) -> None:
        self._query.lose_last_commit()


@pytest.fixture
def recording(spark: SparkSession, make_query: Callable[..., Query], tmp_path: Path) -> Recording:
    spark.dataSource.register(RecordingSource)
    return Recording(make_query({"directory": str(tmp_path)}, source="recording"), tmp_path)


@without_start
def test_first_run_without_start(recording: Recording) -> None:
    """Spark 4.0/4.1 ask a new query for the latest offset before the initial one, and then plan from the initial one."""
    assert recording.run(5)[:3] == [["latestOffset", 5], ["initialOffset"], ["partitions", 0, 5]]


@without_start
def test_first_run_of_an_empty_stream_without_start(recording: Recording) -> None:
    """The first batch is planned and logged even if it is empty, so a restart gets its offset."""
    assert recording.run(0)[:3] == [["latestOffset", 0], ["initialOffset"], ["partitions", 0, 0]]
    assert recording.run(4)[:4] == [
        ["partitions", 0, 0],
        ["latestOffset", 4],
        ["commit", 0],
        ["partitions", 0, 4],
    ]


@without_start
def test_restart_without_start(recording: Recording) -> None:
    """A restarted Spark 4.0/4.1 calls partitions(e, e) with the last end before it asks for the latest offset."""
    recording.run(12)
    assert recording.run(18)[:4] == [
        ["partitions", 12, 12],
        ["latestOffset", 18],
        ["commit", 12],
        ["partitions", 12, 18],
    ]


@without_start
def test_restart_with_lost_commit_without_start(recording: Recording) -> None:
    """A replayed batch comes as partitions(s, e), after partitions(e, e) and before the latest offset."""
    recording.run(12)
    recording.run(18)
    recording.lose_last_commit()
    calls = recording.run(25)
    assert calls[:3] == [["partitions", 18, 18], ["partitions", 12, 18], ["latestOffset", 25]]


@without_start
def test_restart_with_lost_first_commit_without_start(recording: Recording) -> None:
    """Batch 0 is replayed from a new initial offset, because Spark does not keep the first one."""
    recording.run(5)
    recording.lose_last_commit()
    calls = recording.run(9)
    assert calls[:4] == [["partitions", 5, 5], ["initialOffset"], ["partitions", 0, 5], ["latestOffset", 9]]


@without_start
@pytest.mark.parametrize("trigger", ["availableNow", "once"])
def test_available_now_without_start(recording: Recording, trigger: str) -> None:
    """AvailableNow and Once are one batch in Spark 4.0/4.1, also when it is replayed."""
    assert recording.run(25, **{trigger: True}) == [
        ["latestOffset", 25],
        ["initialOffset"],
        ["partitions", 0, 25],
    ]
    recording.lose_last_commit()
    assert recording.run(30, **{trigger: True}) == [
        ["partitions", 25, 25],
        ["initialOffset"],
        ["partitions", 0, 25],
    ]


@with_start
def test_first_run_with_start(recording: Recording) -> None:
    """Spark 4.2 asks for the initial offset twice in a first run, so both results must be equal."""
    assert recording.run(5)[:6] == [
        ["getDefaultReadLimit"],
        ["initialOffset"],
        ["latestOffset", 0, "ReadMaxRows", 5],
        ["reportLatestOffset"],
        ["initialOffset"],
        ["partitions", 0, 5],
    ]


@with_start
def test_restart_with_start(recording: Recording) -> None:
    """A restarted Spark 4.2 passes the last end to latestOffset."""
    recording.run(9)
    calls = recording.run(12)
    assert calls[:3] == [
        ["getDefaultReadLimit"],
        ["latestOffset", 9, "ReadMaxRows", 12],
        ["reportLatestOffset"],
    ]


@with_start
def test_restart_with_lost_first_commit_with_start(recording: Recording) -> None:
    """Spark 4.2 also replays batch 0 from a new initial offset."""
    recording.run(5)
    recording.lose_last_commit()
    calls = recording.run(9)
    assert calls[1:4] == [["initialOffset"], ["partitions", 0, 5], ["latestOffset", 5, "ReadMaxRows", 9]]


@with_start
def test_available_now_with_start(recording: Recording) -> None:
    """AvailableNow first fixes its target, then asks for bounded batches."""
    calls = recording.run(25, availableNow=True)
    assert calls[0] == ["prepareForTriggerAvailableNow"]
    assert [c[1:] for c in calls if c[0] == "partitions"] == [[0, 10], [10, 20], [20, 25]]


@with_start
def test_once_with_start(recording: Recording) -> None:
    """Trigger.Once is one batch and asks for everything, whatever the limit of the source is."""
    calls = recording.run(9, once=True)
    assert ["latestOffset", 0, "ReadAllAvailable", 9] in calls
