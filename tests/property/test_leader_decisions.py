"""Generated groups: what a leader decides."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from attrs import evolve, frozen
from hypothesis import given, settings, strategies as st

from kinesis_consumer.assignment import Assign, BeginHandOver, Decision, decide
from kinesis_core.leases import FINISHED, OLDEST, Lease
from support.examples import examples
from support.shared_leases import make_lease

names = st.sampled_from(["w0", "w1", "w2", "w3", "w4", "w5"])


@frozen
class Situation:
    """What a leader sees."""

    leases: list[Lease]
    workers: frozenset[str]
    expired: frozenset[str]
    overdue: frozenset[str]


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    leases: list[Lease] = []
    expired: set[str] = set()
    overdue: set[str] = set()
    # Most groups have few workers that have most of the leases, or none that are dead.
    owners = st.sampled_from([None, *draw(st.lists(names, min_size=1, max_size=8))])
    silent = draw(st.integers(0, 2))
    for shard in range(draw(st.integers(0, 14))):
        owner = draw(owners)
        checkpoint_owner = draw(st.none() | st.none() | st.none() | names)
        if checkpoint_owner == owner:
            checkpoint_owner = None
        checkpoint = draw(st.sampled_from([OLDEST, OLDEST, OLDEST, FINISHED]))
        lease = make_lease(shard, owner, 1, checkpoint, checkpoint_owner)
        leases.append(lease)
        if lease.actual_owner and draw(st.integers(1, 4)) <= silent:
            expired.add(lease.key)
        if checkpoint_owner and draw(st.booleans()):
            overdue.add(lease.key)
    workers = frozenset(draw(st.sets(names, max_size=5)))
    return Situation(leases, workers, frozenset(expired), frozenset(overdue))


def carry_out(leases: Sequence[Lease], decisions: Sequence[Decision]) -> list[Lease]:
    """Return the leases after *decisions*."""
    changed = {lease.key: lease for lease in leases}
    for decision in decisions:
        lease = decision.lease
        assert changed[lease.key] == lease, "two decisions about one lease"
        left = None if isinstance(decision, Assign) else lease.owner
        changed[lease.key] = evolve(lease, owner=decision.worker, checkpoint_owner=left)
    return list(changed.values())


def finish_hand_overs(leases: Sequence[Lease]) -> list[Lease]:
    return [evolve(lease, checkpoint_owner=None) if lease.owner else lease for lease in leases]


def difference(leases: Sequence[Lease], workers: Collection[str]) -> int:
    """Return by how many unfinished leases the workers differ. A lease that is handed over counts for its next owner."""
    loads = [sum(lease.owner == worker and not lease.is_finished for lease in leases) for worker in workers]
    return max(loads) - min(loads) if loads else 0


@settings(max_examples=examples(300))
@given(situations())
def test_each_lease_without_a_worker_gets_a_live_one(seen: Situation) -> None:
    """Unowned, expired and overdue leases are assigned to workers that may have them, and nobody else gets anything."""
    decisions = decide(seen.leases, seen.workers, seen.expired, seen.overdue)
    free = {lease.key for lease in seen.leases if lease.actual_owner is None} | seen.expired | seen.overdue
    assigned = {decision.lease.key for decision in decisions if isinstance(decision, Assign)}
    assert assigned == (free if seen.workers else set())
    assert {decision.worker for decision in decisions} <= seen.workers


@settings(max_examples=examples(300))
@given(situations())
def test_leases_in_handover_are_left_alone(seen: Situation) -> None:
    """Only live workers hand over, to others, and no lease twice. A finished lease is never handed over."""
    for decision in decide(seen.leases, seen.workers, seen.expired, seen.overdue):
        if isinstance(decision, BeginHandOver):
            lease = decision.lease
            assert lease.checkpoint_owner is None
            assert lease.owner in seen.workers - {decision.worker}
            assert not lease.is_finished
            assert lease.key not in seen.expired | seen.overdue


@settings(max_examples=examples(300))
@given(situations())
def test_workers_end_with_equally_many_leases(seen: Situation) -> None:
    """Once all hand-overs have ended, a second run leaves no two workers more than one lease apart."""
    leases = carry_out(seen.leases, decide(seen.leases, seen.workers, seen.expired, seen.overdue))
    leases = finish_hand_overs(leases)
    leases = carry_out(leases, decide(leases, seen.workers, (), ()))
    assert difference(leases, seen.workers) <= 1


@settings(max_examples=examples(300))
@given(situations())
def test_one_run_is_enough_without_earlier_handovers(seen: Situation) -> None:
    """As many hand-overs begin as are needed, at once."""
    leases = finish_hand_overs(seen.leases)
    decisions = decide(leases, seen.workers, seen.expired, ())
    assert difference(carry_out(leases, decisions), seen.workers) <= 1


@settings(max_examples=examples(300))
@given(situations())
def test_decisions_are_stable(seen: Situation) -> None:
    """A second run decides nothing about what the first one has done, neither before nor after its hand-overs have ended."""
    leases = carry_out(seen.leases, decide(seen.leases, seen.workers, seen.expired, seen.overdue))
    assert decide(leases, seen.workers, (), ()) == []
    if not any(lease.checkpoint_owner for lease in seen.leases):
        assert decide(finish_hand_overs(leases), seen.workers, (), ()) == []


@settings(max_examples=examples(300))
@given(situations())
def test_no_lease_moves_without_need(seen: Situation) -> None:
    """No more leases are handed over than the workers with more than their share have too many."""
    leases = finish_hand_overs(seen.leases)
    decisions = decide(leases, seen.workers, seen.expired, ())
    moved = sum(isinstance(decision, BeginHandOver) for decision in decisions)
    assigned = carry_out(leases, [decision for decision in decisions if isinstance(decision, Assign)])
    work = [lease for lease in assigned if lease.owner in seen.workers and not lease.is_finished]
    if not seen.workers:
        assert moved == 0
        return
    low, larger = divmod(len(work), len(seen.workers))
    loads = sorted((sum(lease.owner == worker for lease in work) for worker in seen.workers), reverse=True)
    fair = [low + 1] * larger + [low] * (len(loads) - larger)
    assert moved == sum(max(0, load - share) for load, share in zip(loads, fair, strict=True))
