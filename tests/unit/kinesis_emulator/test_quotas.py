"""Limits of numbers: shards of an account, streams that are CREATING, and changes of a stream's size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kinesis_emulator import Emulator, Limits, ManualClock

Refusal = Callable[..., tuple[str, str]]
SHARD = "shardId-000000000000"
UP = {"StreamName": "orders", "ScalingType": "UNIFORM_SCALING"}
LIMIT = "LimitExceededException"


def too_many_shards(current: int, most: int, additional: int) -> str:
    return (
        "This request would exceed the shard limit for the account 000000000000 in us-east-1. "
        f"Current shard count for the account: {current}. Limit: {most}. "
        f"Number of additional shards that would have resulted from this request: {additional}. Refer to the AWS Service "
        "Limits page (http://docs.aws.amazon.com/general/latest/gr/aws_service_limits.html) for current limits and how to "
        "request higher limits."
    )


def test_an_account_has_a_limit_of_shards(
    emulator: Emulator, client: Any, clock: ManualClock, refusal: Refusal
) -> None:
    """CreateStream, SplitShard and UpdateShardCount are refused beyond it. Closed shards and on-demand streams do not count."""
    emulator.settings.limits = replace(Limits.unlimited(), shards_per_account=4)
    client.create_stream(StreamName="elastic", StreamModeDetails={"StreamMode": "ON_DEMAND"})
    create = {"StreamName": "teas", "ShardCount": 4}
    assert refusal(client.create_stream, **create) == (LIMIT, too_many_shards(1, 4, 4))
    client.create_stream(StreamName="teas", ShardCount=2)
    client.split_shard(StreamName="orders", ShardToSplit=SHARD, NewStartingHashKey="1000")
    clock.advance(1)
    split = {"StreamName": "teas", "ShardToSplit": SHARD, "NewStartingHashKey": "1000"}
    assert refusal(client.split_shard, **split) == (LIMIT, too_many_shards(4, 4, 1))
    scaled = refusal(client.update_shard_count, **UP, TargetShardCount=3)
    assert scaled == (LIMIT, too_many_shards(4, 4, 1))
    client.update_shard_count(**UP, TargetShardCount=1)
    assert emulator.shard_ids("teas") == [SHARD, "shardId-000000000001"]


def test_a_billion_shards_are_refused_at_once(client: Any, emulator: Emulator, refusal: Refusal) -> None:
    """A number with too many digits costs no memory: the limit is checked before anything is made."""
    code, message = refusal(client.create_stream, StreamName="typo", ShardCount=10**9)
    assert (code, message) == (LIMIT, too_many_shards(1, 20_000, 10**9))
    emulator.settings.limits = replace(Limits.unlimited(), enforce_scaling=False)
    assert refusal(client.update_shard_count, **UP, TargetShardCount=10**9)[0] == LIMIT


def test_another_account_has_shards_of_its_own(
    emulator: Emulator, new_client: Callable[..., Any], refusal: Refusal
) -> None:
    """Regions and accounts are counted each on its own."""
    emulator.settings.limits = replace(Limits.unlimited(), shards_per_account=1)
    for whose in ({"region": "eu-central-1"}, {"access_key": "111122223333"}):
        other = new_client(emulator.endpoint_url, **whose)
        other.create_stream(StreamName="one", ShardCount=1)
        assert refusal(other.create_stream, StreamName="two", ShardCount=1)[0] == LIMIT
        other.close()


def test_five_streams_may_be_creating(client: Any, clock: ManualClock, refusal: Refusal) -> None:
    """A sixth one is refused until another is ACTIVE. A name that is in use stays the first error."""
    for number in range(5):
        client.create_stream(StreamName=f"teas-{number}", ShardCount=1)
    assert refusal(client.create_stream, StreamName="teas-5", ShardCount=1)[0] == LIMIT
    assert refusal(client.create_stream, StreamName="teas-0", ShardCount=1)[0] == "ResourceInUseException"
    clock.advance(0.5)
    client.create_stream(StreamName="teas-5", ShardCount=1)


def test_a_stream_is_scaled_ten_times_a_day(
    emulator: Emulator, client: Any, clock: ManualClock, refusal: Refusal
) -> None:
    """UpdateShardCount is accepted ten times in 24 hours that roll on. Refused calls and other streams do not count."""
    emulator.create_stream("teas")
    for number in range(10):
        client.update_shard_count(**UP, TargetShardCount=1 + (number + 1) % 2)
        assert refusal(client.update_shard_count, **UP, TargetShardCount=1)[0] == "ResourceInUseException"
        clock.advance(3600)
    assert refusal(client.update_shard_count, **UP, TargetShardCount=2)[0] == LIMIT
    client.update_shard_count(**{**UP, "StreamName": "teas"}, TargetShardCount=2)
    clock.advance(14 * 3600 - 1)
    assert refusal(client.update_shard_count, **UP, TargetShardCount=2)[0] == LIMIT
    clock.advance(1)
    client.update_shard_count(**UP, TargetShardCount=2)
    clock.advance(1)
    assert refusal(client.update_shard_count, **UP, TargetShardCount=1)[0] == LIMIT


def test_no_stream_is_scaled_above_10_000_shards(emulator: Emulator, client: Any, refusal: Refusal) -> None:
    """UpdateShardCount has a limit of its own for one stream."""
    emulator.create_stream("large", shards=6000)
    large = {**UP, "StreamName": "large", "TargetShardCount": 10_001}
    assert refusal(client.update_shard_count, **large)[0] == LIMIT


def test_an_account_has_a_limit_of_on_demand_streams(
    emulator: Emulator, client: Any, clock: ManualClock, refusal: Refusal
) -> None:
    """CreateStream and UpdateStreamMode are refused beyond it. Provisioned streams do not count."""
    emulator.settings.limits = replace(Limits.unlimited(), on_demand_streams=1)
    elastic = {"StreamModeDetails": {"StreamMode": "ON_DEMAND"}}
    client.create_stream(StreamName="elastic", **elastic)
    assert refusal(client.create_stream, StreamName="another", **elastic)[0] == LIMIT
    change = {"StreamARN": "arn:aws:kinesis:us-east-1:000000000000:stream/orders", **elastic}
    assert refusal(client.update_stream_mode, **change)[0] == LIMIT
    client.delete_stream(StreamName="elastic")
    clock.advance(1)
    client.update_stream_mode(**change)


def test_the_capacity_mode_changes_twice_a_day(
    emulator: Emulator, client: Any, clock: ManualClock, refusal: Refusal
) -> None:
    """A third change within 24 hours is refused. A call that changes nothing does not count."""
    emulator.settings.stream_updating_s = 0.0
    arn = "arn:aws:kinesis:us-east-1:000000000000:stream/orders"

    def change(mode: str) -> dict[str, Any]:
        return {"StreamARN": arn, "StreamModeDetails": {"StreamMode": mode}}

    client.update_stream_mode(**change("ON_DEMAND"))
    clock.advance(3600)
    client.update_stream_mode(**change("PROVISIONED"))
    client.update_stream_mode(**change("PROVISIONED"))
    code, message = refusal(client.update_stream_mode, **change("ON_DEMAND"))
    assert (code, message) == (
        LIMIT,
        "UpdateStreamMode has changed stream orders under account 000000000000 2 times in the last 24 hours. Limit: 2.",
    )
    clock.advance(23 * 3600)
    client.update_stream_mode(**change("ON_DEMAND"))


@pytest.mark.parametrize(
    ("call", "params"),
    [
        ("split_shard", {"ShardToSplit": SHARD, "NewStartingHashKey": "1000"}),
        ("merge_shards", {"ShardToMerge": SHARD, "AdjacentShardToMerge": "shardId-000000000001"}),
        ("update_shard_count", {"TargetShardCount": 4, "ScalingType": "UNIFORM_SCALING"}),
    ],
)
def test_an_on_demand_stream_is_not_resharded(
    emulator: Emulator, client: Any, refusal: Refusal, call: str, params: dict[str, Any]
) -> None:
    """Kinesis reshards it itself, and refuses the calls. `Emulator.split` can play Kinesis."""
    emulator.create_stream("elastic", 4, strategy="USER_PARTITION_KEY")
    assert refusal(getattr(client, call), StreamName="elastic", **params) == (
        "ValidationException",
        "Request is invalid. Stream elastic under account 000000000000 is in On-Demand mode.",
    )
    assert len(emulator.split("elastic", SHARD)) == 2


@pytest.mark.parametrize("order", [(1, 0), (0, 2), (0, 0)])
def test_shards_are_merged_in_the_order_of_their_keys(
    emulator: Emulator, client: Any, refusal: Refusal, order: tuple[int, int]
) -> None:
    """The shard with the lower keys comes first, and its neighbour second."""
    emulator.create_stream("teas", shards=3)
    first, second = (f"shardId-{number:012d}" for number in order)
    merge = {"StreamName": "teas", "ShardToMerge": first, "AdjacentShardToMerge": second}
    assert refusal(client.merge_shards, **merge) == (
        "InvalidArgumentException",
        f"Shards {first} and {second} in stream teas under account 000000000000 are not an adjacent pair of shards eligible "
        "for merging",
    )


RATES = [
    ("create_stream", 5, {"ShardCount": 1}),
    ("split_shard", 5, {"ShardToSplit": SHARD, "NewStartingHashKey": "1000"}),
    ("merge_shards", 5, {"ShardToMerge": SHARD, "AdjacentShardToMerge": "shardId-000000000001"}),
    ("update_shard_count", 10, {"TargetShardCount": 3, "ScalingType": "UNIFORM_SCALING"}),
    ("delete_stream", 5, {}),
]


@pytest.mark.parametrize(("call", "most", "params"), RATES, ids=[call for call, _, _ in RATES])
def test_changes_are_limited_to_some_a_second(
    emulator: Emulator,
    client: Any,
    clock: ManualClock,
    refusal: Refusal,
    call: str,
    most: int,
    params: dict[str, Any],
) -> None:
    """An account creates, deletes, splits and merges five times a second, and updates shard counts ten times."""
    emulator.settings.limits = replace(Limits(), streams_creating=None)
    change = getattr(client, call)
    for number in range(most + 2):
        if call != "create_stream":
            emulator.create_stream(f"teas-{number}", shards=2)
    for number in range(most):
        change(StreamName=f"teas-{number}", **params)
    assert refusal(change, StreamName=f"teas-{most}", **params)[0] == LIMIT
    clock.advance(1)
    change(StreamName=f"teas-{most}", **params)


def test_warm_throughput_is_updated_five_times_a_second(
    emulator: Emulator, client: Any, clock: ManualClock, refusal: Refusal
) -> None:
    """In all streams of the account together."""
    emulator.settings.limits = Limits()
    for number in range(6):
        emulator.create_stream(f"teas-{number}", strategy="USER_PARTITION_KEY")
    for number in range(5):
        client.update_stream_warm_throughput(StreamName=f"teas-{number}", WarmThroughputMiBps=1)
    sixth = {"StreamName": "teas-5", "WarmThroughputMiBps": 1}
    assert refusal(client.update_stream_warm_throughput, **sixth)[0] == LIMIT
    clock.advance(1)
    client.update_stream_warm_throughput(**sixth)


def test_encryption_is_started_and_stopped_25_times_a_day(
    emulator: Emulator, client: Any, clock: ManualClock, refusal: Refusal
) -> None:
    """The 26th new key within 24 hours is refused, and the 26th end. What is so already does not count."""
    emulator.settings.stream_updating_s = 0.0
    stream = {"StreamName": "orders", "EncryptionType": "KMS"}
    for number in range(25):
        for _ in range(2):
            client.start_stream_encryption(**stream, KeyId=f"alias/key-{number}")
        clock.advance(60)
    assert refusal(client.start_stream_encryption, **stream, KeyId="alias/another") == (
        LIMIT,
        "StartStreamEncryption has changed stream orders under account 000000000000 25 times in the last 24 hours. Limit: 25.",
    )
    clock.advance(24 * 3600)
    for _ in range(25):
        client.start_stream_encryption(**stream, KeyId="alias/key")
        for _ in range(2):
            client.stop_stream_encryption(**stream, KeyId="alias/key")
    clock.advance(23 * 3600)
    assert refusal(client.start_stream_encryption, **stream, KeyId="alias/key")[0] == LIMIT
    emulator.settings.limits = replace(Limits.unlimited(), encryption_changes_per_day=26)
    client.start_stream_encryption(**stream, KeyId="alias/key")
    emulator.settings.limits = Limits.unlimited()
    assert refusal(client.stop_stream_encryption, **stream, KeyId="alias/key")[0] == LIMIT
    clock.advance(3600)
    client.stop_stream_encryption(**stream, KeyId="alias/key")
