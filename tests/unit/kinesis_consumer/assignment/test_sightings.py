"""When leases have lost their worker, as one process sees it."""

from __future__ import annotations

import pytest
from attrs import evolve

from kinesis_consumer.assignment import Sightings, scan_pause_s
from kinesis_core.leases import Lease
from support.shared_leases import make_lease

OWNED = make_lease(0, "w1", counter=5)
UNOWNED = make_lease(1)


def seen(*looks: tuple[float, Lease], discovery_s: float = 0.0) -> Sightings:
    sightings = Sightings(10.0, discovery_s)
    for now_s, lease in looks:
        sightings.look([lease], now_s)
    return sightings


def test_an_owned_lease_counts_as_renewed_when_it_is_first_seen() -> None:
    """A process cannot know how old the first counter is that it sees."""
    sightings = seen((100.0, OWNED))
    assert not sightings.is_expired(OWNED, 109.9)
    assert sightings.is_expired(OWNED, 110.0)


def test_a_counter_that_changes_is_a_renewal() -> None:
    """The duration of a lease counts from the last look that found another counter."""
    renewed = evolve(OWNED, counter=6)
    sightings = seen((100.0, OWNED), (109.0, renewed), (112.0, renewed))
    assert not sightings.is_expired(renewed, 118.9)
    assert sightings.is_expired(renewed, 119.0)


def test_a_lease_without_an_owner_does_not_expire() -> None:
    """Nobody has failed to renew it."""
    assert not seen((100.0, UNOWNED)).is_expired(UNOWNED, 200.0)


def test_the_worker_of_a_handover_is_the_one_that_reads() -> None:
    """A hand-over leaves the counter alone, and does not renew the lease."""
    leaving = evolve(OWNED, owner="w2", checkpoint_owner="w1")
    sightings = seen((100.0, OWNED), (105.0, leaving))
    assert sightings.is_expired(leaving, 110.0)


def test_a_handover_is_timed_from_its_first_sight() -> None:
    """Renewals during a hand-over do not begin it anew. Other owners do."""
    leaving = evolve(OWNED, owner="w2", checkpoint_owner="w1")
    sightings = seen((100.0, OWNED), (105.0, leaving), (108.0, evolve(leaving, counter=6)))
    assert sightings.hand_over_s(leaving, 120.0) == 15.0
    other = evolve(leaving, owner="w3")
    sightings.look([other], 121.0)
    assert sightings.hand_over_s(other, 121.0) == 0.0
    assert sightings.hand_over_s(OWNED, 500.0) == 0.0


def test_a_worker_has_time_to_discover_a_lease_it_was_given() -> None:
    """A KCL finds its new leases after ten seconds. Once it has renewed one, the usual duration counts."""
    given = evolve(OWNED, owner="w2", counter=6)
    sightings = seen((100.0, OWNED), (101.0, given), discovery_s=10.0)
    assert not sightings.is_expired(given, 120.9)
    assert sightings.is_expired(given, 121.0)
    renewed = evolve(given, counter=7)
    sightings.look([renewed], 115.0)
    assert sightings.is_expired(renewed, 125.0)


def test_the_first_sight_of_a_lease_adds_no_time_for_discovery() -> None:
    """A new leader waits for the leases of dead workers no longer than one duration."""
    assert seen((100.0, OWNED), discovery_s=10.0).is_expired(OWNED, 110.0)


def test_a_lease_that_comes_back_is_new() -> None:
    """What was seen of a deleted lease is forgotten."""
    sightings = seen((100.0, OWNED))
    sightings.look([], 105.0)
    sightings.look([OWNED], 109.0)
    assert not sightings.is_expired(OWNED, 118.9)


@pytest.mark.parametrize(("leases", "pause_s"), [(0, 1.5), (75, 1.5), (500, 10.0), (5000, 20.05)])
def test_scans_of_large_tables_are_rare(leases: int, pause_s: float) -> None:
    """Scans cost five read units per second at most, but are never rarer than those of the KCL."""
    assert scan_pause_s(leases, 1.5, 10.0) == pytest.approx(pause_s)
