"""Generated histories of consumer groups: workers are killed, paused and cut off, while the stream is resharded."""

from __future__ import annotations

import os

from attrs import evolve
from hypothesis import given, settings

from kinesis_consumer.assignment import Mode
from support.group_histories import (
    History,
    Scene,
    begin,
    come_to_rest,
    peaceful_steps,
    play,
    scenes,
    steps,
)

EXAMPLES = int(os.environ.get("CONSUMER_GROUP_EXAMPLES", "300"))
"""Set it to some thousands to look for rare cases by hand."""


@settings(max_examples=EXAMPLES, deadline=None)
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


@settings(max_examples=EXAMPLES // 4, deadline=None)
@given(scenes, peaceful_steps)
def test_a_lease_is_handed_over_without_repeated_records(scene: Scene, history: History) -> None:
    """While workers come and go in order, and shards are split and merged, a leader's group delivers each record once."""
    patient = evolve(scene.settings, hand_over_timeout_s=30.0)
    # One worker has several shards at first, so each one that joins is handed some.
    group = begin(evolve(scene, mode=Mode.ASSIGNED, shards=scene.shards + 2, workers=1, settings=patient))
    group.is_careful = True
    try:
        play(group, history)
        come_to_rest(group)
    finally:
        group.simulation.end()
    assert group.ledger.repeated == 0
