"""
Enhanced fan-out through botocore over HTTP/1.1. This module reads the events itself.

botocore's event stream parses each record in Python, requires an `initial-response` that not every server sends, and
raises urllib3's errors when a connection breaks. So the open connection is taken from it before it parses.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from typing import Any

import botocore
import msgspec
from attrs import define
from botocore.client import BaseClient
from botocore.exceptions import EventStreamError
from urllib3.exceptions import HTTPError

from kinesis_core.aws.calls import BotoCaller, read_optional_text, read_text
from kinesis_core.aws.event_stream import Frame, read_frames
from kinesis_core.aws.fast import decode_event
from kinesis_core.aws.retry import Throttles
from kinesis_core.aws.service_errors import MALFORMED, malformed, translate
from kinesis_core.aws.stream_api import Consumer
from kinesis_core.errors import OptionError, ServiceError, UnavailableError
from kinesis_core.model import After, At, Cut, Latest, SubscribedPage, TrimHorizon

_CONNECTION = "KinesisCoreConnection"
_ACTION = "SubscribeToShard"
_BROKEN = (HTTPError, OSError)
_OPENED = SubscribedPage([], 0)


def take_connection(client: BaseClient) -> None:
    """Make *client* return SubscribeToShard's open connection unread. botocore still reads errors. Idempotent."""
    client.meta.events.register(f"before-parse.kinesis.{_ACTION}", _take_connection, unique_id=_CONNECTION)


def _take_connection(
    response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any
) -> None:
    if response_dict["status_code"] < 300:
        customized_response_dict[_CONNECTION] = response_dict["body"]
        response_dict["body"] = _Greeting()


class _Greeting:
    """The body that botocore reads instead: only the frame that it requires first."""

    def stream(self) -> Iterator[bytes]:
        headers = b"\x0b:event-type\x07\x00\x10initial-response"
        prelude = struct.pack("!II", 16 + len(headers), len(headers))
        frame = prelude + struct.pack("!I", zlib.crc32(prelude)) + headers
        yield frame + struct.pack("!I", zlib.crc32(frame))

    def close(self) -> None:
        pass


@define
class BotoSubscribeApi(BotoCaller):
    """Subscriptions of one consumer, through a client that `take_connection` was called with."""

    consumer: str

    def subscribe(
        self, shard_id: str, cut: Cut | Latest, with_data: bool = True
    ) -> Generator[SubscribedPage, None, None]:
        where = {"shard": shard_id, "consumer": self.consumer}
        request = {"ConsumerARN": self.consumer, "ShardId": shard_id, "StartingPosition": _position(cut)}
        connection, metadata = self._ask(
            _ACTION,
            lambda: self._open(request, self._where(where)),
            lambda response: (response[_CONNECTION], response["ResponseMetadata"]),
            Throttles.RAISED,
            **where,
        )
        events = _events(connection, self._where(where), metadata, with_data)
        next(events)  # closing a generator that has not started would leave the connection open
        return events

    def _open(self, request: Mapping[str, Any], where: Mapping[str, str]) -> dict[str, Any]:
        try:
            response: dict[str, Any] = self.client.subscribe_to_shard(**request)
        except _BROKEN as error:  # while botocore reads an error, it raises these, too
            raise _broken_off(error, where) from error
        return response


def _position(cut: Cut | Latest) -> dict[str, str]:
    match cut:
        case Latest():
            return {"Type": "LATEST"}
        case TrimHorizon():
            return {"Type": "TRIM_HORIZON"}
        case At(number):
            return {"Type": "AT_SEQUENCE_NUMBER", "SequenceNumber": str(number)}
        case After(number):
            return {"Type": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": str(number)}
        case _:
            raise ValueError("a subscription starts at a record, at TRIM_HORIZON or at LATEST")


def _events(
    connection: Any, where: Mapping[str, str], metadata: Mapping[str, Any], with_data: bool
) -> Generator[SubscribedPage, None, None]:
    with closing(connection):
        yield _OPENED
        try:
            for frame in read_frames(_pieces(connection, where)):
                if frame.headers.get(":message-type") != "event":
                    raise _refusal(frame, where, metadata)
                if frame.headers.get(":event-type") != "initial-response":
                    yield decode_event(frame.received, with_data, frame.start, frame.stop)
        except MALFORMED as error:
            raise malformed(_ACTION, where, error, metadata=metadata) from error


def _pieces(connection: Any, where: Mapping[str, str]) -> Iterator[bytes]:
    try:
        yield from connection.stream()
    except _BROKEN as error:
        raise _broken_off(error, where) from error


def _broken_off(error: Exception, where: Mapping[str, str]) -> UnavailableError:
    code = type(error).__name__
    return UnavailableError(f"The subscription broke off: {code}: {error}.", code, **where)


def _refusal(frame: Frame, where: Mapping[str, str], metadata: Mapping[str, Any]) -> ServiceError:
    """Return the error that ends an event stream: one that the API documents, or any other."""
    code = frame.headers.get(":exception-type") or frame.headers.get(":error-code") or "Unknown"
    response: Any = {"Error": {"Code": code, "Message": _message_of(frame)}, "ResponseMetadata": metadata}
    return translate(_ACTION, where, EventStreamError(response, _ACTION))


def _message_of(frame: Frame) -> str:
    """Return the service's message: from a header, or from a JSON object with a `message`."""
    text: str | None = frame.headers.get(":error-message")
    if text is None:
        try:
            text = msgspec.json.decode(frame.payload, type=_Reason).message
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            text = bytes(frame.payload).decode(errors="replace")
    return text


class _Reason(msgspec.Struct):
    message: str = ""


@define
class BotoConsumerApi(BotoCaller):
    """The consumers of a stream whose ARN is known. AWS does not list them without it."""

    def describe_consumer(self, name_or_arn: str) -> Consumer:
        request = {"StreamARN": self.arn, "ConsumerName": name_or_arn}
        if name_or_arn.startswith("arn:"):
            request = {"ConsumerARN": name_or_arn}
        return self._ask(
            "DescribeStreamConsumer",
            lambda: self.client.describe_stream_consumer(**request),
            lambda response: _consumer(response["ConsumerDescription"]),
            Throttles.COUNTED,
            consumer=name_or_arn,
        )

    def list_consumers(self) -> list[Consumer]:
        """Return all consumers of the stream, by name. Limit: 5 calls/s per stream."""
        request: dict[str, Any] = {"StreamARN": self.arn}
        consumers, token = self._list_consumers(request)
        while token:
            more, token = self._list_consumers({**request, "NextToken": token})
            consumers += more
        return sorted(consumers, key=lambda consumer: consumer.name)

    def _list_consumers(self, request: Mapping[str, Any]) -> tuple[list[Consumer], str | None]:
        return self._ask(
            "ListStreamConsumers",
            lambda: self.client.list_stream_consumers(**request),
            lambda response: (
                [_consumer(facts) for facts in response["Consumers"]],
                read_optional_text(response, "NextToken"),
            ),
        )

    def register_consumer(self, name: str, tags: Mapping[str, str] | None = None) -> Consumer:
        tagged = {"Tags": dict(tags)} if tags else {}
        known = self.client.meta.service_model.operation_model("RegisterStreamConsumer").input_shape.members
        if tagged and "Tags" not in known:
            raise OptionError(
                f"botocore {botocore.__version__} cannot register a consumer with tags. Upgrade boto3, or leave out the tags."
            )
        return self._ask(
            "RegisterStreamConsumer",
            lambda: self.client.register_stream_consumer(StreamARN=self.arn, ConsumerName=name, **tagged),
            lambda response: _consumer(response["Consumer"]),
            Throttles.COUNTED,
            consumer=name,
        )

    def deregister_consumer(self, arn: str) -> None:
        self._ask(
            "DeregisterStreamConsumer",
            lambda: self.client.deregister_stream_consumer(ConsumerARN=arn),
            lambda _: None,
            Throttles.COUNTED,
            consumer=arn,
        )


def _consumer(facts: Mapping[str, Any]) -> Consumer:
    return Consumer(
        read_text(facts, "ConsumerName"),
        read_text(facts, "ConsumerARN"),
        read_text(facts, "ConsumerStatus"),
        round(facts["ConsumerCreationTimestamp"].timestamp() * 1000),
    )
