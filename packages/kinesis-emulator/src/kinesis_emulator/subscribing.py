"""SubscribeToShard: checks a new subscription, and ends the one that it replaces."""

from __future__ import annotations

from kinesis_emulator.consumers import Consumer, ShardSubscription
from kinesis_emulator.errors import AwsError, subscription_in_use, validation
from kinesis_emulator.positions import START_TYPES, Start, known_shard, start_position
from kinesis_emulator.registration import find_consumer
from kinesis_emulator.requests import Request
from kinesis_emulator.service import Service
from kinesis_emulator.store import Stream
from kinesis_emulator.subscriptions import Subscription
from kinesis_emulator.wire_formats import FORMATS


def subscribe_to_shard(service: Service, request: Request) -> Subscription:
    request.text("ConsumerARN")
    shard_id, start = request.text("ShardId"), _start(request)
    stream, consumer = find_consumer(service, request)
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


def _start(request: Request) -> Start:
    given = request.member("StartingPosition")
    if not given.params:
        raise validation("StartingPosition", None, "Member must not be null")
    kind = given.choice("Type", START_TYPES)
    return Start(
        request.action, kind, given.optional_text("SequenceNumber"), given.optional_time_ms("Timestamp")
    )


def _admit(service: Service, stream: Stream, consumer: Consumer, shard_id: str, now_s: float) -> None:
    rate, window = service.settings.limits.subscribe_calls_per_s, consumer.rates[shard_id]
    if not window.admits(rate, now_s):
        raise AwsError(
            "LimitExceededException",
            f"Rate exceeded for consumer {consumer.name} and shard {shard_id} in stream {stream.name} under account "
            f"{stream.account_id}.",
        )
    window.add(rate, now_s)


def _check_active(stream: Stream, consumer: Consumer, now_ms: int) -> None:
    if consumer.status(now_ms) != "ACTIVE":
        raise AwsError(
            "ResourceInUseException",
            f"Consumer {consumer.name} with creation timestamp {consumer.created_s} under stream: {stream.name}, "
            f"account {stream.account_id} is not in ACTIVE status.",
        )


def _check_resubscription(
    service: Service, stream: Stream, consumer: Consumer, shard_id: str, now_s: float
) -> None:
    """Refuse a new subscription until `resubscribe_after_s` has passed since the last one began, even when that one has ended."""
    last = consumer.subscriptions.get(shard_id)
    if last is not None and now_s < last.started_s + service.settings.resubscribe_after_s:
        raise subscription_in_use(stream.account_id, stream.name, shard_id, consumer.name)
