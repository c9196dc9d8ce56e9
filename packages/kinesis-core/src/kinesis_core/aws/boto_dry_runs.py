"""Dry runs through botocore, for the checks of permissions in `dry_runs.py`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from attrs import define, evolve

from kinesis_core.aws.calls import BotoCaller, read_text
from kinesis_core.aws.clients import stream_client
from kinesis_core.aws.connection import Connection, StreamRef
from kinesis_core.aws.fast import BODY, FastPath
from kinesis_core.aws.wire_choice import WireFormat
from kinesis_credentials.endpoints import is_aws_endpoint

_PARAMETER = "DryRun"
_UNWRITABLE = {"Data": "", "ExplicitHashKey": str(2**128)}
"""
A record without a partition key, and with a hash key one above the last shard's. A stream that routes by keys refuses it.
"""


def dry_run_client(connection: Connection, stream: StreamRef) -> BotoDryRuns | None:
    """
    Return this process's client for dry runs on *stream*, or None if `checkPermissions` is off or the installed botocore does
    not know the parameter. It makes no call.

    Raises:
        CredentialsError: There are no credentials.
    """
    api = stream_client(connection, stream)
    if not connection.check_permissions or not knows_dry_run(api.client):
        return None
    is_aws = is_aws_endpoint(api.client.meta.endpoint_url)
    calls = evolve(api.calls, wire_format=WireFormat.JSON)
    return BotoDryRuns(api.client, api.name, api.arn, api.policy, api.clock, api.rng, calls, is_aws)


def knows_dry_run(client: Any) -> bool:
    """Return whether the botocore of *client* knows the parameter `DryRun`."""
    model = client.meta.service_model.operation_model("GetRecords")
    return _PARAMETER in model.input_shape.members


@define
class BotoDryRuns(BotoCaller):
    """Dry runs on one stream."""

    calls: FastPath
    is_aws: bool

    def find_shard(self) -> str | None:
        shards: list[str] = self._ask_once(
            "ListShards",
            lambda: self.client.list_shards(**self._stream, MaxResults=1),
            lambda response: [read_text(shard, "ShardId") for shard in response["Shards"]],
        )
        return shards[0] if shards else None

    def get_iterator(self, shard_id: str, *, dry_run: bool) -> str:
        request = {"ShardId": shard_id, "ShardIteratorType": "LATEST", _PARAMETER: dry_run}
        return self._ask_once(
            "GetShardIterator",
            lambda: self._send("GetShardIterator", self._stream, request),
            lambda response: read_text(json.loads(response[BODY]), "ShardIterator"),
            shard=shard_id,
        )

    def dry_run_get_records(self, iterator: str) -> None:
        stream = {"StreamARN": self.arn} if self.arn else {}
        request = {"ShardIterator": iterator, "Limit": 1, _PARAMETER: True}
        self._call("GetRecords", lambda: self._send("GetRecords", stream, request))

    def dry_run_put_records(self) -> None:
        request = {"Records": [_UNWRITABLE], _PARAMETER: True}
        self._call("PutRecords", lambda: self._send("PutRecords", self._stream, request))

    def _send(self, action: str, stream: Mapping[str, str], request: Mapping[str, Any]) -> dict[str, Any]:
        return self.calls.call(action, stream, json.dumps({**stream, **request}).encode())
