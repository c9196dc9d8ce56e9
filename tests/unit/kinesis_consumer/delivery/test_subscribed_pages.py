"""Pages by enhanced fan-out."""

from __future__ import annotations

import random
from collections.abc import Generator
from threading import Event

from attrs import define, field

from kinesis_consumer.delivery import ShardReader, SubscribedPages
from kinesis_consumer.settings import GroupSettings
from kinesis_core.model import Cut, SubscribedPage
from kinesis_core.planning import PlanSettings, ShardPages
from support.consumer_parts import NoOwner, OneShard, data


@define
class Silent:
    """Subscriptions that bring no event until the test ends them."""

    consumer: str = "arn:consumer"
    cuts: list[Cut] = field(factory=list)
    end: Event = field(factory=Event)

    def subscribe(
        self, shard_id: str, cut: Cut, with_data: bool = True
    ) -> Generator[SubscribedPage, None, None]:
        assert (shard_id, with_data) == ("shardId-000000000000", True)
        self.cuts.append(cut)
        self.end.wait()
        yield from ()


def subscribed(shard: OneShard, api: Silent) -> ShardReader:
    pages = ShardPages.of("orders", shard.stream, PlanSettings(), shard.clock, random.Random(1))
    pages.begin()
    feed = SubscribedPages(pages, api, shard.clock)
    return ShardReader(shard.take(), "orders", feed, NoOwner(), shard.settings, shard.clock)


def test_no_event_yet_is_not_the_tip() -> None:
    """An open batch of several pages is delivered again whole, although no event of the subscription is there yet."""
    shard = OneShard.new(GroupSettings(max_batch_records=5))
    for i in range(5):
        shard.stream.put(shard.shard_id, b"%d" % i)
    first = shard.reader()
    first.fetch()
    lost = first.next_batch()
    shard.settings = GroupSettings(max_batch_records=2)
    api, ended = Silent(), Event()
    reader = subscribed(shard, api)
    reader.wake = ended.set
    reader.open()
    reader.fetch()
    reader.fetch()
    assert reader.next_batch() is None
    api.end.set()
    assert ended.wait(30)
    reader.fetch()
    reader.fetch()
    again = reader.next_batch()
    assert lost is not None
    assert again is not None
    assert (data(again), again.id) == (data(lost), lost.id)


def test_a_reader_that_is_gone_forgets_nothing_of_the_next_one() -> None:
    """A shard that was lost and gained again is watched by its new reader only."""
    shard = OneShard.new()
    api = Silent()
    api.end.set()
    feed = subscribed(shard, api).pages
    first, second = shard.reader(), shard.reader()
    first.pages = second.pages = feed
    first.open()
    second.open()
    first.close()
    second.fetch()
    assert feed.lag_ms(shard.shard_id) == 0
    second.close()
    assert feed.lag_ms(shard.shard_id) is None
