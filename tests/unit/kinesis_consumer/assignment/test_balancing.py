"""What a leader decides."""

from __future__ import annotations

from collections import Counter

from kinesis_consumer.assignment import Assign, Decision, decide
from kinesis_core.leases import FINISHED, Lease
from support.shared_leases import make_lease


def owned_by(*owners: str | None) -> list[Lease]:
    return [make_lease(shard, owner) for shard, owner in enumerate(owners)]


def keys(*leases: Lease) -> set[str]:
    return {lease.key for lease in leases}


def given(decisions: list[Decision]) -> Counter[str]:
    return Counter(decision.worker for decision in decisions)


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
