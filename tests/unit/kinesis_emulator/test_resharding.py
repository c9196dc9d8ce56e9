"""SplitShard, MergeShards, UpdateShardCount, and reading closed shards."""

from __future__ import annotations

from typing import Any

import pytest

from kinesis_emulator import Emulator, ManualClock, numbers

SHARD = "shardId-000000000000"
MIDDLE = 2**127


def test_children_have_higher_numbers_than_their_parents(emulator: Emulator) -> None:
    """A child's numbers are above its parents', however fast shards are split and merged."""
    shard_id = SHARD
    for _ in range(5):
        emulator.put("orders", b"x", explicit_hash_key=0)
        left, right = emulator.split("orders", shard_id)
        emulator.put("orders", b"x", explicit_hash_key=0)
        shard_id = emulator.merge("orders", left, right)
    records = [int(record.sequence_number) for record in emulator.records("orders")]
    assert records == sorted(records)
    assert len(records) == 10


@pytest.mark.parametrize("with_records", [True, False])
def test_a_closed_shard_ends_with_its_last_records(
    emulator: Emulator, client: Any, iterator_of: Any, with_records: bool
) -> None:
    """The page with a closed shard's last records has no next iterator, and names the children."""
    if with_records:
        emulator.put("orders", b"last")
    iterator = iterator_of()
    children = emulator.split("orders", SHARD)
    page = client.get_records(ShardIterator=iterator)
    assert len(page["Records"]) == with_records
    assert "NextShardIterator" not in page
    assert page["MillisBehindLatest"] == 0
    assert [child["ShardId"] for child in page["ChildShards"]] == children
    assert [child["ParentShards"] for child in page["ChildShards"]] == [[SHARD], [SHARD]]


def test_the_end_can_come_on_a_page_of_its_own(emulator: Emulator, client: Any, iterator_of: Any) -> None:
    """With shard_end="page_of_its_own" the last records come with one more iterator."""
    emulator.settings.shard_end = "page_of_its_own"
    emulator.put("orders", b"last")
    emulator.split("orders", SHARD)
    page = client.get_records(ShardIterator=iterator_of())
    assert (len(page["Records"]), "ChildShards" in page) == (1, False)
    end = client.get_records(ShardIterator=page["NextShardIterator"])
    assert (end["Records"], "NextShardIterator" in end, len(end["ChildShards"])) == ([], False, 2)


def test_a_merged_shard_names_its_one_child_with_both_parents(
    emulator: Emulator, client: Any, iterator_of: Any
) -> None:
    """Both parents of a merge end with the same child."""
    left, right = emulator.split("orders", SHARD)
    merged = emulator.merge("orders", left, right)
    for parent in (left, right):
        (child,) = client.get_records(ShardIterator=iterator_of(shard_id=parent))["ChildShards"]
        assert (child["ShardId"], child["ParentShards"]) == (merged, [left, right])


def test_the_ending_number_is_not_a_records(emulator: Emulator, client: Any, iterator_of: Any) -> None:
    """EndingSequenceNumber is above every record and belongs to the shard. Reading after it is at the end."""
    last = emulator.put("orders", b"last").sequence_number
    emulator.split("orders", SHARD)
    ending = client.list_shards(StreamName="orders")["Shards"][0]["SequenceNumberRange"][
        "EndingSequenceNumber"
    ]
    decoded = numbers.decode(ending)
    assert int(ending) > int(last)
    assert decoded is not None
    assert decoded.shard_index == 0
    iterator = iterator_of("AFTER_SEQUENCE_NUMBER", StartingSequenceNumber=ending)
    assert "NextShardIterator" not in client.get_records(ShardIterator=iterator)


def test_reads_before_the_end_of_a_closed_shard_lag(
    emulator: Emulator, client: Any, iterator_of: Any, clock: ManualClock
) -> None:
    """A page with records of a closed shard left after it has lag and an iterator."""
    for _ in range(3):
        emulator.put("orders", b"x")
    emulator.split("orders", SHARD)
    clock.advance(60)
    page = client.get_records(ShardIterator=iterator_of(), Limit=2)
    assert page["MillisBehindLatest"] == 60_000
    assert "NextShardIterator" in page


def split_in_the_middle(client: Any) -> None:
    client.split_shard(StreamName="orders", ShardToSplit=SHARD, NewStartingHashKey=str(MIDDLE))


def test_a_reshard_is_done_when_the_stream_is_active_again(
    client: Any, iterator_of: Any, clock: ManualClock
) -> None:
    """While the stream is UPDATING its shards are as before: the parent takes records, and has no end yet."""
    iterator = iterator_of()
    split_in_the_middle(client)
    clock.advance(0.499)
    before = client.describe_stream(StreamName="orders")["StreamDescription"]
    assert (before["StreamStatus"], [shard["ShardId"] for shard in before["Shards"]]) == ("UPDATING", [SHARD])
    assert "EndingSequenceNumber" not in before["Shards"][0]["SequenceNumberRange"]
    assert client.put_record(StreamName="orders", Data=b"late", PartitionKey="a")["ShardId"] == SHARD
    page = client.get_records(ShardIterator=iterator)
    assert ([record["Data"] for record in page["Records"]], "ChildShards" in page) == ([b"late"], False)
    clock.advance(0.001)
    after = client.describe_stream(StreamName="orders")["StreamDescription"]
    children = ["shardId-000000000001", "shardId-000000000002"]
    assert (after["StreamStatus"], [shard["ShardId"] for shard in after["Shards"]]) == (
        "ACTIVE",
        [SHARD, *children],
    )
    assert client.put_record(StreamName="orders", Data=b"new", PartitionKey="a")["ShardId"] in children
    assert len(client.get_records(ShardIterator=page["NextShardIterator"])["ChildShards"]) == 2


def test_a_reshard_happens_at_its_time(client: Any, clock: ManualClock) -> None:
    """The children are as old as the end of UPDATING, also if nobody looks at the stream until later."""
    split_in_the_middle(client)
    clock.advance(3600)
    begun = {"Type": "AT_TIMESTAMP", "Timestamp": clock() - 3590}
    assert len(client.list_shards(StreamName="orders", ShardFilter=begun)["Shards"]) == 2
    begun["Timestamp"] = clock() - 3599.6
    assert [
        shard["ShardId"] for shard in client.list_shards(StreamName="orders", ShardFilter=begun)["Shards"]
    ] == [SHARD]


def test_the_account_has_the_shards_of_a_reshard_that_is_done(client: Any, clock: ManualClock) -> None:
    """DescribeLimits counts the children, although nobody has looked at their stream."""
    split_in_the_middle(client)
    assert client.describe_limits()["OpenShardCount"] == 1
    clock.advance(0.5)
    assert client.describe_limits()["OpenShardCount"] == 2


def test_a_subscription_ends_when_a_reshard_is_done(client: Any, subscribe: Any, clock: ManualClock) -> None:
    """A subscription to the parent ends with its children as soon as the time has passed, without a call of anybody."""
    events = subscribe()
    assert next(events)["Records"] == []
    split_in_the_middle(client)
    clock.advance(0.5)
    assert len(next(events)["ChildShards"]) == 2


def test_a_reshard_by_a_method_comes_after_one_that_is_due(
    emulator: Emulator, client: Any, clock: ManualClock
) -> None:
    """A method that takes no time does not wait for the end of UPDATING: the earlier reshard is done at once."""
    split_in_the_middle(client)
    assert emulator.merge("orders", "shardId-000000000001", "shardId-000000000002") == "shardId-000000000003"
    clock.advance(1)
    assert emulator.shard_ids("orders") == ["shardId-000000000003"]


def test_streams_that_choose_the_shards_are_scaled(emulator: Emulator) -> None:
    """A stream whose records go to its shards in turn has its keys divided evenly, too."""
    emulator.create_stream("elastic", 1, strategy="AUTO")
    emulator.scale("elastic", 4)
    emulator.distribute("elastic", "USER_PARTITION_KEY")
    found = [emulator.put("elastic", b"", explicit_hash_key=2**126 * number).shard_id for number in range(4)]
    assert found == emulator.shard_ids("elastic")
    assert len(set(found)) == 4
