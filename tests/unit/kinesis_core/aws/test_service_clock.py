from __future__ import annotations

from email.utils import formatdate

import pytest

from kinesis_core.aws.service_clock import ServiceClock
from support.fake_stream import FakeClock

NOW_S = 1_790_000_000.0


def heard(service_s: float) -> str:
    """Return the Date header of an answer at that time of the service's clock."""
    return formatdate(service_s, usegmt=True)


def test_before_any_response_the_service_is_taken_to_be_behind() -> None:
    """Nothing being known, the service's clock is assumed 2 s behind ours."""
    assert ServiceClock(FakeClock(NOW_S)).now_ms() == NOW_S * 1000 - 2000


@pytest.mark.parametrize("skew_s", [-600.0, -1.7, 0.0, 0.4, 600.0])
def test_responses_narrow_it_down(skew_s: float) -> None:
    """Some seconds of answers tell the service's clock to a fraction of a second, however wrong ours is."""
    clock = FakeClock(NOW_S)
    service = ServiceClock(clock)
    for _ in range(20):
        clock.sleep(0.17)
        service.note(heard(clock.now + skew_s))
    behind_ms = (clock.now + skew_s) * 1000 - service.now_ms()
    assert 0 <= behind_ms <= 171


@pytest.mark.parametrize("date", [None, "", "yesterday", "Sat, 99 Nov 2026 01:13:43 GMT", "\x00"])
def test_a_damaged_date_says_nothing(date: str | None) -> None:
    """A missing or malformed header changes nothing."""
    service = ServiceClock(FakeClock(NOW_S))
    service.note(date)
    assert service.now_ms() == NOW_S * 1000 - 2000


@pytest.mark.parametrize("step_s", [0.5, 1.0, 2.0, 2.9, 5.0])
def test_a_small_step_forward_is_noticed_with_a_refusal(step_s: float) -> None:
    """What was learned before our own clock was set forward by little is forgotten when a request was refused."""
    clock = FakeClock(NOW_S)
    service = ServiceClock(clock)
    for _ in range(30):
        clock.sleep(0.1)
        service.note(heard(clock.now))
    service_s = clock.now
    clock.now += step_s
    service.forget()
    service.note(heard(service_s))
    assert service_s * 1000 - 1000 <= service.now_ms() <= service_s * 1000


def test_a_clock_that_is_set_forward_is_noticed_with_the_next_response() -> None:
    """What was learned before our own clock was set forward is forgotten, not believed for 64 answers more."""
    clock = FakeClock(NOW_S)
    service = ServiceClock(clock)
    for _ in range(30):
        clock.sleep(0.1)
        service.note(heard(clock.now + 300))
    clock.now += 300  # as after a suspended machine has heard from its time server
    service.note(heard(clock.now))
    assert service.now_ms() <= clock.now * 1000
