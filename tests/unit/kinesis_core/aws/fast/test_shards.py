"""Bodies of ListShards, decoded without botocore."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from kinesis_core.aws.fast.wire import decode_shards
from kinesis_core.aws.service_errors import MALFORMED
from kinesis_core.model import Shard

NUMBERS = st.integers(0, 2**187)
IDS = st.text(min_size=1, max_size=20)
SHARDS = st.builds(
    Shard, IDS, st.none() | IDS, st.none() | IDS, NUMBERS, NUMBERS, NUMBERS, st.none() | NUMBERS
)


def described(shard: Shard) -> dict[str, object]:
    facts: dict[str, object] = {
        "ShardId": shard.shard_id,
        "ParentShardId": shard.parent_id,
        "AdjacentParentShardId": shard.adjacent_parent_id,
        "HashKeyRange": {"StartingHashKey": str(shard.hash_start), "EndingHashKey": str(shard.hash_end)},
        "SequenceNumberRange": {
            "StartingSequenceNumber": str(shard.starting_number),
            "EndingSequenceNumber": None if shard.ending_number is None else str(shard.ending_number),
        },
        "Unknown": {"x": 1},
    }
    return facts


@given(st.lists(SHARDS), st.none() | IDS, st.booleans())
def test_shards_come_back(shards: list[Shard], token: str | None, has_nulls: bool) -> None:
    """A member without a value may be null or missing. Members that nobody knows are skipped."""
    body = {"Shards": [described(shard) for shard in shards], "NextToken": token}
    text = json.dumps(body)
    if not has_nulls:
        text = json.dumps(
            json.loads(text, object_hook=lambda o: {k: v for k, v in o.items() if v is not None})
        )
    assert decode_shards(text.encode()) == (shards, token)


@given(
    SHARDS,
    st.sampled_from(["ShardId", "HashKeyRange", "SequenceNumberRange"]),
    st.none() | st.integers() | st.just({}),
)
def test_a_shard_with_a_wrong_member_is_malformed(shard: Shard, name: str, value: object) -> None:
    """It is never skipped."""
    body = json.dumps({"Shards": [{**described(shard), name: value}]}).encode()
    with pytest.raises(MALFORMED):
        decode_shards(body)
