from __future__ import annotations

import random

import pytest

from kinesis_core.producing.write_window import WriteWindow

NOW = 1_000.0


@pytest.fixture
def limiter() -> WriteWindow:
    return WriteWindow(longest_window_s=7.5)


def test_a_new_shard_may_be_asked_for_a_second_of_its_quota(limiter: WriteWindow) -> None:
    """A shard takes 1,000 records and 1 MiB a second."""
    assert (limiter.window_records, limiter.window_bytes) == (1_000, 1024 * 1024)


def test_the_window_grows_with_what_is_taken(limiter: WriteWindow) -> None:
    """What the shard took without a refusal is added, up to the bound; small records count by number."""
    limiter.accepted(500, 100)
    assert limiter.window_s == 1.5
    limiter.accepted(1, 1024 * 1024)
    assert limiter.window_s == 2.5
    for _ in range(20):
        limiter.accepted(1_000, 100)
    assert limiter.window_s == 7.5


def test_a_throttle_halves_the_window_and_makes_growth_slower(limiter: WriteWindow) -> None:
    """A shard that refused is asked for less, carefully for more, but always for something."""
    limiter.throttled(NOW, random.Random(0))
    assert limiter.window_s == 0.5
    limiter.accepted(400, 100)
    assert limiter.window_s == pytest.approx(0.6)
    for _ in range(30):
        limiter.throttled(NOW, random.Random(0))
    assert limiter.window_records == 20


def test_rests_grow_with_jitter_up_to_two_seconds(limiter: WriteWindow) -> None:
    """Each refusal in a row doubles the longest rest; the jitter takes up to half of it away."""
    rng = random.Random(0)
    for longest_s in (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0):
        limiter.rests_until_s = 0.0
        limiter.failed(NOW, rng)
        assert longest_s / 2 <= limiter.rests_until_s - NOW <= longest_s
    limiter.accepted(1, 1)
    limiter.rests_until_s = 0.0
    limiter.failed(NOW, rng)
    assert limiter.rests_until_s - NOW <= 0.05


def test_a_failure_that_is_no_throttle_leaves_the_window(limiter: WriteWindow) -> None:
    """An internal error says nothing about the shard's quota."""
    limiter.failed(NOW, random.Random(0))
    assert limiter.window_s == 1.0
