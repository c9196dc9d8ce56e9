"""The guard: which calls are sent, and what is in the ledger before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kinesis_emulator import Emulator
from tools.aws.guard import Guard, StrangerError, usage_of
from tools.aws.kit import wait_until_usable
from tools.aws.ledger import BudgetError, Ledger, Resource
from tools.aws.rehearsal import ACCOUNT, REGION
from tools.aws.target import Target

ORDERS = f"arn:aws:kinesis:{REGION}:{ACCOUNT}:stream/orders"


@pytest.fixture
def ledger(new_ledger: Callable[..., Ledger]) -> Ledger:
    return new_ledger(budget_usd=0.05)


@pytest.fixture
def client(target: Target, ledger: Ledger) -> Any:
    return Guard(ledger).stand_before(target.client("kinesis"))


@pytest.mark.parametrize(
    ("call", "params"),
    [
        ("delete_stream", {"StreamName": "orders"}),
        ("delete_stream", {"StreamARN": ORDERS}),
        ("split_shard", {"StreamName": "orders", "ShardToSplit": "0", "NewStartingHashKey": "5"}),
        ("put_record", {"StreamName": "orders", "Data": b"x", "PartitionKey": "k"}),
        ("register_stream_consumer", {"StreamARN": ORDERS, "ConsumerName": "day"}),
        ("create_stream", {"StreamName": "kinesis-day-000000000000-x", "ShardCount": 1}),
        ("add_tags_to_stream", {"StreamName": "orders", "Tags": {"a": "b"}}),
        ("list_tags_for_resource", {"ResourceARN": ORDERS}),
        ("describe_limits", {}),
    ],
)
def test_calls_on_what_is_not_ours(
    emulator: Emulator, client: Any, ledger: Ledger, call: str, params: Any
) -> None:
    """A call that names a stream of somebody else, or that no step needs, is not sent. Nothing is noted."""
    emulator.calls.clear()
    with pytest.raises(StrangerError):
        getattr(client, call)(**params)
    assert emulator.calls.by_action() == {}
    assert (ledger.left(), ledger.used()) == ([], {})


def test_a_stream_is_in_the_ledger_before_it_is_created(
    emulator: Emulator, client: Any, ledger: Ledger
) -> None:
    """The entry is there when the call arrives, and the stream has the tags of the run from its first moment."""
    name = f"{ledger.run.prefix}stream"
    seen = []
    emulator.settings.fault = lambda request: seen.append((request.action, ledger.left()))
    client.create_stream(StreamName=name, ShardCount=2)
    assert seen == [("CreateStream", [Resource("stream", name)])]
    tags = client.list_tags_for_stream(StreamName=name)["Tags"]
    assert {tag["Key"]: tag["Value"] for tag in tags} == ledger.run.tags
    assert ledger.used() == {"shard_hours": 2}


def test_a_consumer_has_the_tags_of_the_run(client: Any, ledger: Ledger) -> None:
    """A consumer costs as much as a stream, and a policy may require tags. It is tagged by the call that registers it."""
    name = f"{ledger.run.prefix}stream"
    client.create_stream(StreamName=name, ShardCount=1)
    wait_until_usable(client, name)
    arn = client.describe_stream_summary(StreamName=name)["StreamDescriptionSummary"]["StreamARN"]
    made = client.register_stream_consumer(StreamARN=arn, ConsumerName="day")["Consumer"]
    tags = client.list_tags_for_resource(ResourceARN=made["ConsumerARN"])["Tags"]
    assert {tag["Key"]: tag["Value"] for tag in tags} == ledger.run.tags


def test_a_table_has_the_tags_of_the_run(target: Target, ledger: Ledger) -> None:
    """A table is in the ledger, and tagged by the call that creates it."""
    name = f"{ledger.run.prefix}table"
    client = Guard(ledger).stand_before(target.client("dynamodb"))
    key = {"AttributeName": "k", "KeyType": "HASH"}
    attribute = {"AttributeName": "k", "AttributeType": "S"}
    made = client.create_table(
        TableName=name, KeySchema=[key], AttributeDefinitions=[attribute], BillingMode="PAY_PER_REQUEST"
    )["TableDescription"]
    plain = target.client("dynamodb")
    tags = plain.list_tags_of_resource(ResourceArn=made["TableArn"])["Tags"]
    assert {tag["Key"]: tag["Value"] for tag in tags} == ledger.run.tags
    assert ledger.left() == [Resource("table", name)]
    plain.delete_table(TableName=name)


def test_the_budget_stops_a_creation(emulator: Emulator, client: Any, ledger: Ledger) -> None:
    """A stream that costs more than what is left is not created."""
    with pytest.raises(BudgetError):
        client.create_stream(StreamName=f"{ledger.run.prefix}stream", ShardCount=4)
    assert emulator.calls.count("CreateStream") == 0
    assert ledger.left() == []


@pytest.mark.parametrize(
    ("call", "params", "usage"),
    [
        ("CreateStream", {"ShardCount": 3}, {"shard_hours": 3}),
        ("CreateStream", {}, {"shard_hours": 4}),
        ("CreateStream", {"StreamModeDetails": {"StreamMode": "ON_DEMAND"}}, {"on_demand_hours": 1}),
        (
            "CreateStream",
            {"StreamModeDetails": {"StreamMode": "PROVISIONED"}, "ShardCount": 2},
            {"shard_hours": 2},
        ),
        ("SplitShard", {}, {"shard_hours": 2}),
        ("MergeShards", {}, {"shard_hours": 1}),
        ("UpdateShardCount", {"TargetShardCount": 3}, {"shard_hours": 6}),
        ("PutRecord", {"Data": b"x" * 26_000}, {"put_units": 2}),
        ("PutRecords", {"Records": [{"Data": b"x"}, {"Data": b"x" * 26_000}]}, {"put_units": 3}),
        ("DescribeStream", {}, {}),
    ],
)
def test_what_a_call_uses(call: str, params: Any, usage: Any) -> None:
    """A shard counts as one hour from its opening."""
    assert usage_of(call, params) == usage
