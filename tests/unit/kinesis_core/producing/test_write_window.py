from __future__ import annotations

import random

import pytest

from kinesis_core.producing.write_window import WriteWindow

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


def test_a_shard_may_refuse_all_day(window: WriteWindow) -> None:
    """The rest stays at its limit, however many failures there were."""
    rng = random.Random(0)
    for second in range(5000):
        window.failed(NOW + second, rng)
    assert 1.0 <= window.rests_until_s - (NOW + 4999) <= 2.0


def test_a_failure_that_is_no_throttle_leaves_the_window(window: WriteWindow) -> None:
    """An internal error does not change the window."""
    window.failed(NOW, random.Random(0))
    assert window.window_s == 1.0
