"""Generated rows of a producer, as lists of Python and as columns of kinesis-native."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from kinesis_core.model import Shard
from kinesis_core.producing.router import Router
from kinesis_core.producing.rows import RowColumns, Rows, columns_of, random_keys
from kinesis_core.producing.shard_map import MAX_HASH_KEY, ShardMap
from support.aggregates import aggregate

Row = tuple[bytes, str, "str | None"]

_texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
_few = st.sampled_from([f"key-{number}" for number in range(12)])
_odd = st.sampled_from(
    ['"', "\\", "\x00\x1f\x7f\x08\x0c\n\r\t", "\u2028é", "k" * 256, "é" * 256, "\U0001f375" * 256]
)
keys = _few | _few | _texts | _odd
hash_keys = st.none() | st.integers(0, MAX_HASH_KEY).map(str) | st.sampled_from(["0", str(MAX_HASH_KEY)])
payloads = st.binary(max_size=300) | st.integers(0, 3_000).map(bytes)
row_lists = st.lists(st.tuples(payloads, keys, hash_keys), min_size=1, max_size=60)
aggregates = st.lists(st.tuples(_few, hash_keys, st.binary(max_size=30)), min_size=1, max_size=5).map(
    aggregate
)
mixtures = st.lists(st.tuples(payloads | aggregates, _few, hash_keys), min_size=1, max_size=60)
"""Rows, and rows that are aggregates already."""
bounds = st.sets(st.integers(1, MAX_HASH_KEY), max_size=6)
"""First hash keys of all shards but the first."""


def rows_of(rows: Sequence[Row], with_hash_keys: bool = True) -> Rows:
    data, names, hashes = map(list, zip(*rows, strict=True))
    return Rows(data, names, hashes if with_hash_keys else None)


def as_columns(rows: Rows) -> RowColumns:
    """Return *rows* as columns of kinesis-native, which must recognise them."""
    found = columns_of(rows)
    assert isinstance(found, RowColumns)
    return found


def values(rows: Rows) -> tuple[Any, ...]:
    return list(rows.data), list(rows.keys), None if rows.hash_keys is None else list(rows.hash_keys)


def make_router(starts: set[int]) -> Router:
    """Return a router for shards that begin at 0 and at *starts*."""
    ordered = [0, *sorted(starts)]
    ends = [*(start - 1 for start in ordered[1:]), MAX_HASH_KEY]
    shards = ShardMap.of(
        Shard(f"shardId-{index:012d}", None, None, first, last, 1, None)
        for index, (first, last) in enumerate(zip(ordered, ends, strict=True))
    )
    return Router("orders", shards, 1.0, random_keys(random.Random(0)))
