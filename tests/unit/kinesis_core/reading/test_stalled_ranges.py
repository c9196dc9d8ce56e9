"""Ranges of shards that bring nothing for a while: a task waits, says so, and loses and repeats nothing."""

from __future__ import annotations

import random
from collections.abc import Generator

import pytest
from attrs import define

from kinesis_core.errors import DataLossError, UnavailableError
from kinesis_core.model import After, At, Page, Record, ShardRange
from kinesis_core.reading import FanOutSettings, PollingRangeReader, ReadSettings
from kinesis_core.reading.fan_out import FanOutRangeReader
from kinesis_core.shards import LONGEST_S
from support.fake_subscriptions import Subscriptions
from support.one_shard import OneShard

HOUR_S = 3600
RECORDS, PAGE = 40, 10
STALL_S = 300


@pytest.fixture
def one() -> OneShard:
    made = OneShard()
    made.put(RECORDS, 0.01)
    return made


@define
class Reading:
    """How a range is read: by polling, by subscription, or by subscription with polling where that fails."""

    by_subscription: bool = False
    falls_back: bool = False
    fails: bool = True

    def pages(self, one: OneShard, shard_range: ShardRange | None = None) -> Generator[Page, None, None]:
        shard_range = shard_range or whole(one)
        settings = ReadSettings(max_records_per_fetch=PAGE, fail_on_data_loss=self.fails)
        polling = PollingRangeReader(lambda _: one.stream, settings, random.Random(0))
        if not self.by_subscription:
            return polling.read(shard_range, one.stream.clock)
        subscriptions = Subscriptions(one.stream, records_per_event=PAGE)
        fan_out = FanOutSettings(fallback_to_polling=self.falls_back)
        ranges = FanOutRangeReader(lambda _: subscriptions, polling, fan_out, random.Random(0))
        return ranges.read(shard_range, one.stream.clock)

    def records(self, one: OneShard, stall_after: int, stall_s: float = STALL_S) -> list[Record]:
        """Return the records of all pages. The shard stalls after so many of these."""
        found: list[Record] = []
        if stall_after == 0:
            one.stream.stall(one.shard_id, stall_s)
        for i, page in enumerate(self.pages(one), 1):
            found += page.records
            if i == stall_after:
                one.stream.stall(one.shard_id, stall_s)
        return found


def whole(one: OneShard, hours: int = 24) -> ShardRange:
    first, last = one.records[0].number, one.records[RECORDS - 1].number
    return ShardRange("orders", one.shard_id, At(first), After(last), hours)


every_way = pytest.mark.parametrize(
    "reading",
    [
        Reading(by, falls, fails)
        for by, falls in [(False, False), (True, False), (True, True)]
        for fails in (True, False)
    ],
    ids=str,
)


@every_way
@pytest.mark.parametrize("after", range(4))
@pytest.mark.parametrize("age_h", [0, 23.9, 100])
def test_a_stall_is_waited_out(
    one: OneShard, reading: Reading, after: int, age_h: float, caplog: pytest.LogCaptureFixture
) -> None:
    """All records come once, wherever in the range the shard stalls, and whatever their age."""
    one.stream.clock.sleep(age_h * HOUR_S)
    assert reading.records(one, after) == one.records
    assert "data.lost" not in caplog.text
    assert f"shard.stalled stream=orders shard={one.shard_id} for_s=" in caplog.text


def test_a_stall_is_logged_once_a_minute(one: OneShard, caplog: pytest.LogCaptureFixture) -> None:
    """The warning counts the time and the pages since the last record."""
    Reading().records(one, 2, 190)
    lines = [r.getMessage() for r in caplog.records if "shard.stalled" in r.getMessage()]
    assert [line.partition(" for_s=")[2] for line in lines] == [
        "12 pages=50",
        "72 pages=300",
        "132 pages=550",
    ]


@pytest.mark.parametrize("by_subscription", [False, True])
@pytest.mark.parametrize("fails", [False, True])
def test_a_long_stall_is_an_error(
    one: OneShard, by_subscription: bool, fails: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """It says how far the range was read and for how long nothing came, and it is no loss."""
    reading, started_s = Reading(by_subscription, fails=fails), one.stream.clock.now
    said = rf"^Shard {one.shard_id} of orders: .* after AFTER {one.records[PAGE - 1].number} for 6\d\d s.*Nothing is lost"
    with pytest.raises(UnavailableError, match=said) as raised:
        reading.records(one, 1, 2 * LONGEST_S)
    assert raised.value.code == "NoProgress"
    assert one.stream.clock.now - started_s < LONGEST_S + 60
    assert "data.lost" not in caplog.text


def test_many_stalls_are_no_long_one(one: OneShard) -> None:
    """Time without records counts from the last page that brought some."""
    found: list[Record] = []
    for page in Reading().pages(one):
        found += page.records
        one.stream.stall(one.shard_id, 0.7 * LONGEST_S)
    assert found == one.records


def test_a_subscription_that_stalls_is_polled(one: OneShard) -> None:
    """Where polling is allowed, it takes over after half a minute."""
    started_s = one.stream.clock.now
    assert Reading(by_subscription=True, falls_back=True).records(one, 1, 35) == one.records
    assert one.stream.clock.now - started_s < 45
    assert one.stream.calls_of("GetRecords")


@every_way
@pytest.mark.parametrize("read", [0, 1])
def test_what_expires_during_a_stall_is_lost(
    one: OneShard, reading: Reading, read: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Records that left while nothing could be read are a loss once the oldest record can be read. It is reported once."""
    one.stream.clock.sleep(23.9 * HOUR_S)
    one.stream.is_stuck_when_trimmed = True
    pages = reading.pages(one)
    assert [next(pages).records for _ in range(read)] == [one.records[:PAGE]] * read
    one.stream.stall(one.shard_id, STALL_S)
    one.stream.trim(one.shard_id, 25)
    if reading.fails:
        with pytest.raises(DataLossError):
            list(pages)
    else:
        assert [r for page in pages for r in page.records] == one.records[25:]
        assert caplog.text.count("data.lost") == 1


@pytest.mark.parametrize("by_subscription", [False, True])
@pytest.mark.parametrize("trimmed", [25, RECORDS])
def test_one_loss_is_logged_once(
    one: OneShard, by_subscription: bool, trimmed: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Pages that stay empty from the first record on, and then the oldest one that is left, are one loss; also if that is after the range."""
    one.put(PAGE)
    one.stream.is_stuck_when_trimmed = True
    one.stream.trim(one.shard_id, trimmed)
    found = Reading(by_subscription, fails=False).records(one, 9, 0)
    assert found == one.records[trimmed:RECORDS]
    assert caplog.text.count("data.lost") == 1
