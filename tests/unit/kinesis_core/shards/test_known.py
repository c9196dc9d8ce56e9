"""Which shards Kinesis knows, asked one by one or at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, strategies as st

from kinesis_core.planning.schedule import Lanes
from kinesis_core.shards import RunAll, find_known

SHARDS = st.dictionaries(st.text("abcd", min_size=1, max_size=3), st.booleans(), max_size=30)


@pytest.fixture(scope="module")
def lanes() -> Iterator[Lanes]:
    lanes = Lanes(4)
    yield lanes
    lanes.close()


@given(known=SHARDS)
def test_the_first_known_shard_and_those_that_are_gone(lanes: Lanes, known: dict[str, bool]) -> None:
    """In whatever order the responses come, the shard is the first one that is known, and all before it are gone."""
    expected = min((shard_id for shard_id, is_there in known.items() if is_there), default=None)
    before = {shard_id for shard_id in known if expected is None or shard_id < expected}
    for run_all in _in_any_order(lanes):
        first, gone = find_known(known, known.__getitem__, run_all)
        assert first == expected
        assert before <= gone
        assert not any(known[shard_id] for shard_id in gone)


def _in_any_order(lanes: Lanes) -> list[RunAll]:
    def backwards(ask: Callable[[str], bool], shard_ids: list[str]) -> list[bool]:
        return [ask(shard_id) for shard_id in reversed(shard_ids)][::-1]

    return [map, lanes.run_all, backwards]  # type: ignore[list-item]


def test_shards_after_a_known_one_are_not_asked_for() -> None:
    """A stale listing that lacks many shards costs one call."""
    asked: list[str] = []

    def is_known(shard_id: str) -> bool:
        asked.append(shard_id)
        return shard_id == "b"

    assert find_known("dcba", is_known) == ("b", {"a"})
    assert asked == ["a", "b"]
