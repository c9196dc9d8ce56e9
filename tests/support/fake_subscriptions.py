"""Subscriptions to a `FakeStream` that end in all the ways they do on AWS. Time is an argument."""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence

from attrs import define, field, frozen

from kinesis_core.errors import (
    MalformedResponseError,
    ResourceInUseError,
    ServiceError,
    StreamNotFoundError,
    UnavailableError,
)
from kinesis_core.model import Cut, Latest, Record, SubscribedPage
from support.fake_stream import FakeShard, FakeStream

LIFE_S, RESUBSCRIBE_AFTER_S, HEARTBEAT_S, SILENCE_S = 300.0, 5.0, 5.0, 30.0
EVENT_S = 0.05
"""The time between two events."""
CHILD = {"ShardId": "shardId-000000000099", "ParentShards": [], "HashKeyRange": {}}


def cut_connection() -> ServiceError:
    return UnavailableError("The subscription broke off", "ProtocolError")


def in_stream(code: str) -> ServiceError:
    known = {"ResourceInUseException": ResourceInUseError, "ResourceNotFoundException": StreamNotFoundError}
    return known.get(code, UnavailableError)("It ended by itself", code)


@frozen
class Trouble:
    """What ends one subscription, after some events."""

    after_events: int = 0
    error: ServiceError | None = None
    """None ends the subscription like the end of its 5 minutes."""
    empty_events: int = 0
    """Empty events with lag before the end."""
    continuation: int | None = None
    """The continuation of the empty events, if it is not the last record's number."""
    silence_s: float = 0.0
    """The silence before the end."""


@define
class Subscriptions:
    """The subscriptions of one consumer. It implements `kinesis_core.aws.stream_api.SubscribeApi`."""

    stream: FakeStream
    records_per_event: int = 5
    ends_on_its_own: bool = False
    """Whether the event that ends a shard has no records."""
    troubles: list[Trouble] = field(factory=list)
    """One for each of the next subscriptions. Later ones have no trouble."""
    refusals: list[ServiceError] = field(factory=list)
    """Raised by the next calls."""
    rng: random.Random | None = None
    """With it, each subscription has a random trouble within seconds."""
    consumer: str = "arn:aws:kinesis:eu-west-1:000000000000:stream/orders/consumer/me:1"
    calls: list[tuple[float, str, Cut | Latest]] = field(factory=list)
    open: int = 0
    """Subscriptions that have not been closed."""
    _started_s: dict[str, float] = field(factory=dict)
    _latest: dict[str, object] = field(factory=dict)

    def subscribe(
        self, shard_id: str, cut: Cut | Latest, with_data: bool = True
    ) -> Generator[SubscribedPage, None, None]:
        now_s = self.stream.clock.now_s()
        self.calls.append((now_s, shard_id, cut))
        if self.refusals:
            raise self.refusals.pop(0)
        if shard_id not in self.stream.shards:
            raise in_stream("ResourceNotFoundException")
        if now_s - self._started_s.get(shard_id, 0.0) < RESUBSCRIBE_AFTER_S:
            raise in_stream("ResourceInUseException")
        return self._events(self.stream.shards[shard_id], cut, self.take(shard_id), with_data)

    def take(self, shard_id: str) -> object:
        """Subscribe to a shard as another reader does, and return that subscription's marker."""
        self._started_s[shard_id] = self.stream.clock.now_s()
        self._latest[shard_id] = subscription = object()
        return subscription

    def _trouble(self) -> Trouble | None:
        if self.rng is None:
            return self.troubles.pop(0) if self.troubles else None
        errors = [
            cut_connection(),
            in_stream("InternalFailureException"),
            MalformedResponseError("?", "?"),
            None,
        ]
        return Trouble(
            self.rng.randint(0, 6),
            self.rng.choice(errors),
            self.rng.choice([0, 0, 2]),
            None,
            self.rng.choice([0.0, 0.0, 3.0, SILENCE_S]),
        )

    def _events(
        self, shard: FakeShard, cut: Cut | Latest, subscription: object, with_data: bool
    ) -> Generator[SubscribedPage, None, None]:
        clock, trouble = self.stream.clock, self._trouble()
        ends_s = clock.now_s() + LIFE_S
        begin = len(shard.records) if isinstance(cut, Latest) else self.stream._index(shard, cut)
        index, sent = max(shard.trimmed, begin), 0
        reached = getattr(cut, "number", shard.first_number)
        self.open += 1
        try:
            while clock.now_s() < ends_s:
                if self._latest[shard.shard_id] is not subscription:
                    raise in_stream("ResourceInUseException")
                if trouble is not None and sent >= trouble.after_events:
                    yield from self._suffer(trouble, reached)
                    return
                if stall := self.stream.stall_at_random(shard.shard_id):
                    clock.sleep(HEARTBEAT_S)
                    yield _event([], stall.lag_ms, reached)
                    continue
                records = shard.records[index : index + self.records_per_event]
                index += len(records)
                reached = records[-1].number if records else reached
                is_end = shard.is_closed and index == len(shard.records)
                is_end = is_end and not (records and self.ends_on_its_own)
                page = self.stream._page(shard, index, records, with_data)
                clock.sleep(EVENT_S if records or is_end else HEARTBEAT_S)
                sent += 1
                yield _event(page.records, page.millis_behind, None if is_end else reached)
                if is_end:
                    return
        finally:
            self.open -= 1

    def _suffer(self, trouble: Trouble, reached: int) -> Generator[SubscribedPage, None, None]:
        for i in range(trouble.empty_events):
            yield _event([], 1000 * (trouble.empty_events - i), trouble.continuation or reached)
        self.stream.clock.sleep(trouble.silence_s)
        if trouble.error is not None:
            raise trouble.error


def _event(records: Sequence[Record], millis_behind: int, continuation: int | None) -> SubscribedPage:
    is_end = continuation is None
    return SubscribedPage(
        records=records,
        millis_behind=0 if is_end else millis_behind,
        continuation=None if is_end else str(continuation),
        child_shards=[CHILD] if is_end else None,
    )
