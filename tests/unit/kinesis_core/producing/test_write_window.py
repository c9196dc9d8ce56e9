from __future__ import annotations

import random

import pytest

from kinesis_core.producing.write_window import Patience, WriteWindow

NOW = 1_000.0


RNG = random.Random(0)


@pytest.fixture
def window() -> WriteWindow:
    return WriteWindow()


def test_the_first_window_is_a_second_of_the_quota(window: WriteWindow) -> None:
    """The first window is a second of the quota, 1,000 records and 1 MiB, and one request may have all of it."""
    assert (window.window_records, window.window_bytes) == (1_000, 1024 * 1024)
    assert (window.request_records, window.request_bytes) == (1_000, 1024 * 1024)


def test_the_window_grows_with_what_is_accepted(window: WriteWindow) -> None:
    """Until the first throttle, the window grows by what the shard accepted. Small records count by number."""
    window.accepted(500, 100, RNG)
    assert window.window_s == 1.5
    window.accepted(1, 1024 * 1024, RNG)
    assert window.window_s == 2.5
    for _ in range(20):
        window.accepted(1_000, 100, RNG)
    assert (window.window_s, window.rests_until_s) == (7.5, 0.0)


def test_a_throttle_reduces_the_rate(window: WriteWindow) -> None:
    """From a throttle on, a request has a quarter of the window. A request that was accepted in part costs less."""
    window.throttled(0, 0, 400, NOW, RNG)
    assert (window.window_s, window.request_records) == (0.75, 187)
    window.throttled(99, 99, 1, NOW + 1, RNG)
    assert window.window_s == pytest.approx(0.75 * 0.948)
    for second in range(30):
        window.throttled(0, 0, 1, NOW + 2 + second, RNG)
    assert (window.window_records, window.request_records) == (20, 5)


def test_throttles_of_a_second_count_once(window: WriteWindow) -> None:
    """Responses to requests that were in flight at once reduce the rate once."""
    for tenth in range(10):
        window.throttled(0, 0, 400, NOW + tenth / 10, RNG)
    assert window.window_s == 0.75


def test_the_rate_grows_equally_fast_for_everyone(window: WriteWindow) -> None:
    """A producer that sends at its rate gains a tenth of the quota in a second, whatever its rate is."""
    for rate_s in (0.05, 0.5):
        window.throttled(0, 0, 1, NOW, RNG)
        window.window_s = rate_s
        for _ in range(10):
            window.accepted(int(window.window_s * 100), 1, RNG)  # what it sends in a tenth of a second
        assert window.window_s == pytest.approx(rate_s + 0.1, rel=0.02)


def test_a_producer_keeps_to_its_rate(window: WriteWindow) -> None:
    """
    Requests rest for as long as their records take at the rate, counted from when they are sent, with jitter of a half, and
    for one second and a half at most.
    """
    window.throttled(0, 0, 1, NOW, RNG)
    for rate_s, rest_s in ((0.5, 0.1), (0.1, 0.5), (0.02, 1.0)):
        window.window_s, window.rests_until_s, window.sent_s = rate_s, 0.0, NOW
        window.accepted(50, 1, RNG)
        assert rest_s / 2 <= window.rests_until_s - NOW <= 1.5 * rest_s


def test_rests_grow_with_jitter_up_to_two_seconds(window: WriteWindow) -> None:
    """Each failure in a row doubles the longest rest, and jitter shortens it by up to a half."""
    rng = random.Random(0)
    for longest_s in (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0):
        window.rests_until_s = 0.0
        window.failed(NOW, rng)
        assert longest_s / 2 <= window.rests_until_s - NOW <= longest_s
    window.accepted(1, 1, rng)
    window.rests_until_s = 0.0
    window.failed(NOW, rng)
    assert window.rests_until_s - NOW <= 0.05


def test_a_failure_that_is_no_throttle_leaves_the_window(window: WriteWindow) -> None:
    """An internal error does not change the window."""
    window.failed(NOW, random.Random(0))
    assert window.window_s == 1.0


def attempts(patience: Patience, every_s: float, *, is_throttled: bool = False) -> float:
    """Fail until the patience is over, and return after how many seconds that is."""
    now_s = began_s = 1_000.0
    patience.failed(now_s, is_throttled=is_throttled)
    while not patience.is_over:
        now_s += every_s
        patience.failed(now_s, is_throttled=is_throttled)
    return now_s - began_s


@pytest.mark.parametrize("every_s", [0.5, 2.0, 15.0])
def test_failures_end_after_the_ttl(every_s: float) -> None:
    """Failures without a success end after the TTL. Before the first attempt, nothing is over."""
    patience = Patience(30)
    assert not patience.is_over
    assert 30 <= attempts(patience, every_s) < 30 + every_s


def test_throttles_end_after_twenty_times_the_ttl() -> None:
    """A throttle shows that the shard works, so throttles are waited out for longer."""
    assert attempts(Patience(30), 1.0, is_throttled=True) == 600


def test_a_success_starts_anew() -> None:
    """The time counts from the last success."""
    patience = Patience(30)
    for second in range(29):
        patience.failed(second)
    patience.succeeded()
    assert 30 <= attempts(patience, 1.0) < 31


def test_a_throttle_ends_an_outage() -> None:
    """Failures before and after a throttle are two outages."""
    patience = Patience(30)
    for second in range(0, 58, 2):
        patience.failed(second, is_throttled=second == 28)
    assert not patience.is_over
    patience.failed(58)
    assert patience.is_over


def test_a_process_that_stands_still_does_not_fail() -> None:
    """An hour between two attempts counts as half the TTL: a process that was stopped has not tried for an hour."""
    patience = Patience(30)
    patience.failed(0)
    patience.failed(3_600)
    assert not patience.is_over
    patience.failed(7_200)
    assert patience.is_over


def test_no_patience_is_over_at_the_first_failure() -> None:
    """With a TTL of 0 there is one attempt."""
    patience = Patience(0)
    patience.failed(0)
    assert patience.is_over
