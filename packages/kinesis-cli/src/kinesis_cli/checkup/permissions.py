"""Each IAM action that reading or writing needs, one by one. Nothing is claimed about an action that cannot be tried harmlessly."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator

from kinesis_cli.checkup.checked_stream import CheckedStream
from kinesis_cli.checkup.findings import Finding, failed, ok, unchecked
from kinesis_core import AccessDeniedError, InvalidRequestError, ServiceError, StreamNotFoundError
from kinesis_core.aws import dry_run_client

_ALLOWED = "allowed"
_NO_DRY_RUN = "the server does not support DryRun, and a real call could have an effect"


def _succeeds_dry(error: ServiceError) -> bool:
    return error.code == "DryRunOperationException"


def _try(check: str, call: Callable[[], object], allowing: Callable[[ServiceError], bool]) -> Finding:
    """Make a call. It is allowed if it returns, or if its error is one that comes only after the check of permissions."""
    try:
        call()
    except ServiceError as error:
        if allowing(error):
            return ok(check, _ALLOWED)
        if isinstance(error, AccessDeniedError) or error.code.startswith("KMS"):
            return failed(check, error)
        return unchecked(check, error)
    return ok(check, _ALLOWED)


def check_reading(checked: CheckedStream) -> Iterator[Finding]:
    """Check ListShards and GetShardIterator by calls without effect, and GetRecords by a dry run."""
    dry_runs = dry_run_client(checked.connection, checked.ref)

    def list_shards() -> None:
        shards = checked.api.list_shards(only_open=True)
        checked.shard_id = shards[0].shard_id if shards else None

    yield _try("kinesis:ListShards", list_shards, _succeeds_dry)
    shard_id = checked.shard_id
    if shard_id is None or dry_runs is None:
        reason = "no shard is known" if shard_id is None else "the installed botocore does not know DryRun"
        yield unchecked("kinesis:GetShardIterator", reason)
        yield unchecked("kinesis:GetRecords", reason)
        return
    iterators: list[str] = []
    yield _try(
        "kinesis:GetShardIterator",
        lambda: iterators.append(dry_runs.get_iterator(shard_id, dry_run=False)),
        _succeeds_dry,
    )
    checked.knows_dry_run = bool(iterators) and _is_dry(lambda: dry_runs.get_iterator(shard_id, dry_run=True))
    if not iterators:
        yield unchecked("kinesis:GetRecords", "it needs an iterator")
    elif not checked.knows_dry_run:
        yield unchecked("kinesis:GetRecords", _NO_DRY_RUN)
    else:
        yield _try("kinesis:GetRecords", lambda: dry_runs.dry_run_get_records(iterators[0]), _succeeds_dry)


def _is_dry(call: Callable[[], object]) -> bool:
    try:
        call()
    except ServiceError as error:
        return _succeeds_dry(error)
    return False


def check_writing(checked: CheckedStream) -> Iterator[Finding]:
    """Check PutRecords by a dry run, of a record that could not be written anyway. AWS checks permissions before parameters."""
    check = "kinesis:PutRecords"
    dry_runs = dry_run_client(checked.connection, checked.ref)
    if dry_runs is None:
        yield unchecked(check, "the installed botocore does not know DryRun")
    elif not (checked.is_aws or checked.knows_dry_run):
        yield unchecked(check, _NO_DRY_RUN)
    else:
        yield _try(
            check,
            dry_runs.dry_run_put_records,
            lambda error: _succeeds_dry(error) or isinstance(error, InvalidRequestError),
        )


def check_fan_out(checked: CheckedStream) -> Iterator[Finding]:
    """Check what enhanced fan-out needs as far as that has no effect: by a consumer that does not exist."""
    if checked.arn is None:
        yield unchecked("kinesis:DescribeStreamConsumer", "the ARN of the stream is not known")
        return
    nobody = {"StreamARN": checked.arn, "ConsumerName": f"kinesis-doctor-{secrets.token_hex(8)}"}
    for action in ("DescribeStreamConsumer", "DeregisterStreamConsumer"):
        yield _try(
            f"kinesis:{action}",
            lambda action=action: checked.api.ask(action, **nobody),  # type: ignore[misc]
            lambda error: isinstance(error, StreamNotFoundError),
        )
    yield unchecked(
        "kinesis:RegisterStreamConsumer", "it has no dry run, and a real call would have an effect"
    )
    yield _check_subscribing(checked, checked.arn)


def _check_subscribing(checked: CheckedStream, stream_arn: str) -> Finding:
    """Dry-run a subscription of any registered consumer. Carried out, it would end the subscription of that consumer's reader."""
    check = "kinesis:SubscribeToShard"
    if not checked.knows_dry_run or checked.shard_id is None:
        return unchecked(check, _NO_DRY_RUN)
    try:
        consumers = checked.list_consumers(stream_arn)
    except ServiceError as error:
        return unchecked(check, error)
    if not consumers:
        return unchecked(check, "a dry run needs a registered consumer")
    request = {
        "ConsumerARN": consumers[0].arn,
        "ShardId": checked.shard_id,
        "StartingPosition": {"Type": "LATEST"},
        "DryRun": True,
    }
    return _try(check, lambda: checked.api.ask("SubscribeToShard", **request), _succeeds_dry)
