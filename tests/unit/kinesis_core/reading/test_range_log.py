"""The events of reading: one line for each range that was read to its end, however it was read, and one for each renewed iterator."""

from __future__ import annotations

import logging
import random
from collections.abc import Generator

import pytest

from kinesis_core.aws import ReadRateLimiter
from kinesis_core.errors import IteratorExpiredError
from kinesis_core.model import After, At, Page, ShardRange
from kinesis_core.reading import FanOutSettings, PollingRangeReader, ReadSettings, read_concurrently
from kinesis_core.reading.concurrent import RangeReader
from kinesis_core.reading.fan_out import FanOutRangeReader
from kinesis_core.reading.progress import RangeProgress
from kinesis_core.reading.range_log import logged
from kinesis_core.reading.record_check import RecordCheck
from support.fake_subscriptions import Subscriptions, in_stream
from support.one_shard import OneShard
from support.scripted_stream import throttle

EXPIRED = IteratorExpiredError("Iterator expired", "ExpiredIteratorException")


@pytest.fixture
def one() -> OneShard:
    made = OneShard()
    made.put(25, 0.01, b"tea")
    return made


@pytest.fixture
def shard_range(one: OneShard) -> ShardRange:
    """Return a range of 20 records."""
    return ShardRange("orders", one.shard_id, At(one.records[0].number), After(one.records[19].number))


@pytest.fixture
def polling(one: OneShard) -> PollingRangeReader:
    return PollingRangeReader(lambda _: one.stream, ReadSettings(max_records_per_fetch=8), random.Random(0))


def fan_out(polling: PollingRangeReader, subscriptions: Subscriptions) -> FanOutRangeReader:
    return FanOutRangeReader(lambda _: subscriptions, polling, FanOutSettings(), random.Random(0))


def read(one: OneShard, reader: RangeReader, shard_range: ShardRange) -> list[Page]:
    return list(reader.read(shard_range, one.stream.clock))


def lines(caplog: pytest.LogCaptureFixture, event: str = "shard.read") -> list[dict[str, str]]:
    found = [r for r in caplog.records if r.getMessage().startswith(f"{event} ")]
    assert all(r.levelname == "DEBUG" for r in found)
    return [r.__dict__["context"] for r in found]


def test_a_range_is_one_line(
    one: OneShard,
    polling: PollingRangeReader,
    shard_range: ShardRange,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It counts what lies in the range, the calls of all kinds, and the throttles among them."""
    caplog.set_level(logging.DEBUG, "kinesis_core")
    one.stream.fail("GetRecords", one.shard_id, [throttle(), throttle()])
    started_s = one.stream.clock.now
    pages = read(one, polling, shard_range)
    [facts] = lines(caplog)
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


def test_a_subscription_is_a_call(
    one: OneShard,
    polling: PollingRangeReader,
    shard_range: ShardRange,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A range that one subscription brings has one call; refused subscriptions count as well."""
    caplog.set_level(logging.DEBUG, "kinesis_core")
    subscriptions = Subscriptions(one.stream)
    subscriptions.refusals = [throttle()]
    read(one, fan_out(polling, subscriptions), shard_range)
    [facts] = lines(caplog)
    assert (facts["records"], facts["bytes"]) == ("20", "60")
    assert (facts["calls"], facts["throttles"]) == ("2", "1")


def test_a_range_whose_rest_is_polled_is_one_line(
    one: OneShard,
    polling: PollingRangeReader,
    shard_range: ShardRange,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What subscriptions and polling bring of a range is counted together."""
    caplog.set_level(logging.DEBUG, "kinesis_core")
    subscriptions = Subscriptions(one.stream)
    subscriptions.refusals = [in_stream("ResourceInUseException")]
    read(one, fan_out(polling, subscriptions), shard_range)
    [facts] = lines(caplog)
    assert (facts["records"], facts["pages"]) == ("20", "3")
    assert facts["calls"] == str(
        len(subscriptions.calls)
        + len(one.stream.calls_of("GetShardIterator"))
        + len(one.stream.calls_of("GetRecords"))
    )


def test_each_range_of_a_task_is_a_line(
    one: OneShard,
    polling: PollingRangeReader,
    shard_range: ShardRange,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A task that reads several ranges at once logs each of them."""
    caplog.set_level(logging.DEBUG, "kinesis_core")
    list(read_concurrently([(shard_range,), (shard_range, shard_range)], polling, 2, one.stream.clock))
    assert [facts["records"] for facts in lines(caplog)] == ["20"] * 3


def test_a_range_that_is_left_has_no_line(
    one: OneShard,
    polling: PollingRangeReader,
    shard_range: ShardRange,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A consumer that goes away, or an error, ends the reading without the line."""
    caplog.set_level(logging.DEBUG, "kinesis_core")
    pages = polling.read(shard_range, one.stream.clock)
    next(pages)
    pages.close()
    assert lines(caplog) == []


def test_a_default_job_is_not_flooded(
    one: OneShard,
    polling: PollingRangeReader,
    shard_range: ShardRange,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """At INFO, where a batch is one line, ranges have none: a thousand shards would be a thousand lines a batch."""
    caplog.set_level(logging.INFO, "kinesis_core")
    read(one, polling, shard_range)
    assert caplog.messages == []


def test_a_renewed_iterator_is_a_line(
    one: OneShard,
    polling: PollingRangeReader,
    shard_range: ShardRange,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An expired iterator is a retry, and the line after that says where reading goes on. The first one is no renewal."""
    caplog.set_level(logging.DEBUG, "kinesis_core")
    one.stream.fail("GetRecords", one.shard_id, [EXPIRED])
    read(one, polling, shard_range)
    assert [message.split()[0] for message in caplog.messages] == [
        "call.retried",
        "iterator.renewed",
        "shard.read",
    ]
    [facts] = lines(caplog, "iterator.renewed")
    assert facts == {"stream": "orders", "shard": one.shard_id, "cut": f"AT {one.records[0].number}"}


def test_another_iterator_is_no_renewal(one: OneShard, caplog: pytest.LogCaptureFixture) -> None:
    """An iterator to the oldest record, after a loss that is allowed, has no line: no iterator expired."""
    caplog.set_level(logging.DEBUG, "kinesis_core")
    settings = ReadSettings(fail_on_data_loss=False)
    polling = PollingRangeReader(lambda _: one.stream, settings, random.Random(0))
    missing_end = After(one.records[-1].number + 1)
    one.stream.fail("GetRecords", one.shard_id, [EXPIRED])
    read(one, polling, ShardRange("orders", one.shard_id, At(one.records[0].number), missing_end))
    assert len(one.stream.calls_of("GetShardIterator")) == 3
    assert len(lines(caplog, "iterator.renewed")) == 1


def test_an_expired_iterator_of_a_check_is_a_retry(one: OneShard, caplog: pytest.LogCaptureFixture) -> None:
    """The check whether a record is left logs its retries as all calls do."""
    caplog.set_level(logging.INFO, "kinesis_core")
    limiter = ReadRateLimiter(0.2, 2)
    check = RecordCheck(one.stream, "orders", one.shard_id, one.stream.clock, random.Random(0), limiter)
    one.stream.fail("GetRecords", one.shard_id, [EXPIRED])
    assert check.is_left(one.records[0].number)
    assert caplog.messages == [
        "call.retried call=GetRecords reason=ExpiredIteratorException attempt=1 wait_s=0.0 stream=orders "
        f"shard={one.shard_id}"
    ]


def test_closing_reaches_the_pages(
    one: OneShard, shard_range: ShardRange, caplog: pytest.LogCaptureFixture
) -> None:
    """A reader that is closed early closes what it reads from, and its error, whether the line is shown or not."""

    def endless() -> Generator[Page, None, None]:
        try:
            while True:
                yield Page([], 0)
        finally:
            raise RuntimeError("it did not close")

    for level in (logging.INFO, logging.DEBUG):
        caplog.set_level(level, "kinesis_core")
        pages = logged(endless(), RangeProgress(shard_range, True), one.stream.clock)
        next(pages)
        with pytest.raises(RuntimeError, match="it did not close"):
            pages.close()
