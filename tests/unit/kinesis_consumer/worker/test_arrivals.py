"""Batches that are never committed are warned of: their shards wait for ever."""

from __future__ import annotations

import pytest

from kinesis_consumer.worker import Arrivals
from kinesis_consumer.worker.arrivals import UNCOMMITTED_S
from support.consumer_groups import fill, new_group, new_stream
from support.fake_stream import FakeClock
from support.waiting import PATIENCE_S


def test_a_batch_that_is_not_committed_is_warned_of_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A program that waits for another batch, and has had one for a minute without a commit, is warned once."""
    stream, clock = new_stream(), FakeClock()
    fill(stream, 1)
    pauses, lines = [UNCOMMITTED_S, 1.0, 1.0], []

    def wait(_: int, seconds: float = PATIENCE_S) -> None:  # noqa: ARG001 - the method's signature
        lines.append(len([text for text in caplog.messages if text.startswith("batch.uncommitted")]))
        if pauses:
            clock.sleep(pauses.pop(0))
        else:
            group.stop()

    with new_group(stream, clock=clock) as group:
        arrivals = Arrivals(group._threads)
        batch = next(arrivals)
        monkeypatch.setattr(type(group._threads), "wait", lambda _, seen: wait(seen))
        assert list(arrivals) == []
    assert lines == [0, 0, 1, 1]
    (warning,) = [each for each in caplog.records if "batch.uncommitted" in each.message]
    assert warning.levelname == "WARNING"
    assert str(batch.id) in warning.message
