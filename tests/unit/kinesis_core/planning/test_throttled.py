"""A shard whose calls are all refused is not mistaken for an idle one."""

from __future__ import annotations

import logging

import pytest

from kinesis_core.errors import StreamNotFoundError
from kinesis_core.planning import PlanSettings
from kinesis_core.throttled import LONG_S, MANY, Throttled
from support.planned import Planned
from support.scripted_stream import scripted_stream, throttle

A, B = "shardId-000000000000", "shardId-000000000001"


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.levelno == logging.WARNING]


def test_refusals_for_long_are_a_lag_and_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """While every call is refused, the lag grows with the time, and the log warns once a minute. A page ends both."""
    stream = scripted_stream(1)
    stream.put_many(A, 5, 0.1)
    query = Planned([stream])
    query.batch()
    stream.put_many(A, 5, 0.1)
    refused_s = stream.clock.now_s()
    stream.fail("GetRecords", A, [throttle() for _ in range(50)])
    lags_ms = {0.0: 0}
    while not (read := query.batch()):
        lags_ms[stream.clock.now_s() - refused_s] = query.planner.lag_ms()["orders"][A]
    assert len(read) == 5
    longest_s = max(lags_ms)
    assert longest_s > 2 * LONG_S
    for for_s, lag_ms in lags_ms.items():
        assert lag_ms == 0 or for_s >= LONG_S
        assert 1000 * (for_s - LONG_S) <= lag_ms <= 1000 * for_s
    assert [line.partition(" throttles=")[0] for line in warnings(caplog)] == [
        f"shard.throttled stream=orders shard={A} for_s={for_s}" for for_s in warned_s(lags_ms)
    ]
    assert query.planner.lag_ms()["orders"][A] == 0


def warned_s(lags_ms: dict[float, int]) -> list[int]:
    """Return when a warning is due: the first refusals that are a minute apart."""
    due_s: list[float] = [0.0]
    for for_s in sorted(lags_ms):
        if for_s - due_s[-1] >= LONG_S:
            due_s.append(for_s)
    return [round(for_s) for for_s in due_s[1:]]


def test_a_few_refusals_are_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    """A query that plans once a minute may be refused some times in a row without a warning."""
    throttled = Throttled("orders", A)
    for count in range(MANY - 1):
        throttled.refused(count * 2 * LONG_S)
    assert warnings(caplog) == []
    throttled.refused(MANY * 2 * LONG_S)
    assert len(warnings(caplog)) == 1


def test_other_shards_continue() -> None:
    """A batch has the records of other shards, and the lag of the refused one is reported with it."""
    stream = scripted_stream(2)
    query = Planned([stream])
    query.batch()
    stream.fail("GetRecords", A, [throttle() for _ in range(1000)])
    while query.planner.lag_ms()["orders"].get(A, 0) < 1000 * LONG_S:
        query.batch()
    stream.put_many(B, 3)
    while not (read := query.batch()):
        pass
    assert {shard_id for shard_id, _ in read} == {B}
    assert query.planner.lag_ms()["orders"][A] >= 1000 * LONG_S
    assert query.planner.lag_ms()["orders"][B] == 0


def test_one_refusal_is_no_lag(caplog: pytest.LogCaptureFixture) -> None:
    """A shard that was refused once, and is not read for long after it, has no lag that grows."""
    stream = scripted_stream(1)
    stream.put_many(A, 5, 0.1)
    query = Planned([stream])
    query.batch()
    stream.put_many(A, 5, 0.1)
    stream.fail("GetRecords", A, [throttle()])
    assert query.batch() == []
    stream.clock.sleep(60 * LONG_S)
    assert query.planner.lag_ms()["orders"][A] == 0
    assert warnings(caplog) == []


def test_a_shard_that_is_gone_has_no_lag() -> None:
    """Refusals of a shard that has left the stream count no longer."""
    stream = scripted_stream(2)
    query = Planned([stream], settings=PlanSettings(fail_on_data_loss=False))
    query.batch()
    gone = StreamNotFoundError("Not found.", "ResourceNotFoundException")
    stream.fail("GetRecords", A, [*(throttle() for _ in range(30)), gone])
    lags_ms = []
    while A not in query.start.streams["orders"].finished():
        lags_ms.append(query.planner.lag_ms()["orders"].get(A, 0))
        query.batch()
    assert lags_ms[-1] > 1000 * LONG_S
    assert A not in query.planner.lag_ms()["orders"]
