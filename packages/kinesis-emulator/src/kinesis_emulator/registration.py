"""RegisterStreamConsumer, DescribeStreamConsumer, ListStreamConsumers and DeregisterStreamConsumer."""

from __future__ import annotations

from typing import Any

from kinesis_emulator.cbor import Time
from kinesis_emulator.consumers import RegisteredConsumer
from kinesis_emulator.errors import AwsError, invalid_argument, stream_not_found
from kinesis_emulator.iterators import decode_token, encode_token
from kinesis_emulator.requests import Request
from kinesis_emulator.resources import find_consumer
from kinesis_emulator.service import Service
from kinesis_emulator.store import StoredStream
from kinesis_emulator.tags import new_tags, read_tags

_PAGE = 100


def register_consumer(service: Service, request: Request) -> dict[str, Any]:
    name = request.text("ConsumerName")
    stream = service.find_stream(request)
    rate = service.settings.limits.register_consumer_per_s
    service.admit(request.action, f"account {stream.account_id}", rate)
    owner = f"consumer {name} under account {stream.account_id}"
    tags = new_tags(owner, {}, read_tags(request))
    consumer = register(service, stream, name, service.settings.consumer_creating_s, tags)
    return {"Consumer": {**_facts(consumer, service.now_ms()), "ConsumerStatus": "CREATING"}}


def register(
    service: Service,
    stream: StoredStream,
    name: str,
    creating_s: float,
    tags: dict[str, str] | None = None,
) -> RegisteredConsumer:
    """Register a consumer that is CREATING for *creating_s*; raise a ResourceInUseException if the stream has one of that name."""
    now_ms = service.now_ms()
    creating = _count_creating(service, stream, now_ms)
    with stream.lock:
        if stream.consumers.get(name, now_ms):
            raise AwsError(
                "ResourceInUseException",
                f"Consumer {name} under stream {stream.name} already exists for account {stream.account_id}.",
            )
        _check_quotas(service, stream, now_ms, creating)
        active_ms = now_ms + round(creating_s * 1000)
        consumer = stream.consumers.add(name, stream.arn, now_ms, active_ms, tags or {})
        stream.save()
        return consumer


def _count_creating(service: Service, stream: StoredStream, now_ms: int) -> int:
    count = 0
    for other in service.store.list(stream.region, stream.account_id):
        with other.lock:
            count += sum(one.status(now_ms) == "CREATING" for one in other.consumers.known(now_ms))
    return count


def _check_quotas(service: Service, stream: StoredStream, now_ms: int, creating: int) -> None:
    limits = service.settings.limits
    most = limits.consumers_per_stream
    if most is not None and len(stream.consumers.known(now_ms)) >= most:
        raise AwsError(
            "LimitExceededException",
            f"Stream {stream.name} under account {stream.account_id} already has the maximum of {most} consumers.",
        )
    if limits.consumers_creating is not None and creating >= limits.consumers_creating:
        raise AwsError(
            "LimitExceededException",
            f"Account {stream.account_id} already has the maximum of {creating} consumers in CREATING status.",
        )


def describe_consumer(service: Service, request: Request) -> dict[str, Any]:
    stream, consumer = find_consumer(service, request)
    rate = service.settings.limits.describe_consumer_per_s
    service.admit(request.action, f"stream {stream.name}", rate)
    return {"ConsumerDescription": {**_facts(consumer, service.now_ms()), "StreamARN": stream.arn}}


def list_consumers(service: Service, request: Request) -> dict[str, Any]:
    stream, now_ms = service.find_stream(request), service.now_ms()
    service.admit(request.action, f"stream {stream.name}", service.settings.limits.list_consumers_per_s)
    limit = min(request.optional_integer("MaxResults") or _PAGE, _PAGE)
    after = _listed_before(service, request, stream, now_ms)
    with stream.lock:
        consumers = [consumer for consumer in stream.consumers.known(now_ms) if consumer.name > after]
    page = consumers[:limit]
    response: dict[str, Any] = {"Consumers": [_facts(consumer, now_ms) for consumer in page]}
    if len(consumers) > limit:
        state = {"stream_arn": stream.arn, "stream_created_ms": stream.created_ms, "after": page[-1].name}
        response["NextToken"] = encode_token(state, now_ms)
    return response


def _listed_before(service: Service, request: Request, stream: StoredStream, now_ms: int) -> str:
    """Return the last name of the previous page; "" for the first page."""
    token, created_ms = (
        request.optional_text("NextToken"),
        request.optional_time_ms("StreamCreationTimestamp"),
    )
    if token is None:
        if created_ms not in (None, stream.created_ms):
            raise stream_not_found(stream.name, stream.account_id)
        return ""
    if created_ms is not None:
        raise invalid_argument("NextToken and StreamCreationTimestamp cannot be provided together.")
    state = decode_token(token, now_ms, service.settings.token_life_s)
    if (state["stream_arn"], state["stream_created_ms"]) != (stream.arn, stream.created_ms):
        raise invalid_argument(f"NextToken was not made for the stream {stream.arn}.")
    return str(state["after"])


def deregister_consumer(service: Service, request: Request) -> None:
    stream, consumer = find_consumer(service, request)
    service.admit(request.action, f"stream {stream.name}", service.settings.limits.deregister_consumer_per_s)
    deregister(service, stream, consumer, service.settings.consumer_deleting_s)


def deregister(
    service: Service, stream: StoredStream, consumer: RegisteredConsumer, deleting_s: float
) -> None:
    """Delete *consumer*, once it was DELETING for *deleting_s*. Its subscriptions end at once."""
    with stream.lock:
        if consumer.gone_ms is None:
            consumer.gone_ms = service.now_ms() + round(deleting_s * 1000)
            stream.save()
    stream.wake()


def _facts(consumer: RegisteredConsumer, now_ms: int) -> dict[str, Any]:
    return {
        "ConsumerName": consumer.name,
        "ConsumerARN": consumer.arn,
        "ConsumerStatus": consumer.status(now_ms),
        "ConsumerCreationTimestamp": Time(consumer.created_s * 1000),
    }
