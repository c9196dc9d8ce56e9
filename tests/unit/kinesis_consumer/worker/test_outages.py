"""What the log tells while a store is down, and how often a worker tries again."""

from __future__ import annotations

import random

import pytest

from kinesis_consumer.worker.outages import Outage, Periodic, RenewalLog
from kinesis_core import AccessDeniedError, ServiceError, UnavailableError
from support.fake_stream import FakeClock

ERROR = UnavailableError("It fails.", "InternalServerError")


def recoveries(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [text for text in caplog.messages if text.startswith("coordination.recovered")]


def test_failures_have_a_line_each_minute(caplog: pytest.LogCaptureFixture) -> None:
    """The first failure has one at once. Each later line counts the failures since the one before."""
    caplog.set_level("INFO", "kinesis_consumer")
    outage = Outage("assignment")
    lines = {second: outage.failed(second) for second in range(150)}
    assert {second: count for second, count in lines.items() if count} == {0: 1, 60: 60, 120: 60}
    outage.succeeded(150)
    outage.succeeded(151)
    assert recoveries(caplog) == ["coordination.recovered task=assignment failures=150 failed_s=150"]


def test_a_store_that_fails_now_and_then_has_few_lines(caplog: pytest.LogCaptureFixture) -> None:
    """A success in between does not make further lines: at most a failure and a recovery each minute."""
    caplog.set_level("INFO", "kinesis_consumer")
    outage, failed = Outage("assignment"), []
    for second in range(0, 180, 2):
        if (failures := outage.failed(second)) is not None:
            failed.append((second, failures))
        outage.succeeded(second + 1)
    assert failed == [(0, 1), (60, 30), (120, 30)]
    assert recoveries(caplog) == [
        f"coordination.recovered task=assignment failures={failures} failed_s=1" for failures in (1, 30, 30)
    ]


class Task:
    """A task that fails until some time."""

    def __init__(self, error: ServiceError = ERROR) -> None:
        self.clock, self.error = FakeClock(), error
        self.began_s = self.clock.now
        self.well_s = 0.0
        self.ran_s: list[float] = []

    def run(self) -> float:
        self.ran_s.append(self.clock.now - self.began_s)
        if self.ran_s[-1] < self.well_s:
            raise self.error
        return 5.0

    def periodic(self, **more: float) -> Periodic:
        return Periodic("assignment", self.run, self.clock, random.Random(1), **more)

    def pauses(self) -> list[float]:
        return [later - earlier for earlier, later in zip(self.ran_s, self.ran_s[1:], strict=False)]


def advance(periodic: Periodic, task: Task, seconds: float) -> None:
    until_s = task.clock.now + seconds
    while task.clock.now < until_s:
        periodic.step()
        task.clock.now = max(periodic.due_s, task.clock.now + 0.001)


def test_a_task_that_fails_waits_longer_and_longer(caplog: pytest.LogCaptureFixture) -> None:
    """Its pauses grow from 1 to 15 seconds, by chance some shorter. An outage of ten minutes has eleven lines, and one at its end."""
    caplog.set_level("INFO", "kinesis_consumer")
    task = Task()
    task.well_s = 600
    periodic = task.periodic()
    advance(periodic, task, 630)
    failing = [pause for pause, ran_s in zip(task.pauses(), task.ran_s, strict=False) if ran_s < 600]
    for pause, longest in zip(failing, [1, 2, 4, 8, *[15] * 100], strict=False):
        assert 0.8 * longest <= pause <= longest
    assert len(set(failing)) == len(failing)
    assert task.pauses()[-1] == 5.0
    failed = [text for text in caplog.messages if text.startswith("coordination.failed")]
    assert 9 <= len(failed) <= 11
    assert failed[0].endswith("task=assignment code=InternalServerError reason=It fails. failures=1")
    (recovered,) = recoveries(caplog)
    assert f"task=assignment failures={len(failing)} failed_s=" in recovered


def test_a_task_may_be_urgent() -> None:
    """Its pauses do not grow beyond a limit of its own: a leader's lock is lost otherwise."""
    task = Task()
    task.well_s = 60
    periodic = task.periodic(longest_retry_s=2.5)
    advance(periodic, task, 59)
    assert max(task.pauses()) <= 2.5


def test_an_error_for_good_is_raised() -> None:
    """Trying again does not help."""
    task = Task(AccessDeniedError("Allow it."))
    task.well_s = 1
    with pytest.raises(AccessDeniedError):
        task.periodic().step()


def test_renewals_have_one_line_for_all_leases(caplog: pytest.LogCaptureFixture) -> None:
    """It has the number of leases that failed since the last one. A pass in which a lease fails is no recovery."""
    caplog.set_level("INFO", "kinesis_consumer")
    renewals, clock = RenewalLog(), FakeClock()
    for _ in range(61):
        renewals.note([*((f"shardId-{lease}", ERROR) for lease in range(12)), ("shardId-12", None)], clock)
        clock.sleep(1)
    renewals.note([], clock)
    clock.sleep(1)
    renewals.note([("shardId-12", None)], clock)
    facts = "code=InternalServerError reason=It fails. failures"
    assert caplog.messages == [
        f"renewal.failed leases=1 lease=shardId-0 {facts}=1",
        f"renewal.failed leases=12 lease=shardId-0 {facts}=720",
        "coordination.recovered task=renewal failures=732 failed_s=62",
    ]
