"""Splits, merges, and the end of a closed shard."""

from __future__ import annotations

from typing import Any

import pytest


def shard_ids(shards: list[dict[str, Any]]) -> list[int]:
    return [int(shard["ShardId"][-12:]) for shard in shards]


def test_a_split_closes_the_parent_and_opens_two_children(stream: Any) -> None:
    """The children name their parent and divide its range. The parent has an ending number."""
    stream.split(at=1000)
    parent, left, right = stream.shards()
    assert "EndingSequenceNumber" in parent["SequenceNumberRange"]
    assert {left["ParentShardId"], right["ParentShardId"]} == {parent["ShardId"]}
    assert "AdjacentParentShardId" not in left
    assert [shard["HashKeyRange"] for shard in (left, right)] == [
        {"StartingHashKey": "0", "EndingHashKey": "999"},
        {"StartingHashKey": "1000", "EndingHashKey": str(2**128 - 1)},
    ]


def test_a_merge_closes_both_parents_and_opens_one_child(new_stream: Any) -> None:
    """The child names both parents and covers both ranges."""
    stream = new_stream(2)
    stream.merge(0, 1)
    left, right, child = stream.shards()
    assert all("EndingSequenceNumber" in shard["SequenceNumberRange"] for shard in (left, right))
    assert (child["ParentShardId"], child["AdjacentParentShardId"]) == (left["ShardId"], right["ShardId"])
    assert child["HashKeyRange"] == {"StartingHashKey": "0", "EndingHashKey": str(2**128 - 1)}


@pytest.mark.deviates("moto", "keeps writing to the parent")
def test_records_stay_in_the_parent_and_new_ones_go_to_the_child(stream: Any) -> None:
    """A record belongs to the shard that was open at the put. A child's numbers are above its parent's."""
    before = stream.put(b"before")
    stream.split()
    after = stream.put(b"after")
    assert after["ShardId"] == "shardId-000000000001"
    assert int(after["SequenceNumber"]) > int(before["SequenceNumber"])
    assert (stream.data(0), stream.data(1), stream.data(2)) == ([b"before"], [b"after"], [])


@pytest.mark.deviates("moto", "copies the parents' records into the child")
def test_a_merge_copies_nothing(new_stream: Any) -> None:
    """Records stay in the parents of a merge, each once."""
    stream = new_stream(2)
    stream.put(b"left", hash_key=0)
    stream.put(b"right", hash_key=2**127)
    stream.merge(0, 1)
    stream.put(b"after")
    assert [stream.data(shard) for shard in range(3)] == [[b"left"], [b"right"], [b"after"]]


@pytest.mark.deviates("moto", "never ends a shard")
def test_a_closed_shard_ends_with_a_null_iterator_and_its_children(client: Any, stream: Any) -> None:
    """Reading a closed shard ends, after all records, with a page without iterator that names the children."""
    stream.put(b"last")
    stream.split()
    iterator, records, page = stream.iterator(), [], {}
    for _ in range(5):
        page = client.get_records(ShardIterator=iterator)
        records += page["Records"]
        iterator = page.get("NextShardIterator")
        if iterator is None:
            break
    assert [record["Data"] for record in records] == [b"last"]
    assert iterator is None
    assert shard_ids(page["ChildShards"]) == [1, 2]
    assert [child["ParentShards"] for child in page["ChildShards"]] == [["shardId-000000000000"]] * 2


def test_an_open_shard_never_ends(client: Any, stream: Any) -> None:
    """An empty open shard always returns another iterator, and no children."""
    page = client.get_records(ShardIterator=stream.iterator())
    assert page["NextShardIterator"]
    assert not page.get("ChildShards")


@pytest.mark.deviates("kinesis-local", "reports 2**63-1")
@pytest.mark.deviates("moto", "reports the number of the last record")
def test_the_ending_number_is_above_every_record(stream: Any) -> None:
    """EndingSequenceNumber is above the numbers of all records in the shard."""
    number = stream.put(b"x")["SequenceNumber"]
    stream.split()
    ending = stream.shards()[0]["SequenceNumberRange"]["EndingSequenceNumber"]
    assert int(ending) > int(number)


def test_a_cut_outside_the_range_is_refused(client: Any, new_stream: Any, refusal: Any) -> None:
    """A new starting hash key of another shard is an InvalidArgumentException."""
    stream = new_stream(2)
    code = refusal(
        client.split_shard,
        StreamName=stream.name,
        ShardToSplit="shardId-000000000000",
        NewStartingHashKey=str(2**127 + 5),
    )
    assert code == "InvalidArgumentException"


def test_only_neighbours_can_be_merged(client: Any, new_stream: Any, refusal: Any) -> None:
    """Two shards without adjacent ranges cannot be merged."""
    stream = new_stream(3)
    code = refusal(
        client.merge_shards,
        StreamName=stream.name,
        ShardToMerge="shardId-000000000000",
        AdjacentShardToMerge="shardId-000000000002",
    )
    assert code == "InvalidArgumentException"


def test_an_unknown_shard_cannot_be_split(client: Any, stream: Any, refusal: Any) -> None:
    """A shard that does not exist is a ResourceNotFoundException."""
    code = refusal(
        client.split_shard,
        StreamName=stream.name,
        ShardToSplit="shardId-000000000009",
        NewStartingHashKey="1000",
    )
    assert code == "ResourceNotFoundException"


_UNEVEN = [
    pytest.mark.deviates(server, "splits and merges neighbours, and leaves the shards uneven")
    for server in ("kinesis-local", "moto")
]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (1, 2),
        (2, 4),
        (4, 2),
        *(pytest.param(*counts, marks=_UNEVEN) for counts in ((3, 2), (4, 5), (5, 3))),
    ],
)
def test_the_shard_count_is_updated_evenly(client: Any, new_stream: Any, before: int, after: int) -> None:
    """UpdateShardCount ends with the requested number of open shards, which cover all hash keys evenly."""
    stream = new_stream(before)
    response = client.update_shard_count(
        StreamName=stream.name, TargetShardCount=after, ScalingType="UNIFORM_SCALING"
    )
    assert (response["CurrentShardCount"], response["TargetShardCount"]) == (before, after)
    stream.wait_until_active()
    still_open = [s for s in stream.shards() if "EndingSequenceNumber" not in s["SequenceNumberRange"]]
    ranges = sorted(
        (int(s["HashKeyRange"]["StartingHashKey"]), int(s["HashKeyRange"]["EndingHashKey"]))
        for s in still_open
    )
    width = 2**128 // after
    # Servers round the cuts differently, and no code depends on that.
    assert all(abs(start - i * width) < 5 for i, (start, _) in enumerate(ranges))
    assert [end for _, end in ranges] == [*(start - 1 for start, _ in ranges[1:]), 2**128 - 1]
