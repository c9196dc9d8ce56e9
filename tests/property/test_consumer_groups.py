"""Generated histories of consumer groups: workers are killed, paused and cut off, while the stream is resharded."""

from __future__ import annotations

import os
from collections import Counter

import pytest
from attrs import define, evolve, field
from hypothesis import given, settings, strategies as st

from kinesis_consumer.delivery import Batch
from kinesis_consumer.settings import GroupSettings
from kinesis_core.leases import Item, is_lease, read_lease
from property.group_histories import (
    History,
    Scene,
    begin,
    come_to_rest,
    peaceful_steps,
    play,
    scenes,
    steps,
    unanswered_steps,
)
from property.group_ledger import Ledger
from property.simulated_group import WRITES, SimulatedGroup
from support.examples import examples
from support.fake_stream import Mood

EXAMPLES = int(os.environ.get("CONSUMER_GROUP_EXAMPLES", "300"))
"""Set it to some thousands to look for rare cases by hand."""


@pytest.mark.tests
@settings(max_examples=examples(EXAMPLES), deadline=None)
@given(scenes, steps)
def test_every_record_is_delivered_and_committed_once(scene: Scene, history: History) -> None:
    """
    Whatever happens to its workers, a group commits each record once, and in order.

    A record comes again only if it is not committed, and in the same batch. Two workers have no shard at one time. At the end all is
    read, and the leases are shared evenly.
    """
    group = begin(scene)
    try:
        play(group, history)
        come_to_rest(group)
    finally:
        group.simulation.end()


@pytest.mark.tests
@pytest.mark.parametrize("kind", WRITES)
@settings(max_examples=examples(EXAMPLES // 6), deadline=None)
@given(data=st.data())
def test_every_write_may_stay_without_a_response(kind: str, data: st.DataObject) -> None:
    """
    Whether a write is lost, is made without a response, is made later, or is made while the process stands still: what a worker is
    told of its commits is true, or says that nobody knows. A group goes on as above.
    """
    group = begin(data.draw(scenes))
    try:
        play(group, data.draw(unanswered_steps(kind)))
        come_to_rest(group)
    finally:
        group.simulation.end()


@pytest.mark.tests
@settings(max_examples=examples(EXAMPLES // 4), deadline=None)
@given(scenes, peaceful_steps)
def test_a_lease_is_handed_over_without_repeated_records(scene: Scene, history: History) -> None:
    """While workers come and go in order, and shards are split and merged, a leader's group delivers each record once."""
    patient = evolve(scene.settings, hand_over_timeout_s=30.0)
    # One worker has several shards at first, so each one that joins is handed some.
    group = begin(evolve(scene, shards=scene.shards + 2, workers=1, settings=patient))
    group.is_careful = True
    try:
        play(group, history)
        come_to_rest(group)
    finally:
        group.simulation.end()
    assert group.ledger.repeated == 0


# Workers that start together --------------------------------------------------------------------------------------


@define(eq=False)
class Moves(Ledger):
    """Counts how often each lease goes from one worker to another."""

    moves: Counter[str] = field(factory=Counter)
    _workers: dict[str, str] = field(factory=dict)

    def write(self, worker: str, before: Item | None, after: Item | None, batch: Batch | None = None) -> None:
        super().write(worker, before, after, batch)
        lease = read_lease(after) if after is not None and is_lease(after) else None
        if lease is not None and lease.actual_owner is not None:
            self.moves[lease.key] += self._workers.get(lease.key, lease.actual_owner) != lease.actual_owner
            self._workers[lease.key] = lease.actual_owner


def is_balanced(group: SimulatedGroup) -> bool:
    """Return whether each of ten workers has four of 40 leases."""
    workers = Counter(lease.actual_owner for lease in group.leases())
    is_settled = all(lease.checkpoint_owner is None for lease in group.leases())
    return is_settled and sorted(workers.values()) == [4] * 10


@pytest.mark.tests
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_workers_that_start_together_do_not_fight(seed: int) -> None:
    """Ten workers begin with 40 shards at one moment: within 3 s all have four, and no lease moves meanwhile or later."""
    scene = Scene(
        *(40, 10, "TRIM_HORIZON", Mood(), False, [], GroupSettings()),
        traffic_s=0.1,
        processing_s=0.01,
        seed=seed,
    )
    group = begin(scene)
    group.ledger = moves = Moves(group.stream, group.table, group.readers_of)
    try:
        group.simulation.sleep(3.0)
        assert is_balanced(group)
        group.simulation.sleep(60.0)
        assert is_balanced(group)
        assert max(moves.moves.values()) == 0
        assert group.ledger.repeated == 0
    finally:
        group.simulation.end()
