"""Where a read that conditions narrow starts and ends, and which ranges it has."""

from __future__ import annotations

from kinesis_core.model import At, AtTimestamp, Latest, PerShard, PerStream, ShardEnd, ShardRange, TrimHorizon
from kinesis_core.planning import Wanted
from kinesis_core.shards import MARGIN_MS

DAY_MS = 86_400_000
NOW_MS = 100 * DAY_MS


def test_starts() -> None:
    """The oldest record and earlier times give way to a later time. Other positions stay."""
    wanted, from_ms = Wanted(since_ms=NOW_MS - 3_600_000), NOW_MS - DAY_MS
    since = AtTimestamp(NOW_MS - 3_600_000 - MARGIN_MS)
    by_shard = PerShard({"a": TrimHorizon()})
    for start, expected in (
        (TrimHorizon(), since),
        (AtTimestamp(0), since),
        (AtTimestamp(NOW_MS - 5), AtTimestamp(NOW_MS - 5)),
        (Latest(), Latest()),
        (by_shard, by_shard),
        (PerStream({"a": TrimHorizon(), "b": Latest()}), PerStream({"a": since, "b": Latest()})),
    ):
        assert wanted.start(start, from_ms, NOW_MS) == expected


def test_a_condition_never_decides_about_expired_records() -> None:
    """If records since its time may have expired, the start of the read stays, with the error that it has."""
    expired = Wanted(since_ms=NOW_MS - DAY_MS + MARGIN_MS - 1)
    for start in (TrimHorizon(), AtTimestamp(0)):
        assert expired.start(start, NOW_MS - DAY_MS, NOW_MS) == start


def test_times_to_come() -> None:
    """Kinesis refuses times in the future. A start there is now, and an end there is no end."""
    future = Wanted(since_ms=NOW_MS + DAY_MS, until_ms=NOW_MS + 2 * DAY_MS)
    assert future.start(TrimHorizon(), 0, NOW_MS) == AtTimestamp(NOW_MS - MARGIN_MS)
    assert future.end(Latest(), NOW_MS) == Latest()


def test_ends() -> None:
    """LATEST and later times give way to an earlier time. Other positions stay."""
    wanted, until = Wanted(until_ms=NOW_MS - DAY_MS), AtTimestamp(NOW_MS - DAY_MS + MARGIN_MS)
    by_shard = PerShard({"a": Latest()})
    for end, expected in (
        (Latest(), until),
        (AtTimestamp(NOW_MS), until),
        (AtTimestamp(5), AtTimestamp(5)),
        (by_shard, by_shard),
    ):
        assert wanted.end(end, NOW_MS) == expected


def test_ranges() -> None:
    """Ranges of other shards and streams are left out. A stream is known by its name, even if it was given by its ARN."""
    ranges = [ShardRange(stream, shard, At(1), ShardEnd()) for stream in ("arn", "y") for shard in "ab"]
    names = {"arn": "x", "y": "y"}
    assert Wanted(streams=frozenset("x")).groups([tuple(ranges)], names) == [tuple(ranges[:2])]
    assert Wanted(shards=frozenset("b")).groups([(r,) for r in ranges], names) == [(ranges[1],), (ranges[3],)]
