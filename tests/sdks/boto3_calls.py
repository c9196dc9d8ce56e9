"""
All calls of streams and consumers, by boto3 as it is: region, credentials and endpoint come from the environment.

Prints one line for each call: see expected.py.
"""

from __future__ import annotations

import base64
import json
import os
import ssl
import time
import urllib.request
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import boto3  # type: ignore[import-untyped]
from botocore.exceptions import ClientError, EventStreamError

client = boto3.client("kinesis")
NAME, KEY = "orders", "é漢𝄞"
STREAM = {"StreamName": NAME}
FIRST, SECOND = "shardId-000000000000", "shardId-000000000001"
ONE_SECOND_APART = {"Delay": 1, "MaxAttempts": 300}


def show(call: str, ok: bool | None, detail: Any = None) -> None:
    print(json.dumps({"call": call, "ok": ok, "detail": detail}))  # noqa: T201 - it is the result


def call(name: str, work: Callable[[], Any]) -> Any:
    try:
        detail = work()
        show(name, True, None if isinstance(detail, dict) else detail)
    except Exception as error:  # noqa: BLE001 - it is printed
        show(name, False, repr(error))


def refused(name: str, work: Callable[[], Any]) -> None:
    try:
        show(name, False, repr(work()))
    except (ClientError, EventStreamError) as error:
        # The client has a class for each error that the model knows. Those of event streams share one, which has the code.
        code = error.response["Error"]["Code"]
        show(name, True, code if isinstance(error, EventStreamError) else type(error).__name__)


def change(name: str, work: Callable[[], Any], shown: Callable[[Any], Any] = lambda _: None) -> None:
    """Make a change, and wait until the stream is ACTIVE again."""

    def changed() -> Any:
        response = work()
        while summary()["StreamStatus"] != "ACTIVE":
            time.sleep(0.05)
        return shown(response)

    call(name, changed)


def summary() -> dict[str, Any]:
    return dict(client.describe_stream_summary(**STREAM)["StreamDescriptionSummary"])


def ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def record(found: dict[str, Any]) -> list[Any]:
    data = base64.b64encode(found["Data"]).decode()
    return [data, found["PartitionKey"], ms(found["ApproximateArrivalTimestamp"]), found["SequenceNumber"]]


def tags(response: dict[str, Any]) -> list[list[str]]:
    return [[tag["Key"], tag["Value"]] for tag in response["Tags"]]


def ids(response: dict[str, Any]) -> list[str]:
    return [shard["ShardId"] for shard in response["Shards"]]


def iterator(kind: str, **more: Any) -> str:
    return str(
        client.get_shard_iterator(**STREAM, ShardId=FIRST, ShardIteratorType=kind, **more)["ShardIterator"]
    )


def read(shard_iterator: str) -> list[dict[str, Any]]:
    return list(client.get_records(ShardIterator=shard_iterator)["Records"])


def put(name: str, **more: Any) -> Any:
    return client.put_record(StreamName=name, PartitionKey="a", Data=b"a", **more)


def advance(seconds: int) -> None:
    url = f"{os.environ['AWS_ENDPOINT_URL_KINESIS']}/_control/advance"
    trusted = ssl.create_default_context(cafile=os.environ.get("AWS_CA_BUNDLE"))
    body = json.dumps({"seconds": seconds}).encode()
    urllib.request.urlopen(url, body, context=trusted if url.startswith("https:") else None).close()  # noqa: S310 - ours


call("CreateStream", lambda: client.create_stream(**STREAM, ShardCount=2, Tags={"team": "é"}))
call(
    "waiter StreamExists",
    lambda: client.get_waiter("stream_exists").wait(**STREAM, WaiterConfig=ONE_SECOND_APART),
)

# Descriptions
arn, created = summary()["StreamARN"], summary()["StreamCreationTimestamp"]


def described() -> list[Any]:
    found = summary()
    mode, shards = found["StreamModeDetails"]["StreamMode"], found["OpenShardCount"]
    return [found["StreamARN"], found["StreamStatus"], mode, shards, ms(found["StreamCreationTimestamp"])]


call("DescribeStreamSummary", described)
call(
    "DescribeStream",
    lambda: [
        [shard["ShardId"], shard["HashKeyRange"]["EndingHashKey"]]
        for shard in client.describe_stream(**STREAM)["StreamDescription"]["Shards"]
    ],
)
call("ListStreams", lambda: client.list_streams()["StreamNames"])
call("ListShards", lambda: ids(client.list_shards(**STREAM, StreamCreationTimestamp=created)))
call("DescribeLimits", lambda: client.describe_limits()["OpenShardCount"])

# Records
key = {"PartitionKey": KEY, "ExplicitHashKey": "0"}
call("PutRecord", lambda: client.put_record(**STREAM, **key, Data=bytes(range(256)))["ShardId"])


def put_two() -> list[Any]:
    response = client.put_records(**STREAM, Records=[{**key, "Data": "ü".encode()}, {**key, "Data": b""}])
    return [response["FailedRecordCount"], [result["ShardId"] for result in response["Records"]]]


call("PutRecords", put_two)
call("GetShardIterator", lambda: "string" if isinstance(iterator("TRIM_HORIZON"), str) else None)
records = read(iterator("TRIM_HORIZON"))
call("GetRecords", lambda: [record(found) for found in records])
starts = [
    found["ApproximateArrivalTimestamp"] + timedelta(milliseconds=more)
    for found in records
    for more in (0, 1)
]
call("start AT_TIMESTAMP", lambda: [len(read(iterator("AT_TIMESTAMP", Timestamp=start))) for start in starts])

# Consumers
consumer = client.register_stream_consumer(StreamARN=arn, ConsumerName="readers")["Consumer"]
reader = {"ConsumerARN": consumer["ConsumerARN"]}
call("RegisterStreamConsumer", lambda: [consumer["ConsumerName"], consumer["ConsumerStatus"]])


def described_consumer() -> list[Any]:
    while True:
        found = client.describe_stream_consumer(**reader)["ConsumerDescription"]
        if found["ConsumerStatus"] == "ACTIVE":
            return [found["ConsumerName"], ms(found["ConsumerCreationTimestamp"])]
        time.sleep(0.05)


def names(response: dict[str, Any]) -> list[str]:
    return [each["ConsumerName"] for each in response["Consumers"]]


def subscribe(shard_id: str, most: int) -> list[Any]:
    start = {"Type": "TRIM_HORIZON"}
    events = client.subscribe_to_shard(**reader, ShardId=shard_id, StartingPosition=start)["EventStream"]
    found: list[Any] = []
    for event in events:
        found += [record(each) for each in event["SubscribeToShardEvent"]["Records"]]
        if len(found) >= most:
            break
    events.close()
    return found


call("DescribeStreamConsumer", described_consumer)
call(
    "ListStreamConsumers",
    lambda: names(client.list_stream_consumers(StreamARN=arn, StreamCreationTimestamp=created)),
)
call("SubscribeToShard", lambda: subscribe(FIRST, 3))
refused("exception in SubscribeToShardEventStream", lambda: subscribe(SECOND, 1))


# Tags and policies
def tagged(work: Callable[[], Any]) -> list[list[str]]:
    work()
    return tags(client.list_tags_for_stream(**STREAM))


call("ListTagsForStream", lambda: tagged(lambda: None))
call("AddTagsToStream", lambda: tagged(lambda: client.add_tags_to_stream(**STREAM, Tags={"stage": ""})))
call(
    "RemoveTagsFromStream", lambda: tagged(lambda: client.remove_tags_from_stream(**STREAM, TagKeys=["team"]))
)
tagged_arn = {"ResourceARN": reader["ConsumerARN"]}
call("TagResource", lambda: client.tag_resource(**tagged_arn, Tags={"a": "1", "b": "2"}))
call("UntagResource", lambda: client.untag_resource(**tagged_arn, TagKeys=["a"]))
call("ListTagsForResource", lambda: tags(client.list_tags_for_resource(**tagged_arn)))
policy = '{"Version":"2012-10-17","Statement":[]}'
call("PutResourcePolicy", lambda: client.put_resource_policy(ResourceARN=arn, Policy=policy))
call("GetResourcePolicy", lambda: client.get_resource_policy(ResourceARN=arn)["Policy"])
call("DeleteResourcePolicy", lambda: client.delete_resource_policy(ResourceARN=arn))

# Paginators
for page_name in ("PageA", "PageB", "PageC"):
    client.create_stream(StreamName=page_name, ShardCount=1)
client.register_stream_consumer(StreamARN=arn, ConsumerName="others")
one = {"PaginationConfig": {"PageSize": 1}}
streams = client.get_paginator("list_streams").paginate(**one)
call("paginator ListStreams", lambda: [name for page in streams for name in page["StreamNames"]])
consumers = client.get_paginator("list_stream_consumers").paginate(StreamARN=arn, **one)
call("paginator ListStreamConsumers", lambda: [name for page in consumers for name in names(page)])


# Changes
def metrics(response: dict[str, Any]) -> list[Any]:
    return [response["CurrentShardLevelMetrics"], response["DesiredShardLevelMetrics"]]


def counts(response: dict[str, Any]) -> list[int]:
    return [response["CurrentShardCount"], response["TargetShardCount"]]


def commitment(response: dict[str, Any]) -> str:
    return str(response["MinimumThroughputBillingCommitment"]["Status"])


kms = {"EncryptionType": "KMS", "KeyId": "alias/aws/kinesis"}
children = {"ShardToMerge": "shardId-000000000002", "AdjacentShardToMerge": "shardId-000000000003"}
mode = {"StreamModeDetails": {"StreamMode": "ON_DEMAND"}}
change(
    "IncreaseStreamRetentionPeriod",
    lambda: client.increase_stream_retention_period(**STREAM, RetentionPeriodHours=48),
)
change(
    "DecreaseStreamRetentionPeriod",
    lambda: client.decrease_stream_retention_period(**STREAM, RetentionPeriodHours=24),
)
change(
    "EnableEnhancedMonitoring",
    lambda: client.enable_enhanced_monitoring(**STREAM, ShardLevelMetrics=["IncomingBytes"]),
    metrics,
)
change(
    "DisableEnhancedMonitoring",
    lambda: client.disable_enhanced_monitoring(**STREAM, ShardLevelMetrics=["ALL"]),
    metrics,
)
change("StartStreamEncryption", lambda: client.start_stream_encryption(**STREAM, **kms))
change("StopStreamEncryption", lambda: client.stop_stream_encryption(**STREAM, **kms))
change("SplitShard", lambda: client.split_shard(**STREAM, ShardToSplit=FIRST, NewStartingHashKey="7"))
change("MergeShards", lambda: client.merge_shards(**STREAM, **children))
change(
    "UpdateShardCount",
    lambda: client.update_shard_count(**STREAM, TargetShardCount=4, ScalingType="UNIFORM_SCALING"),
    counts,
)
change("UpdateMaxRecordSize", lambda: client.update_max_record_size(StreamARN=arn, MaxRecordSizeInKiB=2048))
change("UpdateStreamMode", lambda: client.update_stream_mode(StreamARN=arn, **mode))
change(
    "UpdateStreamWarmThroughput",
    lambda: client.update_stream_warm_throughput(StreamARN=arn, WarmThroughputMiBps=100),
    lambda response: response["WarmThroughput"]["TargetMiBps"],
)
change(
    "UpdateStreamRecordDistributionStrategy",
    lambda: client.update_stream_record_distribution_strategy(
        StreamARN=arn, RecordDistributionStrategy="AUTO"
    ),
)
enabled = {"MinimumThroughputBillingCommitment": {"Status": "ENABLED"}}
call("DescribeAccountSettings", lambda: commitment(client.describe_account_settings()))
call("UpdateAccountSettings", lambda: commitment(client.update_account_settings(**enabled)))

# Errors. A stream with the name of an error refuses every record with that error.
REFUSING = (
    *(
        "AccessDeniedException",
        "InternalFailureException",
        "KMSAccessDeniedException",
        "KMSDisabledException",
    ),
    *("KMSInvalidStateException", "KMSNotFoundException", "KMSOptInRequired", "KMSThrottlingException"),
    "ProvisionedThroughputExceededException",
)
for refusing in REFUSING:
    refused(f"exception {refusing}", lambda name=refusing: put(name))  # type: ignore[misc]
refused("exception DryRunOperationException", lambda: put(NAME, DryRun=True))
refused("exception ResourceNotFoundException", lambda: put("nowhere"))
refused("exception ResourceInUseException", lambda: client.create_stream(**STREAM, ShardCount=1))
refused(
    "exception LimitExceededException", lambda: client.create_stream(StreamName="large", ShardCount=100_000)
)
refused("exception InvalidArgumentException", lambda: read("AAAA"))
refused(
    "exception ValidationException",
    lambda: client.split_shard(**STREAM, ShardToSplit=SECOND, NewStartingHashKey="7"),
)
old_iterator = iterator("TRIM_HORIZON")
old_token = client.list_shards(**STREAM, MaxResults=1)["NextToken"]
advance(600)
refused("exception ExpiredIteratorException", lambda: read(old_iterator))
refused("exception ExpiredNextTokenException", lambda: client.list_shards(NextToken=old_token))

# The end
call("DeregisterStreamConsumer", lambda: client.deregister_stream_consumer(**reader))
call("DeleteStream", lambda: client.delete_stream(**STREAM, EnforceConsumerDeletion=True))
call(
    "waiter StreamNotExists",
    lambda: client.get_waiter("stream_not_exists").wait(**STREAM, WaiterConfig=ONE_SECOND_APART),
)
