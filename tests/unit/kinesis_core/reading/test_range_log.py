"""The events of reading: one line for each range that was read to its end, however it was read, and one for each renewed iterator."""

from __future__ import annotations

import logging
import random
from collections.abc import Generator

import pytest
from attrs import define, field

from kinesis_core.errors import IteratorExpiredError
from kinesis_core.model import After, At, Page, ShardRange, TrimHorizon
from kinesis_core.reading import FanOutSettings, PollingRangeReader, ReadSettings, read_concurrently
from kinesis_core.reading.concurrent import RangeReader
from kinesis_core.reading.fan_out import FanOutRangeReader
from kinesis_core.reading.progress import RangeProgress
from kinesis_core.reading.range_log import logged
from support.fake_subscriptions import Subscriptions, in_stream
from support.one_shard import OneShard
from support.scripted_stream import throttle

EXPIRED = IteratorExpiredError("Iterator expired", "ExpiredIteratorException")


@pytest.fixture
def one() -> OneShard:
    made = OneShard()
    made.put(25, 0.01, b"tea")
    return made


@define
class Reading:
    """Reads a range of the first 20 records of a shard, and keeps the log."""

    one: OneShard
    caplog: pytest.LogCaptureFixture
    shard_range: ShardRange = field(init=False)
    polling: PollingRangeReader = field(init=False)

    def __attrs_post_init__(self) -> None:
        first, last = self.one.records[0].number, self.one.records[19].number
        self.shard_range = ShardRange("orders", self.one.shard_id, At(first), After(last))
        self.polling = PollingRangeReader(
            lambda _: self.one.stream, ReadSettings(max_records_per_fetch=8), random.Random(0)
        )

    def pages(self, subscriptions: Subscriptions | None = None) -> list[Page]:
        """Read the range, by subscription if there are *subscriptions*."""
        reader: RangeReader = self.polling
        if subscriptions is not None:
            reader = FanOutRangeReader(
                lambda _: subscriptions, self.polling, FanOutSettings(), random.Random(0)
            )
        return list(reader.read(self.shard_range, self.one.stream.clock))

    def lines(self, event: str = "shard.read") -> list[dict[str, str]]:
        """Return the facts of the lines of *event*."""
        found = [r for r in self.caplog.records if r.getMessage().startswith(f"{event} ")]
        assert all(r.levelname == "DEBUG" for r in found)
        return [r.__dict__["context"] for r in found]


@pytest.fixture
def reading(one: OneShard, caplog: pytest.LogCaptureFixture) -> Reading:
    caplog.set_level(logging.DEBUG, "kinesis_core")
    return Reading(one, caplog)


def test_a_range_is_one_line(one: OneShard, reading: Reading) -> None:
    """It counts what lies in the range, the calls of all kinds, and the throttles among them."""
    one.stream.fail("GetRecords", one.shard_id, [throttle(), throttle()])
    started_s = one.stream.clock.now
    pages = reading.pages()
    [facts] = reading.lines()
    assert facts == {
        "stream": "orders",
        "shard": one.shard_id,
        "records": "20",
        "bytes": "60",
        "pages": str(len(pages)),
        "duration_s": str(round(one.stream.clock.now - started_s, 3)),
        "calls": "6",
        "throttles": "2",
    }
    assert len(one.stream.calls_of("GetShardIterator")) + len(one.stream.calls_of("GetRecords")) == 6


def test_a_subscription_is_a_call(one: OneShard, reading: Reading) -> None:
    """A range that one subscription brings has one call; refused subscriptions count as well."""
    subscriptions = Subscriptions(one.stream)
    subscriptions.refusals = [throttle()]
    reading.pages(subscriptions)
    [facts] = reading.lines()
    assert (facts["records"], facts["bytes"]) == ("20", "60")
    assert (facts["calls"], facts["throttles"]) == ("2", "1")


def test_a_range_whose_rest_is_polled_is_one_line(one: OneShard, reading: Reading) -> None:
    """What subscriptions and polling bring of a range is counted together."""
    subscriptions = Subscriptions(one.stream)
    subscriptions.refusals = [in_stream("ResourceInUseException")]
    reading.pages(subscriptions)
    [facts] = reading.lines()
    assert (facts["records"], facts["pages"]) == ("20", "3")
    assert facts["calls"] == str(
        len(subscriptions.calls)
        + len(one.stream.calls_of("GetShardIterator"))
        + len(one.stream.calls_of("GetRecords"))
    )


def test_each_range_of_a_task_is_a_line(one: OneShard, reading: Reading) -> None:
    """A task that reads several ranges at once logs each of them."""
    one_range = reading.shard_range
    list(read_concurrently([(one_range,), (one_range, one_range)], reading.polling, 2, one.stream.clock))
    assert [facts["records"] for facts in reading.lines()] == ["20"] * 3


def test_a_range_that_is_left_has_no_line(one: OneShard, reading: Reading) -> None:
    """A consumer that goes away, or an error, ends the reading without the line."""
    pages = reading.polling.read(reading.shard_range, one.stream.clock)
    next(pages)
    pages.close()
    assert reading.lines() == []


def test_a_default_job_is_not_flooded(reading: Reading) -> None:
    """At INFO, where a batch is one line, ranges have none: a thousand shards would be a thousand lines a batch."""
    reading.caplog.set_level(logging.INFO, "kinesis_core")
    reading.pages()
    assert reading.caplog.messages == []


def test_a_renewed_iterator_is_a_line(one: OneShard, reading: Reading) -> None:
    """An expired iterator is a retry, and the line after that says where reading continues. The first one is no renewal."""
    one.stream.fail("GetRecords", one.shard_id, [EXPIRED])
    reading.pages()
    assert [message.split()[0] for message in reading.caplog.messages] == [
        "call.retried",
        "iterator.renewed",
        "shard.read",
    ]
    [facts] = reading.lines("iterator.renewed")
    assert facts == {"stream": "orders", "shard": one.shard_id, "cut": f"AT {one.records[0].number}"}


def test_another_iterator_is_no_renewal(one: OneShard, reading: Reading) -> None:
    """An iterator to the oldest record, after a loss that is allowed, has no line: no iterator expired."""
    settings = ReadSettings(fail_on_data_loss=False)
    reading.polling = PollingRangeReader(lambda _: one.stream, settings, random.Random(0))
    one.stream.is_stuck_when_trimmed = True
    one.stream.trim(one.shard_id, 1)
    one.stream.fail("GetRecords", one.shard_id, [EXPIRED])
    assert reading.pages()
    assert one.stream.calls_of("GetShardIterator")[-1].cut == TrimHorizon()
    assert len(reading.lines("iterator.renewed")) == 1


def test_closing_reaches_the_pages(one: OneShard, reading: Reading) -> None:
    """A reader that is closed early closes what it reads from, and its error, whether the line is shown or not."""

    def endless() -> Generator[Page, None, None]:
        try:
            while True:
                yield Page([], 0)
        finally:
            raise RuntimeError("it did not close")

    for level in (logging.INFO, logging.DEBUG):
        reading.caplog.set_level(level, "kinesis_core")
        pages = logged(endless(), RangeProgress(reading.shard_range, True), one.stream.clock)
        next(pages)
        with pytest.raises(RuntimeError, match="it did not close"):
            pages.close()
