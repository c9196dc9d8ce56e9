"""The hosts that calls of this project go to, and the regions that they are signed for. Nothing is sent."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from kinesis_core.aws import Connection, StreamRef, consumer_client, make_client, stream_client
from kinesis_core.model import PutEntry, TrimHorizon
from kinesis_credentials import forget_sessions

_BODIES: dict[str, dict[str, Any]] = {
    "ListShards": {
        "Shards": [
            {
                "ShardId": "shardId-0",
                "HashKeyRange": {"StartingHashKey": "0", "EndingHashKey": "9"},
                "SequenceNumberRange": {"StartingSequenceNumber": "5"},
            }
        ]
    },
    "GetShardIterator": {"ShardIterator": "next"},
    "GetRecords": {"Records": [], "MillisBehindLatest": 0, "NextShardIterator": "next"},
    "PutRecords": {
        "FailedRecordCount": 0,
        "Records": [{"SequenceNumber": "1", "ShardId": "shardId-000000000000"}],
    },
    "DescribeStreamConsumer": {
        "ConsumerDescription": {
            "ConsumerName": "me",
            "ConsumerARN": "arn",
            "ConsumerStatus": "ACTIVE",
            "ConsumerCreationTimestamp": 1.0,
        }
    },
    "DescribeTable": {},
}
_ASSUMED = b"<AssumeRoleResponse><AssumeRoleResult/></AssumeRoleResponse>"


class Call(NamedTuple):
    """A call as it would be sent."""

    action: str
    host: str
    region: str
    """The region in its signature."""


class _Body(io.BytesIO):
    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        yield self.read()


def calls_on(connection: Connection, stream: StreamRef, *, times: int = 2) -> list[Call]:
    """
    Return the calls on *stream*, each made *times* times.

    The first goes through botocore, and later ones of the frequent actions take the fast path.
    """
    api = stream_client(connection, stream)
    shard_id = "shardId-000000000000"
    actions: list[Callable[[], object]] = [
        api.list_shards,
        lambda: api.get_iterator(shard_id, TrimHorizon()),
        lambda: api.get_records("next", 1),
        lambda: api.put_records([PutEntry(b"", "key")]),
    ]
    if stream.arn:
        consumer = f"{stream.arn}/consumer/me:1"
        actions.append(lambda: consumer_client(connection, stream).describe_consumer(consumer))
    return _sent(api.client, [action for action in actions for _ in range(times)])


def without_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Remove the settings of a developer's machine, and forget sessions afterwards. For fixtures."""
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_KINESIS", "AWS_ACCOUNT_ID", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    yield
    forget_sessions()


def host_of(connection: Connection, service: str) -> str:
    """Return the host of a call to another *service*."""
    client = make_client(connection, service)
    action: dict[str, Callable[[], object]] = {
        "sts": lambda: client.assume_role(RoleArn="arn:aws:iam::123456789012:role/me", RoleSessionName="me"),
        "dynamodb": lambda: client.describe_table(TableName="leases"),
    }
    return _sent(client, [action[service]])[0].host


def _sent(client: Any, actions: list[Callable[[], object]]) -> list[Call]:
    calls: list[Call] = []

    def respond(request: Any, **_: Any) -> AWSResponse:
        authorization = request.headers["Authorization"]
        text = authorization if isinstance(authorization, str) else authorization.decode()
        target = request.headers.get("X-Amz-Target", b"AssumeRole")
        action = (target if isinstance(target, str) else target.decode()).rpartition(".")[2]
        host = urlsplit(request.url).netloc
        calls.append(Call(action, host, text.partition("Credential=")[2].split("/")[2]))
        body = _ASSUMED if action == "AssumeRole" else json.dumps(_BODIES[action]).encode()
        return AWSResponse(request.url, 200, HTTPHeaders(), _Body(body))

    client.meta.events.register_first("before-send", respond)
    try:
        for action in actions:
            action()
    finally:
        client.meta.events.unregister("before-send", respond)
    return calls
