"""Many shards, a few threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError

import pytest

from kinesis_core.planning.schedule import Lanes
from support.waiting import PATIENCE_S


@pytest.fixture
def lanes() -> Iterator[Lanes]:
    lanes = Lanes(3)
    yield lanes
    lanes.close()


def test_results_are_in_the_order_of_the_shards(lanes: Lanes) -> None:
    """Each shard is planned once, and its result is where the shard is."""
    ids = [f"shard-{i}" for i in range(50)]
    planned: list[str] = []

    def plan(shard_id: str) -> str:
        planned.append(shard_id)
        return shard_id.upper()

    assert lanes.run_all(plan, iter(ids)) == [shard_id.upper() for shard_id in ids]
    assert sorted(planned) == sorted(ids)
    assert lanes.run_all(plan, []) == []


def test_shards_are_begun_in_their_order() -> None:
    """The first shard is begun first, and each of the others after the one in front of it."""
    begun: list[str] = []
    lanes = Lanes(1)
    ids = [f"shard-{i}" for i in (5, 3, 8, 1)]
    lanes.run_all(begun.append, ids)
    lanes.close()
    assert begun == ids


def test_shards_are_planned_at_the_same_time(lanes: Lanes) -> None:
    """As many as there are threads: each waits here for the others."""
    together = threading.Barrier(3)
    lanes.run_all(lambda _: together.wait(PATIENCE_S), ["a", "b", "c"])


def test_a_failure_cancels_the_rest(lanes: Lanes) -> None:
    """The error is that of the first shard that failed, and no shard is begun after it."""
    begun: list[str] = []
    together = threading.Barrier(3)

    def plan(shard_id: str) -> None:
        begun.append(shard_id)
        together.wait(PATIENCE_S)
        raise ValueError(shard_id)

    with pytest.raises(ValueError, match="shard-0"):
        lanes.run_all(plan, [f"shard-{i}" for i in range(30)])
    assert len(begun) == 3


def test_closed_lanes_begin_no_more_shards(lanes: Lanes) -> None:
    """A plan that is being made when its query stops ends soon, with an error that says that it was cancelled."""
    begun: list[str] = []

    def plan(shard_id: str) -> None:
        begun.append(shard_id)
        lanes.close()

    with pytest.raises(CancelledError):
        lanes.run_all(plan, [f"shard-{i}" for i in range(30)])
    assert len(begun) <= 3
