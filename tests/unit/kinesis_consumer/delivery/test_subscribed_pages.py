"""Pages by enhanced fan-out."""

from __future__ import annotations

from collections.abc import Callable, Generator
from itertools import pairwise
from threading import Event

import pytest
from attrs import define, evolve, field

from kinesis_consumer.delivery import ShardReader, SubscribedPages
from kinesis_consumer.delivery.subscribed_pages import ShardSubscription
from kinesis_consumer.settings import GroupSettings
from kinesis_consumer.worker.held_shards import HeldShards
from kinesis_core import (
    AccessDeniedError,
    InvalidRequestError,
    ResourceInUseError,
    StreamNotFoundError,
    ThrottledError,
)
from kinesis_core.aws import SubscribeApi
from kinesis_core.budget import ByteBudget
from kinesis_core.model import Cut, Latest, ShardOffset, SubscribedPage, TrimHorizon
from support.fake_stream import FakeClock
from support.waiting import PATIENCE_S
from unit.kinesis_consumer.consumer_parts import OneShard, commit, data


@define
class Silent:
    """Subscriptions that bring no event until the test ends them."""

    consumer: str = "arn:consumer"
    cuts: list[Cut | Latest] = field(factory=list)
    end: Event = field(factory=Event)

    def subscribe(
        self, shard_id: str, cut: Cut | Latest, with_data: bool = True
    ) -> Generator[SubscribedPage, None, None]:
        assert (shard_id, with_data) == ("shardId-000000000000", True)
        self.cuts.append(cut)
        self.end.wait()
        yield from ()


def subscribed(shard: OneShard, api: SubscribeApi) -> ShardReader:
    source = shard.source()
    source = evolve(source, subscribed=SubscribedPages(source.pages, api, shard.clock))
    return ShardReader(shard.take(), source, commit, shard.settings, shard.clock, ByteBudget(1))


def test_no_event_yet_is_not_the_tip() -> None:
    """An open batch of several pages is delivered again whole, although no event of the subscription is there yet."""
    shard = OneShard.new(GroupSettings(max_batch_records=5))
    for i in range(5):
        shard.stream.put(shard.shard_id, b"%d" % i)
    first = shard.reader()
    first.fetch()
    first.fix_next()
    lost = first.take()
    shard.settings = GroupSettings(max_batch_records=2)
    api, ended = Silent(), Event()
    reader = subscribed(shard, api)
    reader.wake = ended.set
    reader.open()
    reader.fetch()
    reader.fetch()
    assert not reader.fix_next()
    api.end.set()
    assert ended.wait(PATIENCE_S)
    reader.fetch()
    reader.fetch()
    reader.fix_next()
    again = reader.take()
    assert lost is not None
    assert again is not None
    assert (data(again), again.id) == (data(lost), lost.id)


def test_a_reader_that_is_gone_forgets_nothing_of_the_next_one() -> None:
    """A shard that was lost and gained again is watched by its new reader only."""
    shard = OneShard.new()
    api = Silent()
    api.end.set()
    first = subscribed(shard, api)
    second = ShardReader(shard.take(), first.source, commit, shard.settings, shard.clock, first.memory)
    feed = first.source.feed
    for reader in (first, second):
        HeldShards().add(reader)
    first.close()
    second.fetch()
    assert feed.lag_ms(shard.shard_id) == 0
    second.close()
    assert feed.lag_ms(shard.shard_id) is None


@define
class Quiet(Silent):
    """Subscriptions that bring one event without records before they are silent."""

    def subscribe(
        self, shard_id: str, cut: Cut | Latest, with_data: bool = True
    ) -> Generator[SubscribedPage, None, None]:
        yield SubscribedPage([], 0, None, continuation="5")
        yield from Silent.subscribe(self, shard_id, cut, with_data)


def test_an_event_without_records_says_nothing_of_later_records() -> None:
    """They may have come while it waited to be taken. The page before the next subscription shows until when nothing had come."""
    shard = OneShard.new()
    shard.stream.put(shard.shard_id, b"x")
    api, arrived = Quiet(), Event()
    feed = SubscribedPages(shard.source().pages, api, shard.clock)
    feed.watch(shard.shard_id, arrived.set)
    start = feed.next(shard.shard_id, ShardOffset(TrimHorizon()), 10).end
    assert arrived.wait(PATIENCE_S)
    shard.clock.sleep(60)
    assert feed.next(shard.shard_id, start, 10).end == start
    arrived.clear()
    api.end.set()
    assert arrived.wait(PATIENCE_S)
    assert feed.next(shard.shard_id, start, 10).end == start.was_empty_until(shard.stream.now_ms() - 5000)


@define
class Refused:
    """Subscriptions that end at once, each with the next error, or with None as after 5 minutes. The last end repeats itself."""

    clock: FakeClock
    ends: list[Exception | None]
    lasts_s: float = 0
    consumer: str = "arn:consumer"
    started_s: list[float] = field(factory=list)

    def subscribe(
        self, shard_id: str, cut: Cut | Latest, with_data: bool = True
    ) -> Generator[SubscribedPage, None, None]:
        assert (shard_id, cut, with_data) == ("shardId-000000000000", TrimHorizon(), True)
        self.started_s.append(self.clock.now)
        self.clock.sleep(self.lasts_s)
        end = self.ends.pop(0) if len(self.ends) > 1 else self.ends[0]
        if end is not None:
            raise end
        yield from ()


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[float]]:
    """Read a shard each second while its subscriptions end so. Returns the seconds between them: an end is noticed a second later."""
    monkeypatch.setattr(ShardSubscription, "start", ShardSubscription._receive)  # in the thread that reads

    def read(seconds: int, *ends: Exception | None, lasts_s: float = 0) -> list[float]:
        shard = OneShard.new()
        api = Refused(shard.clock, list(ends), lasts_s)
        reader = subscribed(shard, api)
        until_s = shard.clock.now + seconds
        while shard.clock.now < until_s:
            reader.fetch()
            shard.clock.sleep(1)
        return [round(later - one) for one, later in pairwise(api.started_s)]

    return read


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


BUSY = ResourceInUseError("SubscribeToShard failed: busy.", "ResourceInUseException")
THROTTLED = ThrottledError("SubscribeToShard failed: throttled.", "LimitExceededException")


def test_subscriptions_that_fail_are_made_more_and_more_seldom(
    read: Callable[..., list[float]], caplog: pytest.LogCaptureFixture
) -> None:
    """The shard is polled meanwhile. A further failure of the same kind is not logged, and another one is."""
    assert read(360, BUSY) == [6, 11, 21, 41, 61, 61, 61, 61]
    assert warnings(caplog) == [
        "subscription.failed shard=shardId-000000000000 consumer=arn:consumer code=ResourceInUseException "
        "reason=SubscribeToShard failed: busy."
    ]
    caplog.clear()
    read(360, BUSY, THROTTLED)
    assert [line.split()[3] for line in warnings(caplog)] == [
        "code=ResourceInUseException",
        "code=LimitExceededException",
    ]


def test_a_subscription_that_worked_begins_the_pauses_anew(
    read: Callable[..., list[float]], caplog: pytest.LogCaptureFixture
) -> None:
    """It worked if it came to its end, or lasted for more than a minute. A failure after it is logged."""
    assert read(100, BUSY, BUSY, None, BUSY) == [6, 11, 5, 6, 11, 21]
    assert len(warnings(caplog)) == 2
    caplog.clear()
    assert set(read(300, BUSY, lasts_s=61)) == {67}
    assert len(warnings(caplog)) == 4


@pytest.mark.parametrize(
    "error",
    [
        AccessDeniedError("SubscribeToShard is not allowed.", "AccessDeniedException"),
        StreamNotFoundError("The consumer does not exist.", "ResourceNotFoundException"),
        InvalidRequestError("The consumer's ARN is malformed.", "InvalidArgumentException"),
        RuntimeError("an error of our own"),
    ],
)
def test_an_error_that_does_not_pass_is_raised(read: Callable[..., list[float]], error: Exception) -> None:
    """A group that polls for ever, although it was to subscribe, would hide that."""
    with pytest.raises(type(error), match=str(error)):
        read(10, BUSY, error)


def test_a_shard_that_has_ended_needs_no_consumer(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read to its end, although the consumer was removed meanwhile."""
    monkeypatch.setattr(ShardSubscription, "start", ShardSubscription._receive)
    shard = OneShard.new()
    gone = StreamNotFoundError("The consumer does not exist.", "ResourceNotFoundException")
    reader = subscribed(shard, Refused(shard.clock, [gone]))
    reader.fetch()
    shard.stream.split(shard.shard_id)
    shard.clock.sleep(1)
    reader.fetch()
    assert reader.is_finished
