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

from collections.abc import Callable
from typing import Protocol

from kinesis_core.errors import AccessDeniedError, DryRunSucceededError, ServiceError
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")


class DryRunApi(Protocol):
    """
    Calls on one stream, each made once. Every one raises `ServiceError`s only.

    A dry run raises `DryRunSucceededError` if the call would succeed. It returns if the server carried the call out.
    """

    is_aws: bool
    """Whether the calls go to AWS itself. Another server may not know dry runs."""

    def find_shard(self) -> str | None:
        """Return the id of one shard, from a real ListShards; None if there is no shard."""
        ...

    def get_iterator(self, shard_id: str, *, dry_run: bool) -> str:
        """Return an iterator after the last record of *shard_id*."""
        ...

    def dry_run_get_records(self, iterator: str) -> None:
        """Dry-run GetRecords for one record."""
        ...

    def dry_run_put_records(self) -> None:
        """Dry-run PutRecords with a record that cannot be written."""
        ...


def check_reading(api: DryRunApi) -> None:
    """
    Check the permissions for reading the stream, with up to four calls.

    Raises:
        ServiceError: A call is denied, or the stream's KMS key cannot be used.
    """
    _check(lambda: _try_reading(api))


def check_writing(api: DryRunApi) -> None:
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
