"""
Subscriptions to a shard as boto3 reads them, and as frames for servers that boto3 cannot read.

kinesis-local sends no `initial-response`, and boto3 raises an error without it. So its frames are read by hand, only
here.
"""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.eventstream import EventStreamBuffer

from support.waiting import PATIENCE_S


@dataclass(frozen=True)
class Event:
    """The content of one event of a subscription."""

    data: list[bytes]
    numbers: list[str]
    continuation: str | None
    behind_ms: int
    children: list[dict[str, Any]]


@dataclass(frozen=True)
class Frame:
    """One frame as it was sent."""

    headers: dict[str, str]
    payload: dict[str, Any]


@contextmanager
def events_by_boto3(client: Any, **params: Any) -> Iterator[Iterator[Event]]:
    """Yield the events of a subscription through an unpatched boto3."""
    stream = client.subscribe_to_shard(**params)["EventStream"]
    try:
        yield (_event(event["SubscribeToShardEvent"]) for event in stream)
    finally:
        stream.close()


@contextmanager
def events_by_frame(client: Any, **params: Any) -> Iterator[Iterator[Event]]:
    """Yield the events of a subscription, with or without an `initial-response`."""
    with frames_of(client, **params) as frames:
        yield (
            _event(frame.payload) for frame in frames if frame.headers[":event-type"] != "initial-response"
        )


@contextmanager
def frames_of(client: Any, **params: Any) -> Iterator[Iterator[Frame]]:
    """Yield the frames of a subscription as they arrive. A refusal is raised as the client's own error."""
    url = client.meta.endpoint_url
    request = _signed(url, json.dumps(params).encode())
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE_S)
    try:
        connection.request("POST", "/", request.data, dict(request.headers))
        response = connection.getresponse()
        if response.status != 200:
            error = json.loads(response.read())
            facts = {"Code": error["__type"], "Message": error.get("message", "")}
            raise client.exceptions.ClientError({"Error": facts}, "SubscribeToShard")
        yield _frames(response)
    finally:
        connection.close()


def _signed(url: str, body: bytes) -> AWSRequest:
    headers = {
        "X-Amz-Target": "Kinesis_20131202.SubscribeToShard",
        "Content-Type": "application/x-amz-json-1.1",
    }
    request = AWSRequest("POST", f"{url}/", data=body, headers=headers)
    SigV4Auth(Credentials("key", "secret"), "kinesis", "us-east-1").add_auth(request)
    return request


def _frames(response: http.client.HTTPResponse) -> Iterator[Frame]:
    buffer = EventStreamBuffer()
    while chunk := response.read1(65536):
        buffer.add_data(chunk)
        for message in buffer:
            yield Frame(message.to_response_dict()["headers"], json.loads(message.payload or b"{}"))


def _event(payload: dict[str, Any]) -> Event:
    records = payload["Records"]
    return Event(
        [_data(record["Data"]) for record in records],
        [record["SequenceNumber"] for record in records],
        payload.get("ContinuationSequenceNumber"),
        payload["MillisBehindLatest"],
        payload.get("ChildShards") or [],
    )


def _data(value: bytes | str) -> bytes:
    return value if isinstance(value, bytes) else base64.b64decode(value)
