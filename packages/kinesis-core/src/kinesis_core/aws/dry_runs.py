"""
The check of permissions before a query starts, by calls that Kinesis checks and does not carry out.

Kinesis takes `DryRun` since September 2026. It checks permissions and parameters, and answers with
DryRunOperationException where the call would have succeeded. A server that does not know the parameter carries the call
out. So no call is made here that does harm when it is carried out:

* Reading: an iterator costs nothing. GetRecords, whose quota all consumers share, is called only after the server has
  answered a dry run of GetShardIterator with DryRunOperationException, and with an iterator behind the last record.
* Writing to AWS, which knows dry runs in all regions: a role that writes need not be allowed to read, so that no harmless
  call comes first. The record is one that cannot be written, besides: without a partition key, and with a hash key
  beyond those of all shards. Kinesis looks at permissions first and at parameters then. A stream that distributes its
  records itself ignores both keys, so there `DryRun` alone keeps the record out.
* Writing to another server: PutRecords is called only after the server has answered a dry run of GetShardIterator. Some
  servers write whatever record they get.

Only a denial stops a query here. Throttles, outages and servers that answer in other ways count for nothing: each call
is tried once, and the first one that fails ends the check.

Source: https://docs.aws.amazon.com/streams/latest/dev/kds-dryrun-validation.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kinesis_core.errors import AccessDeniedError, DryRunSucceededError, ServiceError
from kinesis_core.logs import get_logger

log = get_logger("kinesis_core")

_ONLY_EXECUTORS = "The driver checks this before a query starts. If only the executors' credentials allow it, set checkPermissions=false."


class DryRunApi(Protocol):
    """
    Calls on one stream, each made once. Every one raises `ServiceError`s only.

    A dry run raises `DryRunSucceededError` when the call would succeed; it returns when the server carried it out.
    """

    is_aws: bool
    """Whether the calls go to AWS itself, and not to a server that may not know dry runs."""

    def find_shard(self) -> str | None:
        """Return one shard's id, by a ListShards that is carried out; None when there is no shard."""
        ...

    def get_iterator(self, shard_id: str, *, dry_run: bool) -> str:
        """Return an iterator behind the last record of *shard_id*."""
        ...

    def dry_run_get_records(self, iterator: str) -> None:
        """Dry-run GetRecords for one record."""
        ...

    def dry_run_put_records(self) -> None:
        """Dry-run PutRecords with a record that cannot be written."""
        ...


def check_reading(api: DryRunApi) -> None:
    """
    Check that everything is allowed that reading the stream takes, with up to four calls.

    Raises:
        ServiceError: A call is denied, or the stream's KMS key cannot be used.
    """
    _check(lambda: _try_reading(api))


def check_writing(api: DryRunApi) -> None:
    """
    Check that everything is allowed that writing to the stream takes, with up to three calls.

    Raises:
        ServiceError: A call is denied.
    """
    try:
        _check(lambda: _try_writing(api))
    except ServiceError as error:
        said = f"{error} {_ONLY_EXECUTORS}"
        raise type(error)(said, error.code, error.request_id) from error.__cause__


def _check(attempt: Callable[[], None]) -> None:
    try:
        attempt()
    except ServiceError as error:
        if isinstance(error, AccessDeniedError) or _is_about_key(error):
            raise
        log.debug("permissions.unchecked", reason=error.code)


def _is_about_key(error: ServiceError) -> bool:
    return error.code.startswith("KMS") and not error.retryable


def _try_reading(api: DryRunApi) -> None:
    shard_id = api.find_shard()
    if shard_id is None or not _would_succeed(lambda: api.get_iterator(shard_id, dry_run=True)):
        return
    iterator = api.get_iterator(shard_id, dry_run=False)
    _would_succeed(lambda: api.dry_run_get_records(iterator))


def _try_writing(api: DryRunApi) -> None:
    shard_id = api.find_shard()
    if api.is_aws or (shard_id is not None and _is_dry(lambda: api.get_iterator(shard_id, dry_run=True))):
        _would_succeed(api.dry_run_put_records)


def _is_dry(dry_run: Callable[[], object]) -> bool:
    """Return whether the server answered as one that knows dry runs; a refusal, too, leaves that open."""
    try:
        return _would_succeed(dry_run)
    except ServiceError:
        return False


def _would_succeed(dry_run: Callable[[], object]) -> bool:
    """Return whether the server checked the call and found nothing; False when it carried the call out."""
    try:
        dry_run()
    except DryRunSucceededError:
        return True
    return False
