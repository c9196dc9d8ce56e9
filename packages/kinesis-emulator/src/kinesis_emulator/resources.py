"""What has tags and a policy: a stream, or a consumer. A request names it by its ARN."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from kinesis_emulator.consumers import RegisteredConsumer
from kinesis_emulator.errors import AwsError, consumer_not_found, invalid_argument
from kinesis_emulator.requests import Request
from kinesis_emulator.service import Service
from kinesis_emulator.store import StoredStream


@dataclass(frozen=True)
class Resource:
    """A stream or consumer with its tags and its policy."""

    stream: StoredStream
    owned: StoredStream | RegisteredConsumer
    title: str
    """Its name in messages."""

    @contextmanager
    def change(self) -> Iterator[None]:
        """Hold the stream's lock for a change, and keep the change in the folder."""
        with self.stream.lock:
            yield
            self.stream.save()


def resource_of(stream: StoredStream) -> Resource:
    """Return *stream* as a resource."""
    return Resource(stream, stream, f"stream {stream.name} under account {stream.account_id}")


def find_consumer(service: Service, request: Request) -> tuple[StoredStream, RegisteredConsumer]:
    """Return the consumer that *request* names by ARN, or by its stream's ARN and its name."""
    arn, name = request.optional_text("ConsumerARN"), request.optional_text("ConsumerName")
    stream_arn, now_ms = request.optional_text("StreamARN"), service.now_ms()
    if arn is None and (stream_arn is None or name is None):
        raise invalid_argument("Either ConsumerARN, or both StreamARN and ConsumerName, must be specified.")
    if arn is not None:
        own_stream_arn, _, path = arn.partition("/consumer/")
        own_name = path.rpartition(":")[0]
        if stream_arn not in (None, own_stream_arn) or name not in (None, own_name):
            raise invalid_argument(
                f"ConsumerARN {arn} does not fit the other parameters that name the consumer."
            )
        stream_arn, name = own_stream_arn, own_name
    stream = service.stream(stream_arn or "", now_ms)
    with stream.lock:
        consumer = stream.consumers.get(name or "", now_ms)
    if consumer is None or arn not in (None, consumer.arn):
        raise consumer_not_found(arn or name or "", stream.account_id)
    return stream, consumer


def find_resource(service: Service, request: Request) -> Resource:
    """
    Return the stream or consumer that ResourceARN names.

    Raises:
        AwsError: ResourceNotFoundException, also for a queue or a channel.
    """
    arn = request.text("ResourceARN")
    if "/consumer/" in arn:
        stream, consumer = find_consumer(service, replace(request, params={"ConsumerARN": arn}))
        return Resource(stream, consumer, f"consumer {consumer.name} under account {stream.account_id}")
    if ":stream/" not in arn:
        raise AwsError("ResourceNotFoundException", f"Resource {arn} not found.")
    return resource_of(service.usable_stream(arn, request.action))
