from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from kinesis_core.aggregation import (
    MAGIC,
    AggregateBuilder,
    UserRecords,
    encode as encoding,
    is_aggregate,
    unpack,
)

GOLDEN = Path(__file__).parents[3] / "golden" / "aggregates" / "aws-kinesis-agg.json"
ENOUGH = 10 * 1024 * 1024


@pytest.mark.parametrize("case", json.loads(GOLDEN.read_text()), ids=lambda case: str(case["name"]))
def test_writes_what_another_implementation_writes(case: dict[str, Any]) -> None:
    """
    The bytes are those of the npm package aws-kinesis-agg, if that keeps the order of keys. It also packs an aggregate into
    another one.
    """
    builder = AggregateBuilder(ENOUGH)
    rows = [
        (base64.b64decode(row["data"]), row["partition_key"], row["explicit_hash_key"])
        for row in case["user_records"]
    ]
    added = [builder.add(*row) for row in rows]
    assert added == [not is_aggregate(data) for data, _, _ in rows]
    if not all(added):
        return
    theirs = base64.b64decode(case["aggregate"])
    assert unpack(builder.build()) == unpack(theirs)
    if not any(row["explicit_hash_key"] for row in case["user_records"]):
        assert builder.build() == theirs


def test_an_empty_builder_has_a_frame_only() -> None:
    """Without user records there are only the magic number and the MD5."""
    builder = AggregateBuilder(ENOUGH)
    assert (builder.size_bytes, builder.count) == (20, 0)
    assert builder.build().startswith(MAGIC)


def test_the_bound_is_exact() -> None:
    """An aggregate may have exactly the maximum size, and not one byte more."""
    needed = AggregateBuilder(ENOUGH)
    needed.add(b"data", "key")
    assert AggregateBuilder(needed.size_bytes).add(b"data", "key")
    assert not AggregateBuilder(needed.size_bytes - 1).add(b"data", "key")


@pytest.mark.parametrize("hash_key", [None, "12"])
def test_what_does_not_fit_leaves_no_trace(hash_key: str | None) -> None:
    """A user record that does not fit changes nothing: smaller ones are added afterwards."""
    builder, plain = AggregateBuilder(100), AggregateBuilder(100)
    assert builder.add(b"first", "a", hash_key)
    assert not builder.add(bytes(100), "new key", "340282366920938463463374607431768211455")
    assert not builder.add(bytes(100), "new key")
    assert builder.add(b"second", "b", hash_key)
    plain.add(b"first", "a", hash_key)
    plain.add(b"second", "b", hash_key)
    assert builder.build() == plain.build()


def test_a_builder_may_be_built_and_added_to() -> None:
    """User records can be added after `build`."""
    builder = AggregateBuilder(ENOUGH)
    builder.add(b"1", "a")
    builder.build()
    builder.add(b"2", "a")
    assert unpack(builder.build()) == UserRecords([b"1", b"2"], ["a", "a"], [None, None])


@pytest.mark.tests
def test_memory_of_sizes_and_keys_is_bounded() -> None:
    """The number of remembered keys and sizes is bounded."""
    builder = AggregateBuilder(2**40)
    for number in range(9_000):
        builder.add(bytes(number), f"key-{number}")
    assert all(len(heads) <= 8192 for heads in encoding._heads)
    assert len(encoding._key_entries) <= 8192
    found = unpack(builder.build())
    assert found is not None
    assert found.partition_keys == [f"key-{number}" for number in range(9_000)]
