"""The service's clock, learned from Date headers."""

from __future__ import annotations

from email.utils import formatdate

import pytest

from kinesis_core.aws.calls import ServiceClock
from support.fake_stream import FakeClock

NOW_S = 1_790_000_000.0


def date_header(service_s: float) -> str:
    """Return the Date header of a response at *service_s* of the service's clock."""
    return formatdate(service_s, usegmt=True)


@pytest.mark.parametrize("skew_s", [-600.0, -1.7, 0.0, 0.4, 600.0])
def test_responses_narrow_the_bound(skew_s: float) -> None:
    """Responses over some seconds fix the service's clock to a fraction of a second, however wrong ours is."""
    clock = FakeClock(NOW_S)
    service = ServiceClock(clock)
    for _ in range(20):
        clock.sleep(0.17)
        service.note(date_header(clock.now + skew_s))
    behind_ms = (clock.now + skew_s) * 1000 - service.now_ms()
    assert 0 <= behind_ms <= 171


@pytest.mark.parametrize("date", [None, "", "yesterday", "Sat, 99 Nov 2026 01:13:43 GMT", "\x00"])
def test_a_malformed_date_is_ignored(date: str | None) -> None:
    """A missing or malformed header changes nothing."""
    service = ServiceClock(FakeClock(NOW_S))
    service.note(date)
    assert service.now_ms() == NOW_S * 1000 - 2000


def test_a_clock_that_is_set_forward_is_noticed_with_the_next_response() -> None:
    """After the local clock is set forward, the next response replaces the earlier headers, not only the 64th."""
    clock = FakeClock(NOW_S)
    service = ServiceClock(clock)
    for _ in range(30):
        clock.sleep(0.1)
        service.note(date_header(clock.now + 300))
    clock.now += 300  # as when a suspended machine resumes and sets its clock
    service.note(date_header(clock.now))
    assert service.now_ms() <= clock.now * 1000
