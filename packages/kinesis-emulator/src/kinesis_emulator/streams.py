"""Operations on whole streams: create, delete, describe, list, and change retention, record size and distribution."""

from __future__ import annotations

from typing import Any, cast

from kinesis_emulator.cbor import Time
from kinesis_emulator.encryption import DEFAULT_KEY
from kinesis_emulator.errors import AwsError, invalid_argument
from kinesis_emulator.quotas import check_creation, check_on_demand, count_change
from kinesis_emulator.requests import Request
from kinesis_emulator.resharding import begin
from kinesis_emulator.service import Service
from kinesis_emulator.statuses import is_creating, status_of
from kinesis_emulator.store import DistributionStrategy, StoredStream
from kinesis_emulator.tags import new_tags, read_tags

MAX_RETENTION_HOURS = 8760
_MOST_WARM_MIBPS = 10 * 1024
_PAGE = 100
"""
The shards of a DescribeStream and the names of a ListStreams: the default, and the most.

Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_DescribeStream.html
"""
_DEFAULT_SHARDS = 4
"""Source: https://github.com/localstack/localstack/issues/6543, with AWS's response."""


def create_stream(service: Service, request: Request) -> None:
    name, account_id = request.text("StreamName"), service.account_of(request)
    mode = _mode(request)
    stream = StoredStream(
        name,
        request.region,
        account_id,
        created_ms=service.now_ms(),
        mode=mode,
        max_record_kib=request.optional_integer("MaxRecordSizeInKiB") or 1024,
        tags=new_tags(f"stream {name} under account {account_id}", {}, read_tags(request)),
    )
    if request.optional_text("RecordDistributionStrategy") is not None:
        distribute(stream, _strategy(request))
    shards = _shard_count(request, mode)
    stream.warm_mibps = request.optional_integer("WarmThroughputMiBps")
    _check_warm(stream, mode, stream.warm_mibps)
    service.store.bury(stream.created_ms)
    check_creation(service, stream, shards)
    stream.begin(
        "CREATING", stream.created_ms, service.settings.stream_creating_s, service.settings.stream_settling_s
    )
    service.store.create(stream, max(shards, stream.warm_mibps or 0))


def _mode(request: Request) -> str:
    details = request.member("StreamModeDetails")
    return details.optional_text("StreamMode") or "PROVISIONED"


def _shard_count(request: Request, mode: str) -> int:
    count = request.optional_integer("ShardCount")
    if mode == "ON_DEMAND" and count is not None:
        raise invalid_argument("ShardCount must not be specified for a stream in ON_DEMAND mode.")
    return count or _DEFAULT_SHARDS


def delete_stream(service: Service, request: Request) -> None:
    stream = service.find_stream(request)
    with stream.lock:
        has_consumers = bool(stream.consumers.known(service.now_ms()))
    if has_consumers and not request.is_set("EnforceConsumerDeletion"):
        name = f"{stream.account_id}:{stream.name}"
        raise AwsError(
            "ResourceInUseException",
            f"DeleteStream can't delete {name} because there are consumers associated with this data stream. To "
            f"delete {stream.name} anyway, set the EnforceConsumerDeletion parameter to true.",
        )
    service.admit("DeleteStream", f"account {stream.account_id}", service.settings.limits.delete_stream_per_s)
    delete(service, stream, service.settings.stream_deleting_s)


def delete(service: Service, stream: StoredStream, stream_deleting_s: float) -> None:
    """Delete *stream*, once it was DELETING for *stream_deleting_s*."""
    if stream.deleting_ms is None:
        now_ms = service.now_ms()
        service.store.delete_at(stream, now_ms + round(stream_deleting_s * 1000))
        service.store.bury(now_ms)


def describe_stream(service: Service, request: Request) -> dict[str, Any]:
    stream = service.find_stream(request)
    limit = min(request.optional_integer("Limit") or _PAGE, _PAGE)
    after = request.optional_text("ExclusiveStartShardId") or ""
    account = f"account {stream.account_id}"
    service.admit("DescribeStream", account, service.settings.limits.describe_stream_per_s)
    with stream.lock:
        listed = (
            []
            if _is_creating(service, stream)
            else stream.listed_shards(service.now_ms(), service.settings.hide_children_s)
        )
        shards = [shard for shard in listed if shard.shard_id > after]
        described = [shard.describe() for shard in shards[:limit]]
    return {
        "StreamDescription": {
            **_facts(service, stream),
            "Shards": described,
            "HasMoreShards": len(shards) > limit,
        }
    }


def describe_stream_summary(service: Service, request: Request) -> dict[str, Any]:
    stream = service.find_stream(request)
    account = f"account {stream.account_id}"
    service.admit("DescribeStreamSummary", account, service.settings.limits.describe_stream_summary_per_s)
    with stream.lock:
        consumers = len(stream.consumers.known(service.now_ms()))
    return {
        "StreamDescriptionSummary": {
            **_facts(service, stream),
            "OpenShardCount": 0 if _is_creating(service, stream) else len(stream.open_shards),
            "ConsumerCount": consumers,
            "MaxRecordSizeInKiB": stream.max_record_kib,
            **({"RecordDistributionStrategy": stream.strategy} if stream.mode == "ON_DEMAND" else {}),
            **({} if stream.warm_mibps is None else {"WarmThroughput": _show_warm(stream)}),
        }
    }


def _is_creating(service: Service, stream: StoredStream) -> bool:
    """Return whether a description of *stream* shows no shards. It may be deleted meanwhile."""
    return is_creating(stream, service.now_ms())


def _facts(service: Service, stream: StoredStream) -> dict[str, Any]:
    facts = {
        "StreamName": stream.name,
        "StreamARN": stream.arn,
        "StreamStatus": status_of(stream, service.now_ms()),
        "StreamModeDetails": {"StreamMode": stream.mode},
        "RetentionPeriodHours": stream.retention_hours,
        "StreamCreationTimestamp": Time(stream.created_ms),
        "EnhancedMonitoring": [{"ShardLevelMetrics": stream.metrics}],
        "EncryptionType": stream.encryption,
    }
    if stream.encryption == "KMS":
        facts["KeyId"] = stream.key_id or DEFAULT_KEY
    return facts


def list_streams(service: Service, request: Request) -> dict[str, Any]:
    service.store.bury(service.now_ms())
    account_id = service.account_of(request)
    service.admit("ListStreams", f"account {account_id}", service.settings.limits.list_streams_per_s)
    limit = min(request.optional_integer("Limit") or _PAGE, _PAGE)
    after = request.optional_text("NextToken") or request.optional_text("ExclusiveStartStreamName") or ""
    streams = [stream for stream in service.store.list(request.region, account_id) if stream.name > after]
    page, has_more = streams[:limit], len(streams) > limit
    summaries = [_summary(service, stream) for stream in page]
    response: dict[str, Any] = {
        "StreamNames": [stream.name for stream in page],
        "StreamSummaries": summaries,
        "HasMoreStreams": has_more,
    }
    if has_more:
        response["NextToken"] = page[-1].name
    return response


def _summary(service: Service, stream: StoredStream) -> dict[str, Any]:
    names = ("StreamName", "StreamARN", "StreamStatus", "StreamModeDetails", "StreamCreationTimestamp")
    facts = _facts(service, stream)
    return {name: facts[name] for name in names}


def change_retention(service: Service, request: Request) -> None:
    """IncreaseStreamRetentionPeriod and DecreaseStreamRetentionPeriod: the same number of hours is right for both."""
    with service.change(request) as stream:
        hours = _retention_hours(request)
        change = hours - stream.retention_hours
        if change and (change > 0) != request.action.startswith("Increase"):
            relation, other = ("longer", "Increase") if change > 0 else ("shorter", "Decrease")
            raise invalid_argument(
                f"Requested retention period ({hours} hours) for stream {stream.name} can not be {relation} than existing "
                f"retention period ({stream.retention_hours} hours). Use {other}RetentionPeriod API."
            )
        stream.retain(hours, service.now_ms(), keep=service.settings.keep_trimmed)


def _retention_hours(request: Request) -> int:
    hours = request.integer("RetentionPeriodHours")
    if hours < 24:
        raise invalid_argument(
            f"Minimum allowed retention period is 24 hours. Requested retention period ({hours} hours) is too short."
        )
    if hours > MAX_RETENTION_HOURS:
        raise invalid_argument(
            f"Maximum allowed retention period is {MAX_RETENTION_HOURS} hours. "
            f"Requested retention period ({hours} hours) is too long."
        )
    return hours


def update_max_record_size(service: Service, request: Request) -> None:
    size = request.integer("MaxRecordSizeInKiB")
    with service.change(request) as stream:
        stream.max_record_kib = size


def update_strategy(service: Service, request: Request) -> None:
    strategy = _strategy(request)
    with service.change(request) as stream:
        distribute(stream, strategy)


def _strategy(request: Request) -> DistributionStrategy:
    return cast(DistributionStrategy, request.text("RecordDistributionStrategy"))


def distribute(stream: StoredStream, strategy: DistributionStrategy) -> None:
    """Change who chooses the shards of new records: keys or Kinesis. Only on-demand streams have a strategy."""
    if stream.mode != "ON_DEMAND":
        raise invalid_argument(
            f"RecordDistributionStrategy {strategy} is not supported for stream {stream.name} under account "
            f"{stream.account_id}: it is not in ON_DEMAND mode."
        )
    stream.strategy = strategy
    stream.save()


def update_mode(service: Service, request: Request) -> None:
    """Change the capacity mode. The shards stay. A provisioned stream has no strategy and no warm throughput."""
    mode, mibps = _mode(request), request.optional_integer("WarmThroughputMiBps")
    with service.change(request) as stream:
        _check_warm(stream, mode, mibps)
        if stream.mode != mode:
            if mode == "ON_DEMAND":
                check_on_demand(service, stream)
            count_change(service, stream, request.action, service.settings.limits.mode_changes_per_day)
            stream.mode, stream.strategy, stream.warm_mibps = mode, "USER_PARTITION_KEY", None
        _warm(service, stream, mibps)


def update_warm_throughput(service: Service, request: Request) -> dict[str, Any]:
    mibps = request.integer("WarmThroughputMiBps")
    rate = service.settings.limits.update_warm_throughput_per_s
    with service.change(request) as stream:
        service.admit(request.action, f"account {stream.account_id}", rate)
        _check_warm(stream, stream.mode, mibps)
        _warm(service, stream, mibps)
        return {
            "StreamName": stream.name,
            "StreamARN": stream.arn,
            "WarmThroughput": _show_warm(stream),
        }


def _check_warm(stream: StoredStream, mode: str, mibps: int | None) -> None:
    """Refuse to prepare *stream* for a throughput that its *mode* does not have, or that is too high."""
    if mibps is None:
        return
    if mode != "ON_DEMAND":
        raise invalid_argument(
            f"WarmThroughputMiBps is not supported for stream {stream.name} under account {stream.account_id}: "
            "it is not in ON_DEMAND mode."
        )
    if mibps > _MOST_WARM_MIBPS:
        raise AwsError(
            "LimitExceededException",
            f"The warm throughput of a stream cannot exceed {_MOST_WARM_MIBPS} MiB/s. Requested: {mibps} MiB/s.",
        )


def _warm(service: Service, stream: StoredStream, mibps: int | None) -> None:
    """
    Prepare *stream* for a throughput: it has a shard for each MiB/s at least. None changes nothing.

    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_UpdateStreamWarmThroughput.html. AWS does not document the
    number of shards, nor how it refuses an account without the commitment to pay for a minimum.
    """
    if mibps is None:
        return
    stream.warm_mibps = mibps
    if mibps > len(stream.open_shards):
        begin(service, stream, ["scale", mibps])


def _show_warm(stream: StoredStream) -> dict[str, Any]:
    return {"TargetMiBps": stream.warm_mibps, "CurrentMiBps": stream.warm_mibps}
