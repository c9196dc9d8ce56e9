"""Records that expire between two pages of one range: a task never skips them silently."""

from __future__ import annotations

import random
from collections.abc import Generator

import pytest
from attrs import define

from kinesis_core.clock import Clock
from kinesis_core.errors import DataLossError, IteratorExpiredError, StreamNotFoundError
from kinesis_core.model import After, At, Page, Record, ShardEnd, ShardRange
from kinesis_core.model.cuts import EndCut
from kinesis_core.reading import FanOutSettings, PollingRangeReader, ReadSettings
from kinesis_core.reading.fan_out import FanOutRangeReader
from support.fake_stream import Mood
from support.fake_subscriptions import Subscriptions, Trouble, cut_connection
from support.one_shard import OneShard
from support.scripted_stream import throttle

HOUR_S = 3600
RECORDS, PAGE = 40, 10


def aged(hours: float, *, every_s: float = 1.0, mood: Mood | None = None) -> OneShard:
    """Return a shard whose oldest record arrived *hours* ago."""
    one = OneShard(mood or Mood())
    one.put(RECORDS, every_s)
    one.stream.clock.sleep(hours * HOUR_S - RECORDS * every_s)
    return one


def whole(one: OneShard, end: EndCut | None = None, hours: int = 24) -> ShardRange:
    last = After(one.records[-1].number)
    return ShardRange("orders", one.shard_id, At(one.records[0].number), end or last, hours)


@define
class Reading:
    """How a range is read: by polling, or through subscriptions that end after each event."""

    by_subscription: bool
    fails: bool = True

    def pages(self, one: OneShard, shard_range: ShardRange) -> Generator[Page, None, None]:
        clock: Clock = one.stream.clock
        settings = ReadSettings(max_records_per_fetch=PAGE, fail_on_data_loss=self.fails)
        polling = PollingRangeReader(lambda _: one.stream, settings, random.Random(0))
        if not self.by_subscription:
            return polling.read(shard_range, clock)
        troubles = [Trouble(1, cut_connection()) for _ in range(20)]
        subscriptions = Subscriptions(one.stream, records_per_event=PAGE, troubles=troubles)
        settings_of = FanOutSettings(fallback_to_polling=False)
        return FanOutRangeReader(lambda _: subscriptions, polling, settings_of, random.Random(0)).read(
            shard_range, clock
        )

    def records(self, one: OneShard, shard_range: ShardRange, trims: dict[int, int]) -> list[Record]:
        """Return the records of a range. After the page with the index in *trims*, so many records expire."""
        found: list[Record] = []
        for i, page in enumerate(self.pages(one, shard_range)):
            found += page.records
            if i in trims:
                one.stream.trim(one.shard_id, trims[i])
        return found


both = pytest.mark.parametrize("by_subscription", [False, True])
ends = pytest.mark.parametrize("is_closed", [False, True])


def close(one: OneShard) -> ShardEnd:
    one.stream.split(one.shard_id)
    return ShardEnd()


@both
@ends
@pytest.mark.parametrize("age_hours", [23.9, 48.0])
def test_what_leaves_between_two_pages_is_reported(
    by_subscription: bool, is_closed: bool, age_hours: float
) -> None:
    """Records that expire after the first page are an error, near the retention or older, whatever ends the range."""
    one = aged(age_hours)
    shard_range = whole(one, close(one) if is_closed else None)
    with pytest.raises(DataLossError, match=f"{one.shard_id} .*may be lost.*fail_on_data_loss=False"):
        Reading(by_subscription).records(one, shard_range, {0: 25})


@both
@ends
def test_a_retention_that_is_lowered_while_a_range_is_read(by_subscription: bool, is_closed: bool) -> None:
    """A task with a planned retention of seven days detects a new retention of one day before it ends."""
    one = aged(100)
    shard_range = whole(one, close(one) if is_closed else None, hours=168)
    with pytest.raises(DataLossError, match=r"may be lost \(retention 168 h\)"):
        Reading(by_subscription).records(one, shard_range, {1: 32})


@both
def test_all_that_is_left_of_a_closed_shard_leaves(by_subscription: bool) -> None:
    """A shard's end that comes at once, because no record is left before it, is not the end of the range."""
    one = aged(23.9)
    shard_range = whole(one, close(one))
    with pytest.raises(DataLossError, match="may be lost"):
        Reading(by_subscription).records(one, shard_range, {0: RECORDS})
    with pytest.raises(DataLossError, match=r"records from AT .* expired.*no record is left"):
        Reading(by_subscription).records(one, shard_range, {})


@both
def test_a_shard_that_is_gone_when_it_is_checked(by_subscription: bool) -> None:
    """Its records went with it: nobody knows whether all of the range were read before."""
    gone = StreamNotFoundError("Shard does not exist", "ResourceNotFoundException")
    one = aged(100)
    if by_subscription:
        one.stream.fail("GetShardIterator", one.shard_id, [gone])
    else:
        one.stream.fail_after_next("GetShardIterator", one.shard_id, "GetShardIterator", gone)
    with pytest.raises(DataLossError, match=r"may be lost \(retention 168 h\)"):
        Reading(by_subscription).records(one, whole(one, hours=168), {})


@both
@ends
def test_what_is_left_is_read_when_loss_is_allowed(
    by_subscription: bool, is_closed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """With fail_on_data_loss=False the records left of the range come once and in order, and the loss is logged."""
    one = aged(23.9)
    shard_range = whole(one, close(one) if is_closed else None)
    found = Reading(by_subscription, fails=False).records(one, shard_range, {0: 25})
    assert found == one.records[:PAGE] + one.records[25:]
    assert caplog.text.count("data.lost") == 1


@both
@ends
def test_records_that_expire_after_delivery_are_no_loss(by_subscription: bool, is_closed: bool) -> None:
    """Delivered records may expire at once: a reader near the end of the retention continues while it is ahead of it."""
    one = aged(23.9)
    shard_range = whole(one, close(one) if is_closed else None)
    trims = {0: PAGE - 1, 1: 2 * PAGE - 1, 2: 3 * PAGE - 1}
    assert Reading(by_subscription).records(one, shard_range, trims) == one.records


@both
def test_a_recent_range_costs_no_check(by_subscription: bool) -> None:
    """When no record can have expired, there is no check: every stream keeps its records for 24 hours at least."""
    one = aged(23.0)
    list(Reading(by_subscription).pages(one, whole(one)))
    calls = one.calls()
    assert calls.count("GetShardIterator") == (0 if by_subscription else 1)


def test_a_range_far_from_its_retention_costs_one_check() -> None:
    """A range older than 24 hours in a stream with a longer retention is checked once, at its end."""
    one = aged(100)
    assert [
        r for page in Reading(False).pages(one, whole(one, hours=168)) for r in page.records
    ] == one.records
    assert one.calls().count("GetShardIterator") == 2


@pytest.mark.parametrize("seed", range(20))
def test_a_check_among_failures(seed: int) -> None:
    """Throttles, expired iterators and empty pages do not change the result of a check."""
    one = aged(23.9, mood=Mood(throttles=20, empty_pages=30, expiries=20))
    one.stream.rng = random.Random(seed)
    found = Reading(False).records(one, whole(one), {0: PAGE - 1, 1: 2 * PAGE - 1})
    assert found == one.records
    one.stream.trim(one.shard_id, 0)
    with pytest.raises(DataLossError):
        Reading(False).records(one, whole(one), {0: 25, 1: 26, 2: 27, 3: 28})


def test_a_throttled_check_is_repeated() -> None:
    """A throttle or an expired iterator during the check is neither a loss nor a proof."""
    one = aged(23.9)
    pages = Reading(False).pages(one, whole(one))
    next(pages)
    one.stream.fail_after_next("GetRecords", one.shard_id, "GetRecords", throttle())
    expired = IteratorExpiredError("Iterator expired", "ExpiredIteratorException")
    one.stream.fail_after_next("GetShardIterator", one.shard_id, "GetRecords", expired)
    assert [r for page in pages for r in page.records] == one.records[PAGE:]


def test_records_without_an_arrival_time_are_proven_at_the_end() -> None:
    """Records of unknown age are checked once, at the end of the range."""
    one = aged(0.1)
    for record in one.records:
        record.arrived_s = None
    with pytest.raises(DataLossError, match="may be lost"):
        Reading(False).records(one, whole(one), {0: 25})
