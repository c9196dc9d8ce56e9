"""Trees and bars of generated streams."""

from __future__ import annotations

import random

from hypothesis import given, strategies as st

from kinesis_cli.lineage import bar
from kinesis_cli.lineage.table import grow
from kinesis_core.model import HASH_KEYS, Shard
from support.fake_stream import FakeClock, FakeStream

HASHES = st.integers(1, HASH_KEYS - 1)


@st.composite
def shards(draw: st.DrawFn) -> list[Shard]:
    """Return the shards of a stream that was resharded, of which any closed ones have expired."""
    stream = FakeStream(FakeClock(), random.Random(0)).create(draw(st.integers(1, 4)))
    for is_split, index in draw(st.lists(st.tuples(st.booleans(), st.integers(0, 99)), max_size=12)):
        names = sorted(stream.open_shards(), key=lambda one: stream.shards[one].hash_start)
        one, other = names[index % len(names)], names[(index + 1) % len(names)]
        if is_split or stream.shards[one].hash_end + 1 != stream.shards[other].hash_start:
            stream.split(one)
        else:
            stream.merge(one, other)
    listed = stream.list_shards()
    closed = [shard.shard_id for shard in listed if not shard.is_open]
    gone = draw(st.sets(st.sampled_from(closed))) if closed else set()
    return [shard for shard in listed if shard.shard_id not in gone]


@given(shards())
def test_a_tree_has_each_shard_once(listed: list[Shard]) -> None:
    """Each shard is on one line, below one of its listed parents, with the other parents beside it."""
    rows = grow(listed)
    assert sorted(row.shard.shard_id for row in rows) == sorted(shard.shard_id for shard in listed)
    lines: list[str] = []
    for row in rows:
        depth = len(row.branch) // 2
        lines[depth:] = [row.shard.shard_id]
        above = lines[depth - 1] if depth else None
        assert (above is None) == (
            not any(parent in {one.shard_id for one in listed} for parent in row.shard.parents)
        )
        if above is not None:
            assert {above, *row.also_from} == set(row.shard.parents)


@given(st.sets(HASHES, max_size=40), st.integers(1, 40))
def test_bars_share_the_width(cuts: set[int], width: int) -> None:
    """The bars of shards that share the hash keys fill each half of a character exactly once, and each bar shows something."""
    starts = [0, *sorted(cuts)]
    ends = [*[cut - 1 for cut in sorted(cuts)], HASH_KEYS - 1]
    bars = [bar(start, end, width) for start, end in zip(starts, ends, strict=True)]
    filled = {"█": (1, 1), "▌": (1, 0), "▐": (0, 1)}
    for cell in range(width):
        halves = [filled.get(drawn[cell], (0, 0)) for drawn in bars]
        assert [sum(half) for half in zip(*halves, strict=True)] == [1, 1]
    assert all(set(drawn) != {"·"} and len(drawn) == width for drawn in bars)
