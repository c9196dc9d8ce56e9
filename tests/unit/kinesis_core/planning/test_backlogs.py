"""A batch that nothing bounds, and that takes up a long backlog, is a line in the log."""

from __future__ import annotations

import pytest

from kinesis_core.model import Latest
from kinesis_core.planning import Limits, PlanSettings
from support.planned import Planned
from support.scripted_stream import ScriptedStream, scripted_stream

A, B, C, D = (f"shardId-{i:012d}" for i in range(4))
HOUR_S = 3600.0
WARNING = "backlog.planned"


def stream_with_backlog(hours: float) -> ScriptedStream:
    """Return a stream of three shards; the oldest record of one of two is so old."""
    stream = scripted_stream(3)
    stream.retention_hours = 48
    stream.put(A, b"x")
    stream.clock.sleep((hours - 1) * HOUR_S)
    stream.put(B, b"x")
    stream.clock.sleep(HOUR_S)
    stream.put(A, b"x")
    return stream


def test_a_backlog_without_a_bound_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    """A warning says how long a batch without a bound is, over how many shards, and how long the stream keeps records."""
    query = Planned([stream_with_backlog(7.5)])
    assert len(query.batch(bounded=False)) == 3
    [record] = [r for r in caplog.records if WARNING in r.getMessage()]
    assert record.levelname == "WARNING"
    assert record.getMessage() == f"{WARNING} stream=orders shards=2 hours=7.5 retention_hours=48"


def test_a_backlog_after_a_split_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    """Shards that end with the batch count as well, and so do their children."""
    stream = stream_with_backlog(7.5)
    for child in stream.split(A):
        stream.put(child, b"x")
    Planned([stream]).batch(bounded=False)
    assert "shards=4 hours=7.5" in caplog.text


def test_a_short_backlog_is_not_reported(caplog: pytest.LogCaptureFixture) -> None:
    """A batch of less than six hours is nothing to warn of."""
    assert len(Planned([stream_with_backlog(5.9)]).batch(bounded=False)) == 3
    assert WARNING not in caplog.text


def test_a_silence_is_no_backlog(caplog: pytest.LogCaptureFixture) -> None:
    """What counts is how long the records have been in the stream, not how long ago the last batch was."""
    stream = scripted_stream(1)
    query = Planned([stream], Latest())
    stream.clock.sleep(20 * HOUR_S)
    stream.put(A, b"x")
    assert len(query.batch(bounded=False)) == 1
    assert WARNING not in caplog.text


def test_a_batch_with_a_bound_is_not_reported(caplog: pytest.LogCaptureFixture) -> None:
    """A batch that limits keep small is not logged, however old its records are; nor is AvailableNow in several batches."""
    for hours in (7.5, 40):
        query = Planned([stream_with_backlog(hours)], settings=PlanSettings(Limits(max_records=2)))
        query.planner.fix_targets()
        assert query.batches(5)
    assert WARNING not in caplog.text


def test_it_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    """The batches after a long one are short again."""
    stream = stream_with_backlog(30)
    query = Planned([stream])
    for _ in range(3):
        query.batch(bounded=False)
        stream.put(C, b"x")
        stream.clock.sleep(1)
    assert caplog.text.count(WARNING) == 1


def test_it_costs_no_call(caplog: pytest.LogCaptureFixture) -> None:
    """What it says is known by then."""
    counts = []
    for hours in (5.9, 7.5):
        stream = stream_with_backlog(hours)
        Planned([stream]).batch(bounded=False)
        counts.append(stream.calls)
    assert counts[0] == counts[1]
    assert WARNING in caplog.text
