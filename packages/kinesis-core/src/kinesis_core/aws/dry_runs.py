"""
Checks permissions before a query starts, by calls that Kinesis validates and does not carry out.

Kinesis accepts `DryRun` since September 2026. It checks permissions and parameters, and returns DryRunOperationException if the
call would have succeeded. A server that does not know the parameter carries the call out. So each call made here is
harmless even if it is carried out:

* Reading: an iterator costs nothing. GetRecords has a quota that all consumers share. It is called only after the server has
  returned DryRunOperationException for GetShardIterator, and with an iterator after the last record.
* Writing to AWS, which supports dry runs in all regions: a role that writes may lack the permission to read, so no harmless
  call can come first. The record cannot be written anyway: it has no partition key, and a hash key above those of all
  shards. Kinesis checks permissions before parameters. A stream that distributes its records itself ignores both keys;
  there `DryRun` alone keeps the record out.
* Writing to another server: PutRecords is called only after the server has returned DryRunOperationException for
  GetShardIterator. Some servers write any record.

Only a denial stops a query here. Throttles, outages and other responses are ignored: each call is tried once, and the first
failure ends the check.

Source: https://docs.aws.amazon.com/streams/latest/dev/kds-dryrun-validation.html
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, evolve

from kinesis_core.aws.calls import BotoCaller, read_text
from kinesis_core.aws.clients import stream_client
from kinesis_core.aws.connection import Connection, StreamRef
from kinesis_core.aws.fast import BODY, FastPath
from kinesis_core.aws.wire_choice import WireFormat
from kinesis_core.errors import AccessDeniedError, DryRunSucceededError, ServiceError
from kinesis_credentials.endpoints import is_aws_endpoint
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")

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
    """
    Calls on one stream, each made once. Every one raises `ServiceError`s only.

    A dry run raises `DryRunSucceededError` if the call would succeed. It returns if the server carried the call out.
    """

    calls: FastPath
    is_aws: bool
    """Whether the calls go to AWS itself. Another server may not know dry runs."""

    def find_shard(self) -> str | None:
        """Return the id of one shard, from a real ListShards; None if there is no shard."""
        shards: list[str] = self._ask_once(
            "ListShards",
            lambda: self.client.list_shards(**self._stream, MaxResults=1),
            lambda response: [read_text(shard, "ShardId") for shard in json.loads(response[BODY])["Shards"]],
        )
        return shards[0] if shards else None

    def get_iterator(self, shard_id: str, *, dry_run: bool) -> str:
        """Return an iterator after the last record of *shard_id*."""
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


def check_reading(api: BotoDryRuns) -> None:
    """
    Check the permissions for reading the stream, with up to four calls.

    Raises:
        ServiceError: A call is denied, or the stream's KMS key cannot be used.
    """
    _check(lambda: _try_reading(api))


def check_writing(api: BotoDryRuns) -> None:
    """
    Check the permissions for writing to the stream, with up to three calls.

    Raises:
        ServiceError: A call is denied.
    """
    _check(lambda: _try_writing(api))


def _check(attempt: Callable[[], None]) -> None:
    try:
        attempt()
    except ServiceError as error:
        if isinstance(error, AccessDeniedError) or _is_about_key(error):
            raise
        log.debug("permissions.unchecked", reason=error.code)


def _is_about_key(error: ServiceError) -> bool:
    return error.code.startswith("KMS") and not error.retryable


def _try_reading(api: BotoDryRuns) -> None:
    shard_id = api.find_shard()
    if shard_id is None or not _would_succeed(lambda: api.get_iterator(shard_id, dry_run=True)):
        return
    iterator = api.get_iterator(shard_id, dry_run=False)
    _would_succeed(lambda: api.dry_run_get_records(iterator))


def _try_writing(api: BotoDryRuns) -> None:
    shard_id = api.find_shard()
    if api.is_aws or (shard_id is not None and _is_dry(lambda: api.get_iterator(shard_id, dry_run=True))):
        _would_succeed(api.dry_run_put_records)


def _is_dry(dry_run: Callable[[], object]) -> bool:
    """Return whether the server has shown that it knows dry runs. A refusal does not show it."""
    try:
        return _would_succeed(dry_run)
    except ServiceError:
        return False


def _would_succeed(dry_run: Callable[[], object]) -> bool:
    """Return whether the server approved the call without carrying it out; False if it carried the call out."""
    try:
        dry_run()
    except DryRunSucceededError:
        return True
    return False
