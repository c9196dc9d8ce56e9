"""Reading one range of one shard by subscription, whatever ends a subscription, and the fallback to polling."""

from __future__ import annotations

import random
from collections.abc import Generator
from itertools import pairwise

import pytest
from attrs import define

from kinesis_core.aws import RESUBSCRIBE_S
from kinesis_core.errors import (
    AccessDeniedError,
    DataLossError,
    InvalidRequestError,
    MalformedResponseError,
    ResourceInUseError,
    ServiceError,
    UnavailableError,
)
from kinesis_core.model import (
    After,
    At,
    Cut,
    Latest,
    Record,
    ShardEnd,
    ShardRange,
    SubscribedPage,
    TrimHorizon,
)
from kinesis_core.model.cuts import EndCut
from kinesis_core.reading import FanOutSettings, PollingRangeReader, ReadSettings
from kinesis_core.reading.fan_out import FanOutRangeReader
from kinesis_core.reading.fan_out.subscription_reader import MAX_IDLE_EVENTS, SubscriptionReader
from support.fake_subscriptions import (
    HEARTBEAT_S,
    LIFE_S,
    SILENCE_S,
    Subscriptions,
    Trouble,
    cut_connection,
    in_stream,
)
from support.one_shard import OneShard

WAITS = FanOutSettings(fallback_to_polling=False)
FALLBACK = FanOutSettings()


@pytest.fixture
def one() -> OneShard:
    made = OneShard()
    made.put(100, 0.01)
    return made


@pytest.fixture
def subscriptions(one: OneShard) -> Subscriptions:
    return Subscriptions(one.stream)


def range_of(one: OneShard, first: int = 0, end: EndCut | None = None) -> ShardRange:
    last = After(one.records[-1].number)
    return ShardRange("orders", one.shard_id, At(one.records[first].number), end or last)


def reader_of(
    subscriptions: Subscriptions,
    shard_range: ShardRange,
    settings: FanOutSettings = WAITS,
    *,
    fails: bool = True,
) -> SubscriptionReader:
    clock, rng = subscriptions.stream.clock, random.Random(0)
    polling = PollingRangeReader(lambda _: subscriptions.stream, ReadSettings(), rng)
    check = polling.check(shard_range, clock)
    return SubscriptionReader(subscriptions, shard_range, settings, fails, clock, rng, check)


def read(
    subscriptions: Subscriptions, shard_range: ShardRange, settings: FanOutSettings = WAITS
) -> list[Record]:
    return [r for page in reader_of(subscriptions, shard_range, settings).pages() for r in page.records]


def ranges_of(one: OneShard, subscriptions: Subscriptions, settings: FanOutSettings) -> FanOutRangeReader:
    polling = PollingRangeReader(lambda _: one.stream, ReadSettings(), random.Random(0))
    return FanOutRangeReader(lambda _: subscriptions, polling, settings, random.Random(0))


def cuts(subscriptions: Subscriptions) -> list[object]:
    return [cut for _, _, cut in subscriptions.calls]


@pytest.mark.parametrize(("end", "last"), [(At, 59), (After, 60)])
def test_a_range_is_read_to_the_record(
    one: OneShard, subscriptions: Subscriptions, end: type[At | After], last: int
) -> None:
    """One subscription reads exactly the range, and is closed at the event with its end."""
    shard_range = range_of(one, 20, end(one.records[60].number))
    assert read(subscriptions, shard_range) == one.records[20 : last + 1]
    assert (len(subscriptions.calls), subscriptions.open) == (1, 0)


@define
class Inexact(Subscriptions):
    """Each subscription begins at the oldest record."""

    def subscribe(
        self,
        shard_id: str,
        cut: Cut | Latest,  # noqa: ARG002 # the method's signature
        with_data: bool = True,
    ) -> Generator[SubscribedPage, None, None]:
        return super().subscribe(shard_id, TrimHorizon(), with_data)


def test_records_that_come_again_are_dropped(one: OneShard) -> None:
    """Neither records before the range are delivered, nor those of the subscription before."""
    subscriptions = Inexact(one.stream, troubles=[Trouble(9, cut_connection())])
    assert read(subscriptions, range_of(one, 20)) == one.records[20:]


@define
class ContinuationAfterTheEnd(Subscriptions):
    """The event with a shard's children has a continuation too."""

    def subscribe(
        self, shard_id: str, cut: Cut | Latest, with_data: bool = True
    ) -> Generator[SubscribedPage, None, None]:
        for page in super().subscribe(shard_id, cut, with_data):
            if page.child_shards:
                page.continuation = self.stream.shards[shard_id].records[-1].sequence_number
            yield page


@pytest.mark.parametrize("kind", [Subscriptions, ContinuationAfterTheEnd])
@pytest.mark.parametrize("ends_on_its_own", [False, True])
def test_a_closed_shard_is_read_to_its_end(
    one: OneShard, kind: type[Subscriptions], ends_on_its_own: bool
) -> None:
    """The event with the children ends the shard, with or without records, whatever its continuation."""
    one.stream.split(one.shard_id)
    subscriptions = kind(one.stream, ends_on_its_own=ends_on_its_own)
    assert read(subscriptions, range_of(one, 20, ShardEnd())) == one.records[20:]
    assert len(subscriptions.calls) == 1


@pytest.mark.parametrize(
    "trouble",
    [
        Trouble(3),
        Trouble(3, cut_connection()),
        Trouble(3, cut_connection(), silence_s=SILENCE_S),
        Trouble(3, in_stream("InternalFailureException")),
        Trouble(3, in_stream("ResourceInUseException")),
        Trouble(3, MalformedResponseError("a checksum is wrong", "MalformedResponse")),
    ],
)
def test_reading_continues_however_a_subscription_ends(
    one: OneShard, subscriptions: Subscriptions, trouble: Trouble
) -> None:
    """The next subscription begins after the last event of the previous one, once the shard is free again."""
    subscriptions.troubles = [trouble] * 3
    assert read(subscriptions, range_of(one)) == one.records
    assert cuts(subscriptions)[1:] == [After(one.records[i].number) for i in (14, 29, 44)]
    times = [at_s for at_s, _, _ in subscriptions.calls]
    assert all(later - earlier >= RESUBSCRIBE_S for earlier, later in pairwise(times))
    assert subscriptions.open == 0


def test_the_five_minutes_end(one: OneShard, subscriptions: Subscriptions) -> None:
    """A slow caller needs many subscriptions."""
    found: list[Record] = []
    for page in reader_of(subscriptions, range_of(one)).pages():
        found += page.records
        one.stream.clock.sleep(LIFE_S / 2)
    assert found == one.records
    assert len(subscriptions.calls) > 9


def test_empty_events_move_the_continuation(one: OneShard, subscriptions: Subscriptions) -> None:
    """After empty events and a cut connection, the next subscription begins at their continuation."""
    far = one.records[29].number - 1
    subscriptions.troubles = [Trouble(3, cut_connection(), empty_events=3, continuation=far)]
    del one.records[15:29]
    assert read(subscriptions, range_of(one)) == one.records
    assert cuts(subscriptions)[1:] == [At(far)]


@pytest.mark.parametrize("after_events", [0, 3])
def test_a_wrong_continuation_does_not_skip_records(
    one: OneShard, subscriptions: Subscriptions, after_events: int
) -> None:
    """A continuation after the range's end, or after a start that has not come, is not used."""
    wrong = one.records[-1].number + 1
    subscriptions.troubles = [Trouble(after_events, cut_connection(), empty_events=1, continuation=wrong)]
    assert read(subscriptions, range_of(one)) == one.records


def test_a_busy_shard_is_waited_for(one: OneShard, subscriptions: Subscriptions) -> None:
    """A shard with a recent subscription is tried about once a second until it is free."""
    subscriptions.take(one.shard_id)
    assert read(subscriptions, range_of(one)) == one.records
    times = [at_s for at_s, _, _ in subscriptions.calls]
    assert 3 < len(times) < 7
    assert min(later - earlier for earlier, later in pairwise(times)) >= 1


@pytest.mark.parametrize(
    "error", [in_stream("ResourceInUseException"), UnavailableError("down", "InternalFailure")]
)
def test_waiting_has_an_end(one: OneShard, subscriptions: Subscriptions, error: ServiceError) -> None:
    """After the configured number of attempts the reader raises the error of the last one."""
    subscriptions.refusals = [error] * 100
    with pytest.raises(type(error)):
        read(subscriptions, range_of(one))
    assert len(subscriptions.calls) == WAITS.retries + 1


def test_waiting_is_limited_in_time(one: OneShard, subscriptions: Subscriptions) -> None:
    """Without an event for `timeout_s` the reader fails, even with retries left."""
    subscriptions.refusals = [UnavailableError("down", "InternalFailure")] * 100
    started = one.stream.clock.now
    with pytest.raises(UnavailableError):
        read(subscriptions, range_of(one), FanOutSettings(False, timeout_s=20, retries=1000))
    assert 20 < one.stream.clock.now - started < 25


def test_subscriptions_without_events_have_an_end(one: OneShard, subscriptions: Subscriptions) -> None:
    """A server that ends each subscription before its first event is not called for ever."""
    subscriptions.troubles = [Trouble()] * 100
    with pytest.raises(
        UnavailableError,
        match=r"no subscription brought an event \(attempts made: 11, in .*timeout_s.*fallback_to_polling",
    ):
        read(subscriptions, range_of(one), FanOutSettings(False, timeout_s=1000))
    assert len(subscriptions.calls) == WAITS.retries + 1


def test_an_event_resets_the_attempts(one: OneShard, subscriptions: Subscriptions) -> None:
    """As long as each subscription brings an event, their number is not limited."""
    subscriptions.troubles = [Trouble(1, cut_connection())] * 19
    assert read(subscriptions, range_of(one), FanOutSettings(False, retries=1)) == one.records


def test_a_slow_caller_does_not_use_up_the_timeout(one: OneShard, subscriptions: Subscriptions) -> None:
    """The caller's time with the records is not time without an event: the next subscription is made."""
    subscriptions.troubles = [Trouble(1, cut_connection())] * 5
    found: list[Record] = []
    for page in reader_of(subscriptions, range_of(one)).pages():
        found += page.records
        one.stream.clock.sleep(2 * WAITS.timeout_s)
    assert found == one.records


def test_a_lost_start_is_reported(one: OneShard, subscriptions: Subscriptions) -> None:
    """A range whose first record was trimmed is data loss, as when polling."""
    one.stream.trim(one.shard_id, 10)
    with pytest.raises(DataLossError, match=r"records from AT .* expired"):
        read(subscriptions, range_of(one))


def test_a_lost_end_is_an_error(one: OneShard, subscriptions: Subscriptions) -> None:
    """Heartbeats at the tip without the range's end are data loss after a while, if the last record that was read is gone."""
    one.stream.trim(one.shard_id, 100)
    started = one.stream.clock.now
    with pytest.raises(DataLossError, match="made no progress"):
        read(subscriptions, range_of(one))
    assert one.stream.clock.now - started < (MAX_IDLE_EVENTS + 2) * HEARTBEAT_S


def test_an_end_that_never_comes_is_an_error(one: OneShard, subscriptions: Subscriptions) -> None:
    """Heartbeats at the tip without the range's end are an error after ten minutes, instead of waiting for ever."""
    shard_range = range_of(one, 0, After(one.records[-1].number + 1))
    with pytest.raises(UnavailableError, match=r"only empty pages after .* for 600 s") as raised:
        read(subscriptions, shard_range)
    assert raised.value.code == "NoProgress"
    assert subscriptions.open == 0


def test_what_is_left_is_delivered_when_loss_is_allowed(one: OneShard, subscriptions: Subscriptions) -> None:
    """With fail_on_data_loss=False reading continues at the oldest record."""
    shard_range = range_of(one)
    one.stream.trim(one.shard_id, 10)
    reader = reader_of(subscriptions, shard_range, fails=False)
    assert [r for page in reader.pages() for r in page.records] == one.records[10:]


# Fallback to polling


@pytest.mark.parametrize(
    "error",
    [
        in_stream("ResourceInUseException"),
        in_stream("ResourceNotFoundException"),
        InvalidRequestError("a number it does not know", "InvalidArgumentException"),
    ],
)
def test_a_refused_range_is_polled_at_once(
    one: OneShard, subscriptions: Subscriptions, error: ServiceError
) -> None:
    """The reader does not wait for a subscription that is refused: the whole range is read by GetRecords."""
    subscriptions.refusals = [error]
    ranges = ranges_of(one, subscriptions, FALLBACK)
    started = one.stream.clock.now
    found = [r for page in ranges.read(range_of(one), one.stream.clock) for r in page.records]
    assert found == one.records
    assert (len(subscriptions.calls), one.stream.clock.now - started < 1) == (1, True)


def test_the_rest_of_a_range_is_polled(one: OneShard, subscriptions: Subscriptions) -> None:
    """A reader that loses the shard to another subscriber does not take it back, but polls the rest."""
    subscriptions.troubles = [Trouble(3, in_stream("ResourceInUseException"))]
    ranges = ranges_of(one, subscriptions, FALLBACK)
    found = [r for page in ranges.read(range_of(one), one.stream.clock) for r in page.records]
    assert found == one.records
    assert [c.cut for c in one.stream.calls_of("GetShardIterator")] == [After(one.records[14].number)]


def test_an_outage_of_subscriptions_is_polled(one: OneShard, subscriptions: Subscriptions) -> None:
    """When subscribing fails for longer than its timeout, the range is polled."""
    subscriptions.refusals = [UnavailableError("down", "InternalFailure")] * 100
    ranges = ranges_of(one, subscriptions, FALLBACK)
    assert [r for page in ranges.read(range_of(one), one.stream.clock) for r in page.records] == one.records


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        (FALLBACK, AccessDeniedError("not allowed", "AccessDeniedException")),
        (WAITS, in_stream("ResourceNotFoundException")),
        (WAITS, InvalidRequestError("a number it does not know", "InvalidArgumentException")),
    ],
)
def test_some_errors_are_raised(
    one: OneShard, subscriptions: Subscriptions, settings: FanOutSettings, error: ServiceError
) -> None:
    """A missing permission is always an error. Without the fallback every error is raised."""
    subscriptions.refusals = [error]
    ranges = ranges_of(one, subscriptions, settings)
    with pytest.raises(type(error)):
        list(ranges.read(range_of(one), one.stream.clock))
    assert one.stream.calls_of("GetRecords") == []


def test_polled_ranges_are_logged_in_one_line(
    one: OneShard, subscriptions: Subscriptions, caplog: pytest.LogCaptureFixture
) -> None:
    """One log line has the number of polled ranges and the reasons. Without polled ranges there is no line."""
    ranges = ranges_of(one, subscriptions, FALLBACK)
    with caplog.at_level("INFO"):
        ranges.log_polled()
        assert caplog.records == []
        subscriptions.refusals = [in_stream("ResourceInUseException")] * 3
        for _ in range(3):
            list(ranges.read(range_of(one), one.stream.clock))
        ranges.log_polled()
    lines = [r.getMessage() for r in caplog.records if "fan_out.polled" in r.getMessage()]
    assert len(lines) == 1
    assert "3" in lines[0]
    assert "ResourceInUseException" in lines[0]


def test_reading_continues_at_the_oldest_record_after_a_loss(
    one: OneShard, subscriptions: Subscriptions
) -> None:
    """When reading makes no progress and loss is allowed, one more subscription begins at the oldest record."""
    one.stream.trim(one.shard_id, 100)
    reader = reader_of(subscriptions, range_of(one), fails=False)
    assert list(reader.pages()) == []
    assert cuts(subscriptions)[-1] == TrimHorizon()


def test_the_reader_itself_does_not_poll(one: OneShard, subscriptions: Subscriptions) -> None:
    """The reader raises the error, and its progress shows the rest of the range."""
    subscriptions.refusals = [in_stream("ResourceInUseException")]
    reader = reader_of(subscriptions, range_of(one, 7), FALLBACK)
    with pytest.raises(ResourceInUseError):
        list(reader.pages())
    assert reader.progress.reached == At(one.records[7].number)
