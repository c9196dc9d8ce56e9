"""What a leader decides."""

from __future__ import annotations

from collections import Counter

from kinesis_consumer.assignment import Assign, BeginHandOver, Decision, decide
from kinesis_core.leases import FINISHED, Lease
from support.shared_leases import make_lease


def owned_by(*owners: str | None) -> list[Lease]:
    return [make_lease(shard, owner) for shard, owner in enumerate(owners)]


def keys(*leases: Lease) -> set[str]:
    return {lease.key for lease in leases}


def given(decisions: list[Decision]) -> Counter[str]:
    return Counter(decision.worker for decision in decisions)


def test_leases_without_an_owner_are_spread() -> None:
    """Each goes to the worker that has the fewest then."""
    decisions = decide(owned_by(None, None, None, "w1"), ["w1", "w2"], (), ())
    assert all(isinstance(decision, Assign) for decision in decisions)
    assert given(decisions) == {"w1": 1, "w2": 2}


def test_without_workers_nothing_is_decided() -> None:
    """Leases wait for a worker."""
    assert decide(owned_by(None, "w1"), [], (), ()) == []


def test_expired_leases_are_assigned_at_once() -> None:
    """Nobody is there that could hand them over."""
    leases = owned_by("dead", "dead", "w1", "w2")
    decisions = decide(leases, ["w1", "w2"], keys(*leases[:2]), ())
    assert decisions == [Assign(leases[0], "w1"), Assign(leases[1], "w2")]


def test_leases_of_an_inactive_worker_that_renews_stay() -> None:
    """As in the KCL a worker without a report gets nothing, and keeps what it has."""
    assert decide(owned_by("mute", "mute", "mute", "w1"), ["w1"], (), ()) == []


def test_a_new_worker_gets_its_share_by_handovers() -> None:
    """As many as needed in one run: 6 leases, 3 workers, 2 leases each."""
    decisions = decide(owned_by(*["w1"] * 3, *["w2"] * 3), ["w1", "w2", "w3"], (), ())
    assert all(isinstance(decision, BeginHandOver) for decision in decisions)
    assert Counter(decision.lease.owner for decision in decisions) == {"w1": 1, "w2": 1}
    assert given(decisions) == {"w3": 2}


def test_a_difference_of_one_lease_is_equal_enough() -> None:
    """Nothing moves back and forth."""
    assert decide(owned_by("w1", "w1", "w2"), ["w1", "w2"], (), ()) == []


def test_new_leases_come_before_handovers() -> None:
    """A worker that gets enough new leases gets no other ones."""
    leases = [*owned_by("w1", "w1", "w1"), make_lease(3), make_lease(4)]
    decisions = decide(leases, ["w1", "w2"], (), ())
    assert [type(decision) for decision in decisions] == [Assign, Assign]
    assert given(decisions) == {"w2": 2}


def test_a_lease_that_is_being_handed_over_is_left_alone() -> None:
    """It counts for its next owner, so no other lease moves for the same reason."""
    leases = [*owned_by("w1", "w1"), make_lease(2, "w2", checkpoint_owner="w1")]
    assert decide(leases, ["w1", "w2"], (), ()) == []


def test_a_lease_that_is_not_handed_over_in_time_is_assigned() -> None:
    """Its next owner gets it, or another worker if that one is gone."""
    leaving = make_lease(0, "w2", checkpoint_owner="w1")
    assert decide([leaving], ["w1", "w2"], (), keys(leaving)) == [Assign(leaving, "w2")]
    assert decide([leaving], ["w3"], (), keys(leaving)) == [Assign(leaving, "w3")]


def test_a_next_owner_with_more_work_than_others_gets_no_more() -> None:
    """Otherwise the lease would move once more at once."""
    leaving = make_lease(1, "w1", checkpoint_owner="dead")
    assert decide([*owned_by("w1"), leaving], ["w1", "w2"], keys(leaving), ()) == [Assign(leaving, "w2")]


def test_a_lease_whose_worker_dies_while_it_hands_over_goes_to_the_next_owner() -> None:
    """The next owner is known already, and expects it."""
    leaving = make_lease(0, "w2", checkpoint_owner="dead")
    assert decide([leaving], ["w1", "w2"], keys(leaving), ()) == [Assign(leaving, "w2")]


def test_finished_leases_are_assigned_and_not_balanced() -> None:
    """Their holder deletes them. They are no work, so they move no other lease."""
    ended = [make_lease(shard, "w1", checkpoint=FINISHED) for shard in range(5)]
    unowned = make_lease(9, checkpoint=FINISHED)
    live = [make_lease(10, "w1"), make_lease(11, "w2")]
    assert decide([*ended, unowned, *live], ["w1", "w2"], (), ()) == [Assign(unowned, "w2")]


def test_finished_leases_are_spread_as_well() -> None:
    """Of two workers with equal work the one with fewer leases gets it."""
    ended = [make_lease(shard, checkpoint=FINISHED) for shard in range(4)]
    assert given(decide(ended, ["w1", "w2"], (), ())) == {"w1": 2, "w2": 2}


def test_no_worker_gets_more_leases_than_it_may_have() -> None:
    """The rest waits for another worker. Finished leases do not count."""
    leases = [*owned_by("w1", None, None, None), make_lease(9, checkpoint=FINISHED)]
    decisions = decide(leases, ["w1", "w2"], (), (), max_leases=1)
    assert [decision.lease for decision in decisions] == [leases[1], leases[4]]
    assert decisions[0].worker == "w2"


def test_a_next_owner_gets_no_more_than_it_may_have() -> None:
    """Its limit counts for a hand-over that was not finished, too. Another worker gets the lease then."""
    leaving = make_lease(1, "w1", checkpoint_owner="dead")
    leases = [*owned_by("w1"), leaving]
    assert decide(leases, ["w1"], keys(leaving), (), max_leases=1) == []
    assert decide(leases, ["w1", "w2"], keys(leaving), (), max_leases=1) == [Assign(leaving, "w2")]


def test_neither_finished_leases_nor_those_in_handover_move() -> None:
    """Other leases of the same worker do."""
    ended = make_lease(8, "w1", checkpoint=FINISHED)
    arriving = make_lease(9, "w1", checkpoint_owner="w3")
    leases = [*owned_by("w1", "w1"), ended, arriving]
    assert decide(leases, ["w1", "w2"], (), ()) == [BeginHandOver(leases[1], "w2")]


def test_leases_move_from_the_most_loaded_worker() -> None:
    """5, 3 and 1 leases become 3 each, so the second worker keeps its own."""
    leases = owned_by(*["w1"] * 5, *["w2"] * 3, "w3")
    decisions = decide(leases, ["w1", "w2", "w3"], (), ())
    assert [(decision.lease.owner, decision.worker) for decision in decisions] == [("w1", "w3")] * 2
