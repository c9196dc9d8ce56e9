"""The bound of the service's clock that its responses give: it is never ahead of the service."""

from __future__ import annotations

from email.utils import formatdate

from hypothesis import given, strategies as st

from kinesis_core.aws.calls import ServiceClock
from support.fake_stream import FakeClock


def seconds(low: int, high: int) -> st.SearchStrategy[float]:
    """Return times that floats add exactly, so that the test's rounding errors do not count as the clock's."""
    return st.integers(1024 * low, 1024 * high).map(lambda parts: parts / 1024)


pauses = seconds(0, 30)


@given(
    seconds(-600, 600),
    st.lists(st.tuples(pauses, seconds(0, 10), seconds(0, 10)), min_size=1, max_size=100),
    pauses,
)
def test_it_is_never_ahead_of_the_service(
    skew_s: float, responses: list[tuple[float, float, float]], idle_s: float
) -> None:
    """However wrong our clock and slow the responses are, the bound is behind the service, by at most a call's length."""
    clock = FakeClock()
    service = ServiceClock(clock)
    for pause_s, there_s, back_s in responses:
        clock.sleep(pause_s + there_s)
        date = formatdate(clock.now + skew_s, usegmt=True)
        clock.sleep(back_s)
        service.note(date)
        behind_ms = (clock.now + skew_s) * 1000 - service.now_ms()
        assert 0 <= behind_ms <= 1000 * back_s + 1001
    clock.sleep(idle_s)
    assert service.now_ms() <= (clock.now + skew_s) * 1000


@given(
    seconds(-600, 600),
    st.lists(st.tuples(pauses, seconds(0, 10)), max_size=70),
    seconds(0, 600),
    seconds(0, 10),
)
def test_a_refusal_corrects_the_bound(
    skew_s: float, responses: list[tuple[float, float]], step_s: float, back_s: float
) -> None:
    """However far our clock is set forward, the bound is behind the service again after a refusal."""
    clock = FakeClock()
    service = ServiceClock(clock)
    for pause_s, late_s in responses:
        clock.sleep(pause_s)
        date = formatdate(clock.now + skew_s, usegmt=True)
        clock.sleep(late_s)
        service.note(date)
    clock.now += step_s
    date = formatdate(clock.now + skew_s - step_s, usegmt=True)
    clock.sleep(back_s)
    service.forget()
    service.note(date)
    behind_ms = (clock.now + skew_s - step_s) * 1000 - service.now_ms()
    assert 0 <= behind_ms <= 1000 * back_s + 1001
