"""SubscribeToShard: the check of a new subscription, and its events: records, heartbeats and the end."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from kinesis_emulator.consumers import RegisteredConsumer, ShardSubscription
from kinesis_emulator.errors import AwsError, consumer_not_found, stream_not_found, subscription_in_use
from kinesis_emulator.faults import CutConnectionError, EventFault
from kinesis_emulator.iterators import LogPosition
from kinesis_emulator.reads import GivenStart, ReadPage, known_shard, next_page, start_position
from kinesis_emulator.requests import Request
from kinesis_emulator.reshards import finish
from kinesis_emulator.resources import find_consumer
from kinesis_emulator.service import Service
from kinesis_emulator.shards import StoredShard, canonical_shard_id
from kinesis_emulator.store import StoredStream
from kinesis_emulator.wire_formats import FORMATS, JSON, BodyFormat, event_frame, exception_frame

_LONGEST_WAIT_S = 0.25
"""The maximum time until a subscription notices that its client has left, or that the clock has moved."""


def subscribe_to_shard(service: Service, request: Request) -> Subscription:
    start = _start(request)
    stream, consumer = find_consumer(service, request)
    shard_id = canonical_shard_id(request.text("ShardId"), stream.name, stream.account_id)
    now_s, now_ms = service.clock(), service.now_ms()
    with stream.lock:
        _admit(service, stream, consumer, shard_id, now_s)
        _check_active(stream, consumer, now_ms)
        shard = known_shard(stream, shard_id, now_ms)
        shard.trim(stream.horizon_ms(now_ms), keep=service.settings.keep_trimmed)
        position = start_position(stream, shard, start, now_ms)
        _check_resubscription(service, stream, consumer, shard_id, now_s)
        service.end_dry_run(request)
        subscription = consumer.subscriptions[shard_id] = ShardSubscription(now_s)
        shard.changed.notify_all()  # ends the subscription that this one replaces
    return Subscription(
        service, stream, shard, consumer, subscription, position, FORMATS[request.wire_format]
    )


def _start(request: Request) -> GivenStart:
    given = request.member("StartingPosition")
    return GivenStart(
        request.action,
        given.text("Type"),
        given.optional_text("SequenceNumber"),
        given.optional_time_ms("Timestamp"),
    )


def _admit(
    service: Service, stream: StoredStream, consumer: RegisteredConsumer, shard_id: str, now_s: float
) -> None:
    if not consumer.rates[shard_id].take(service.settings.limits.subscribe_calls_per_s, now_s):
        raise AwsError(
            "LimitExceededException",
            f"Rate exceeded for consumer {consumer.name} and shard {shard_id} in stream {stream.name} under account "
            f"{stream.account_id}.",
        )


def _check_active(stream: StoredStream, consumer: RegisteredConsumer, now_ms: int) -> None:
    if consumer.status(now_ms) != "ACTIVE":
        raise AwsError(
            "ResourceInUseException",
            f"Consumer {consumer.name} with creation timestamp {consumer.created_s} under stream: {stream.name}, "
            f"account {stream.account_id} is not in ACTIVE status.",
        )


def _check_resubscription(
    service: Service, stream: StoredStream, consumer: RegisteredConsumer, shard_id: str, now_s: float
) -> None:
    """Refuse a new subscription until `resubscribe_after_s` has passed since the last one began, even when that one has ended."""
    last = consumer.subscriptions.get(shard_id)
    if last is not None and now_s < last.started_s + service.settings.resubscribe_after_s:
        raise subscription_in_use(stream.account_id, stream.name, shard_id, consumer.name)


class Subscription:
    """
    One consumer's subscription to one shard.

    The first event comes at once, with or without records. `subscribe_to_shard` has checked the call before.
    """

    def __init__(
        self,
        service: Service,
        stream: StoredStream,
        shard: StoredShard,
        consumer: RegisteredConsumer,
        subscription: ShardSubscription,
        position: LogPosition,
        wire_format: BodyFormat = JSON,
    ) -> None:
        self.fault: EventFault | None = None
        self._service = service
        self._stream = stream
        self._shard = shard
        self._consumer = consumer
        self._subscription = subscription
        self._position = position
        self._wire_format = wire_format
        self._sent = 0
        self._ends_s = subscription.started_s + service.settings.subscription_life_s
        self._heartbeat_s = self._free_s = self._sent_s = subscription.started_s
        self._pause_ends_s: float | None = None
        self._empty_events_sent = 0
        self._is_silent = False
        self._is_over = False
        self._continuation = shard.number_before(position.index, position.scanned_ms // 1000)

    def frames(self) -> Generator[bytes, None, None]:
        """Yield frames as `EventStream` says. The subscription is marked as open in this time."""
        self._subscription.is_open = True
        try:
            yield event_frame("initial-response", self._wire_format.encode({}), self._wire_format)
            while not self._is_over:
                with self._shard.changed:
                    now_s = self._service.clock()
                    finish(self._service.store, self._stream, round(now_s * 1000))
                    frame = self._next_frame(now_s)
                    if not frame and not self._is_over:
                        self._shard.changed.wait(self._wait_s(now_s))
                yield frame
        finally:
            self._subscription.is_open = False

    def _wait_s(self, now_s: float) -> float:
        """Return how long to wait without a change: until the next event is due, if the clock runs in real time."""
        times_s = (self._ends_s, self._heartbeat_s, self._free_s, self._pause_ends_s or 0.0)
        return min([_LONGEST_WAIT_S, *(time_s - now_s for time_s in times_s if time_s > now_s)])

    def _next_frame(self, now_s: float) -> bytes:
        """Return the frame that is due, or `b""`. The caller holds the stream's lock."""
        if self._is_silent:
            return b""
        just_ends = self._is_taken_over() and self._service.settings.taken_over == "ends"
        if now_s >= self._ends_s or just_ends:
            return self._end()
        error = self._find_error()
        if error is not None:
            return self._end(error)
        if self.fault is not None and self._sent >= self.fault.after_events:
            return self._suffer(self.fault, now_s)
        return self._next_event(now_s)

    def _is_taken_over(self) -> bool:
        return self._consumer.subscriptions.get(self._shard.shard_id) is not self._subscription

    def _end(self, error: AwsError | None = None) -> bytes:
        self._is_over = True
        return exception_frame(error.code, error.message, self._wire_format) if error else b""

    def _find_error(self) -> AwsError | None:
        """Return the error that ends the subscription; None while it is the latest one of an unchanged stream and consumer."""
        stream, consumer = self._stream, self._consumer
        if stream.is_deleted:
            return stream_not_found(stream.name, stream.account_id)
        if consumer.gone_ms is not None:
            return consumer_not_found(consumer.arn, stream.account_id)
        if self._is_taken_over():
            return subscription_in_use(stream.account_id, stream.name, self._shard.shard_id, consumer.name)
        return None

    def _suffer(self, fault: EventFault, now_s: float) -> bytes:
        """Apply the next step of *fault*."""
        if self._pause_ends_s is None:
            self._pause_ends_s = self._sent_s + fault.pause_s
        if now_s < self._pause_ends_s:
            return b""
        if self._empty_events_sent < fault.empty_events:
            self._empty_events_sent += 1
            return self._event([], self._tail(fault.millis_behind), now_s)
        if fault.code is not None:
            return self._end(AwsError(fault.code, fault.message))
        self._is_silent = fault.silence
        event = b"" if fault.silence else self._next_event(now_s)
        if event and fault.cut:
            raise CutConnectionError(event)
        return event

    def _next_event(self, now_s: float) -> bytes:
        """Return an event with the next records, or an empty one when a heartbeat is due."""
        if now_s < self._free_s:
            return b""
        shard, now_ms = self._shard, round(now_s * 1000)
        limits = self._service.settings.limits
        size = limits.event_max_records, limits.event_max_bytes
        page = next_page(self._stream, shard, self._position, size, self._service.settings, now_ms)
        has_moved = page.behind_ms > 0 and page.following != self._position
        self._position = page.following or self._position
        is_due = page.start < page.stop or has_moved or page.following is None
        if not is_due and now_s < self._heartbeat_s:
            return b""
        return self._event_of(page, now_s)

    def _event_of(self, page: ReadPage, now_s: float) -> bytes:
        shard, rate = self._shard, self._service.settings.limits.subscribe_bytes_per_s
        if rate is not None:
            self._free_s = now_s + shard.records.data_bytes(page.start, page.stop) / rate
        if page.start < page.stop:
            self._continuation = shard.number_at(page.stop - 1)
        elif page.following is not None:
            number = shard.number_before(page.following.index, page.following.scanned_ms // 1000)
            self._continuation = max(self._continuation, number)
        self._is_over = page.following is None
        records = shard.records.fragments(page.start, page.stop, self._wire_format.name)
        return self._event(records, self._tail(page.behind_ms), now_s)

    def _tail(self, behind_ms: int) -> dict[str, Any]:
        """Return the members of an event other than its records. The last event of a closed shard has the children."""
        if self._is_over:
            children = self._shard.describe_children()
            return {"MillisBehindLatest": 0, "ChildShards": children}
        return {"ContinuationSequenceNumber": str(self._continuation), "MillisBehindLatest": behind_ms}

    def _event(self, records: list[bytes], tail: dict[str, Any], now_s: float) -> bytes:
        self._sent += 1
        self._sent_s = now_s
        self._heartbeat_s = now_s + self._service.settings.heartbeat_s
        payload = self._wire_format.page(records, tail)
        return event_frame("SubscribeToShardEvent", payload, self._wire_format)
