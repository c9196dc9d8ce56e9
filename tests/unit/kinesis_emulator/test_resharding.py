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
