from __future__ import annotations

import random

import pytest

from kinesis_core.producing.write_window import WriteWindow

NOW = 1_000.0


@pytest.fixture
def window() -> WriteWindow:
    return WriteWindow(longest_window_s=7.5)


def test_the_first_window_is_a_second_of_the_quota(window: WriteWindow) -> None:
    """The first window is a second of the quota: 1,000 records and 1 MiB."""
    assert (window.window_records, window.window_bytes) == (1_000, 1024 * 1024)


def test_the_window_grows_with_what_is_accepted(window: WriteWindow) -> None:
    """The window grows by what the shard accepted, up to its bound. Small records count by number."""
    window.accepted(500, 100)
    assert window.window_s == 1.5
    window.accepted(1, 1024 * 1024)
    assert window.window_s == 2.5
    for _ in range(20):
        window.accepted(1_000, 100)
    assert window.window_s == 7.5


def test_a_throttle_halves_the_window_and_makes_growth_slower(window: WriteWindow) -> None:
    """A throttle halves the window and slows its growth, down to a smallest window."""
    window.throttled(NOW, random.Random(0))
    assert window.window_s == 0.5
    window.accepted(400, 100)
    assert window.window_s == pytest.approx(0.6)
    for _ in range(30):
        window.throttled(NOW, random.Random(0))
    assert window.window_records == 20


def test_rests_grow_with_jitter_up_to_two_seconds(window: WriteWindow) -> None:
    """Each failure in a row doubles the longest rest, and jitter shortens it by up to a half."""
    rng = random.Random(0)
    for longest_s in (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0):
        window.rests_until_s = 0.0
        window.failed(NOW, rng)
        assert longest_s / 2 <= window.rests_until_s - NOW <= longest_s
    window.accepted(1, 1)
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
