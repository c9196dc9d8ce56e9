"""What can be set for a stream or an account and has no effect on records: encryption, metrics, policies, mode, throughput."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from kinesis_emulator import Emulator, Limits, ManualClock, Settings

ARN = "arn:aws:kinesis:us-east-1:000000000000:stream/orders"
BOTH = {"StreamName": "orders", "StreamARN": ARN}
KEY = {"StreamName": "orders", "EncryptionType": "KMS", "KeyId": "alias/mine"}
POLICY = '{"Version": "2012-10-17", "Statement": []}'
ON_DEMAND, PROVISIONED = ({"StreamMode": mode} for mode in ("ON_DEMAND", "PROVISIONED"))


def summary(client: Any, stream: str = "orders") -> dict[str, Any]:
    found: dict[str, Any] = client.describe_stream_summary(StreamName=stream)["StreamDescriptionSummary"]
    return found


@pytest.fixture(autouse=True)
def at_once(emulator: Emulator) -> None:
    """Let no status last, so that each call can follow the one before."""
    settings = emulator.settings
    settings.stream_creating_s = settings.stream_settling_s = settings.stream_updating_s = (
        settings.stream_deleting_s
    ) = 0
    settings.consumer_creating_s = 0


def test_encryption_starts_and_stops(client: Any, iterator_of: Any) -> None:
    """Descriptions name the key, and each record says whether it is encrypted. Both calls can be repeated."""
    put = {"StreamName": "orders", "Data": b"x", "PartitionKey": "k"}
    client.stop_stream_encryption(**KEY)
    assert summary(client)["EncryptionType"] == "NONE"
    for _ in range(2):
        client.start_stream_encryption(**KEY)
    assert (summary(client)["EncryptionType"], summary(client)["KeyId"]) == ("KMS", "alias/mine")
    assert client.put_record(**put)["EncryptionType"] == "KMS"
    for _ in range(2):
        client.stop_stream_encryption(**KEY)
    assert "KeyId" not in summary(client)
    client.put_record(**put)
    records = client.get_records(ShardIterator=iterator_of())["Records"]
    assert [record.get("EncryptionType") for record in records] == ["KMS", None]


def test_what_changes_nothing_needs_no_update(emulator: Emulator, client: Any) -> None:
    """A call that asks for what is already so is accepted, and the stream stays ACTIVE."""
    emulator.settings.stream_updating_s = 60
    client.stop_stream_encryption(**KEY)
    client.update_stream_mode(StreamARN=ARN, StreamModeDetails=PROVISIONED)
    client.increase_stream_retention_period(StreamName="orders", RetentionPeriodHours=24)
    client.disable_enhanced_monitoring(StreamARN=ARN, ShardLevelMetrics=["ALL"])
    assert summary(client)["StreamStatus"] == "ACTIVE"
    client.start_stream_encryption(**KEY)
    assert summary(client)["StreamStatus"] == "UPDATING"


def test_the_encryption_type_has_to_be_kms(client: Any, refusal: Any) -> None:
    """NONE is in the model, and neither call accepts it."""
    for call in (client.start_stream_encryption, client.stop_stream_encryption):
        assert refusal(call, **{**KEY, "EncryptionType": "NONE"})[0] == "InvalidArgumentException"


def test_metrics_of_shards(client: Any) -> None:
    """Responses have name and ARN, the metrics before and those after; descriptions have them, too."""
    first = client.enable_enhanced_monitoring(StreamName="orders", ShardLevelMetrics=["OutgoingBytes"])
    assert {name: first[name] for name in BOTH} == BOTH
    assert (first["CurrentShardLevelMetrics"], first["DesiredShardLevelMetrics"]) == ([], ["OutgoingBytes"])
    every = client.enable_enhanced_monitoring(StreamARN=ARN, ShardLevelMetrics=["ALL"])
    assert len(every["DesiredShardLevelMetrics"]) == 7
    fewer = client.disable_enhanced_monitoring(StreamARN=ARN, ShardLevelMetrics=["IncomingBytes"])
    assert "IncomingBytes" not in fewer["DesiredShardLevelMetrics"]
    described = client.describe_stream(StreamName="orders")["StreamDescription"]
    assert described["EnhancedMonitoring"] == [{"ShardLevelMetrics": fewer["DesiredShardLevelMetrics"]}]
    none = client.disable_enhanced_monitoring(StreamARN=ARN, ShardLevelMetrics=["ALL"])
    assert none["DesiredShardLevelMetrics"] == []


@pytest.mark.parametrize("kind", ["stream", "consumer"])
def test_policies(kind: str, emulator: Emulator, client: Any, refusal: Any) -> None:
    """A policy is kept as it was given. Without one it is empty, and cannot be deleted."""
    arn = ARN if kind == "stream" else emulator.register_consumer("orders", "billing")
    assert client.get_resource_policy(ResourceARN=arn)["Policy"] == "{}"
    client.put_resource_policy(ResourceARN=arn, Policy=POLICY)
    assert client.get_resource_policy(ResourceARN=arn)["Policy"] == POLICY
    client.delete_resource_policy(ResourceARN=arn)
    assert client.get_resource_policy(ResourceARN=arn)["Policy"] == "{}"
    assert refusal(client.delete_resource_policy, ResourceARN=arn) == (
        "ResourceNotFoundException",
        f"No resource policy found for resource ARN {arn}.",
    )


@pytest.mark.parametrize("policy", ["", "[]", "{", '{"Version": "' + "x" * 20_480 + '"}', "[" * 20_000])
def test_policies_that_are_refused(policy: str, client: Any, refusal: Any) -> None:
    """A policy is a JSON object of at most 20 KiB."""
    assert (
        refusal(client.put_resource_policy, ResourceARN=ARN, Policy=policy)[0] == "InvalidArgumentException"
    )


def test_the_mode_changes_and_the_shards_stay(emulator: Emulator, client: Any, clock: ManualClock) -> None:
    """A stream that becomes provisioned loses its strategy and its warm throughput."""
    emulator.create_stream("wide", shards=3)
    arn = summary(client, "wide")["StreamARN"]
    client.update_stream_mode(StreamARN=arn, StreamModeDetails=ON_DEMAND, WarmThroughputMiBps=2)
    assert (summary(client, "wide")["StreamModeDetails"], summary(client, "wide")["OpenShardCount"]) == (
        ON_DEMAND,
        3,
    )
    assert summary(client, "wide")["WarmThroughput"] == {"TargetMiBps": 2, "CurrentMiBps": 2}
    client.update_stream_mode(StreamARN=arn, StreamModeDetails=ON_DEMAND)
    assert summary(client, "wide")["WarmThroughput"]["TargetMiBps"] == 2
    client.update_stream_record_distribution_strategy(StreamARN=arn, RecordDistributionStrategy="AUTO")
    client.update_stream_mode(StreamARN=arn, StreamModeDetails=PROVISIONED)
    assert not {"WarmThroughput", "RecordDistributionStrategy"} & summary(client, "wide").keys()
    clock.advance(24 * 3600)
    client.update_stream_mode(StreamARN=arn, StreamModeDetails=ON_DEMAND)
    assert summary(client, "wide")["RecordDistributionStrategy"] == "USER_PARTITION_KEY"


def test_warm_throughput(emulator: Emulator, client: Any, refusal: Any) -> None:
    """
    An on-demand stream is created with it, or gets it later, up to 10 GiB/s. A provisioned stream has none.

    The stream has a shard for each MiB/s. A lower throughput takes no shards away.
    """
    client.create_stream(StreamName="elastic", StreamModeDetails=ON_DEMAND, WarmThroughputMiBps=10)
    assert summary(client, "elastic")["WarmThroughput"]["TargetMiBps"] == 10
    update = client.update_stream_warm_throughput
    assert len(emulator.shard_ids("elastic")) == 10
    update(StreamName="elastic", WarmThroughputMiBps=12)
    assert len(emulator.shard_ids("elastic")) == 12
    updated = update(StreamName="elastic", WarmThroughputMiBps=0)
    assert updated["WarmThroughput"] == {"TargetMiBps": 0, "CurrentMiBps": 0}
    assert len(emulator.shard_ids("elastic")) == 12
    assert (updated["StreamName"], updated["StreamARN"]) == ("elastic", ARN.replace("orders", "elastic"))
    assert refusal(update, StreamName="elastic", WarmThroughputMiBps=10_241)[0] == "LimitExceededException"
    assert refusal(update, StreamName="orders", WarmThroughputMiBps=5)[0] == "InvalidArgumentException"
    too_high = {"StreamARN": ARN, "StreamModeDetails": ON_DEMAND, "WarmThroughputMiBps": 10_241}
    assert refusal(client.update_stream_mode, **too_high)[0] == "LimitExceededException"
    assert summary(client, "orders")["StreamModeDetails"] == PROVISIONED  # nothing has changed
    assert (
        refusal(client.create_stream, StreamName="x", WarmThroughputMiBps=5)[0] == "InvalidArgumentException"
    )


def test_limits_of_the_account(emulator: Emulator, client: Any) -> None:
    """DescribeLimits counts open shards of provisioned streams, and on-demand streams."""
    emulator.create_stream("wide", shards=3)
    emulator.create_stream("elastic", strategy="AUTO")
    emulator.settings.limits = Limits(shards_per_account=200, on_demand_streams=7)
    found = client.describe_limits()
    assert (found["ShardLimit"], found["OpenShardCount"], found["OnDemandStreamCount"]) == (200, 4, 1)
    assert found["OnDemandStreamCountLimit"] == 7


def test_the_commitment_of_the_account(
    client: Any, new_client: Any, emulator: Emulator, clock: ManualClock
) -> None:
    """It is disabled at first. An account has one for each region, and it has the times of its changes."""

    def committed(of: Any) -> dict[str, Any]:
        found: dict[str, Any] = of.describe_account_settings()["MinimumThroughputBillingCommitment"]
        return found

    assert committed(client) == {"Status": "DISABLED"}
    enabled = client.update_account_settings(MinimumThroughputBillingCommitment={"Status": "ENABLED"})
    assert enabled["MinimumThroughputBillingCommitment"] == committed(client)
    started = committed(client)["StartedAt"]
    assert started == datetime.datetime.fromtimestamp(clock(), datetime.timezone.utc)
    clock.advance(10)
    client.update_account_settings(MinimumThroughputBillingCommitment={"Status": "ENABLED"})
    assert committed(client) == {"Status": "ENABLED", "StartedAt": started}
    assert committed(new_client(emulator.endpoint_url, region="eu-west-1")) == {"Status": "DISABLED"}
    client.update_account_settings(MinimumThroughputBillingCommitment={"Status": "DISABLED"})
    assert committed(client)["EndedAt"] == started + datetime.timedelta(seconds=10)


def test_a_folder_keeps_all_of_it(new_client: Any, tmp_path: Path) -> None:
    """The next emulator on the folder has the same settings of streams, consumers and accounts."""

    def described(client: Any) -> list[Any]:
        answers = [
            client.describe_stream_summary(StreamName="orders"),
            client.describe_stream_summary(StreamName="elastic"),
            client.get_resource_policy(ResourceARN=ARN),
            client.get_resource_policy(ResourceARN=f"{ARN}/consumer/billing:1700000000"),
            client.list_tags_for_resource(ResourceARN=f"{ARN}/consumer/billing:1700000000"),
            client.describe_account_settings(),
        ]
        return [{**answer, "ResponseMetadata": None} for answer in answers]

    def start() -> Emulator:
        settings = Settings(
            limits=Limits.unlimited(), stream_creating_s=0, stream_updating_s=0, consumer_creating_s=0
        )
        return Emulator(data=tmp_path, clock=ManualClock(1_700_000_000.0), settings=settings)

    with start() as emulator:
        client = new_client(emulator.endpoint_url)
        client.create_stream(StreamName="orders", ShardCount=1)
        client.create_stream(StreamName="elastic", StreamModeDetails=ON_DEMAND, WarmThroughputMiBps=10)
        consumer = client.register_stream_consumer(
            StreamARN=ARN, ConsumerName="billing", Tags={"team": "tea"}
        )
        client.start_stream_encryption(**KEY)
        client.enable_enhanced_monitoring(StreamName="orders", ShardLevelMetrics=["ALL"])
        client.put_resource_policy(ResourceARN=ARN, Policy=POLICY)
        client.put_resource_policy(ResourceARN=consumer["Consumer"]["ConsumerARN"], Policy=POLICY)
        client.update_account_settings(MinimumThroughputBillingCommitment={"Status": "ENABLED"})
        before = described(client)
        client.close()
    with start() as emulator:
        client = new_client(emulator.endpoint_url)
        assert described(client) == before
        client.close()
