from __future__ import annotations

import random

import pytest

from kinesis_core.producing.write_window import ShardPace

NOW = 1_000.0


@pytest.fixture
def pace() -> ShardPace:
    return ShardPace(longest_window_s=7.5)


def test_a_new_shard_may_be_asked_for_a_second_of_its_quota(pace: ShardPace) -> None:
    """A shard takes 1,000 records and 1 MiB a second."""
    assert (pace.window_records, pace.window_bytes) == (1_000, 1024 * 1024)


def test_the_window_grows_with_what_is_taken(pace: ShardPace) -> None:
    """What the shard took without a refusal is added, up to the bound; small records count by number."""
    pace.accepted(500, 100)
    assert pace.window_s == 1.5
    pace.accepted(1, 1024 * 1024)
    assert pace.window_s == 2.5
    for _ in range(20):
        pace.accepted(1_000, 100)
    assert pace.window_s == 7.5


def test_a_throttle_halves_the_window_and_makes_growth_slower(pace: ShardPace) -> None:
    """A shard that refused is asked for less, carefully for more, but always for something."""
    pace.throttled(NOW, random.Random(0))
    assert pace.window_s == 0.5
    pace.accepted(400, 100)
    assert pace.window_s == pytest.approx(0.6)
    for _ in range(30):
        pace.throttled(NOW, random.Random(0))
    assert pace.window_records == 20


def test_rests_grow_with_jitter_up_to_two_seconds(pace: ShardPace) -> None:
    """Each refusal in a row doubles the longest rest; the jitter takes up to half of it away."""
    rng = random.Random(0)
    for longest_s in (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0):
        pace.rests_until_s = 0.0
        pace.failed(NOW, rng)
        assert longest_s / 2 <= pace.rests_until_s - NOW <= longest_s
    pace.accepted(1, 1)
    pace.rests_until_s = 0.0
    pace.failed(NOW, rng)
    assert pace.rests_until_s - NOW <= 0.05


def test_a_failure_that_is_no_throttle_leaves_the_window(pace: ShardPace) -> None:
    """An internal error says nothing about the shard's quota."""
    pace.failed(NOW, random.Random(0))
    assert pace.window_s == 1.0
