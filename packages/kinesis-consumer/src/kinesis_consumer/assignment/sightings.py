"""When this process saw leases change. A lease whose counter stands still for too long has lost its worker."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import define, field, frozen

from kinesis_core.leases import Lease

SECONDS_PER_LEASE = 0.02
"""A scan reads a lease with a tenth of a read unit, so scans use five units per second at most."""


@frozen
class _Sighting:
    """What was seen of one lease."""

    counter: int
    changed_s: float
    """When the counter was first seen with this value."""
    owners: tuple[str | None, str | None]
    owners_s: float
    """When these owners were first seen."""
    is_confirmed: bool = True
    """Whether the worker that reads the lease may know that it does. It does not when the lease has just been given to it."""


@define
class Sightings:
    """
    What was seen of all leases, with times of this process's steady clock. No time of another machine is used.

    A worker stops at the latest one duration after it *sent* its last renewal. That renewal was seen later than it was
    sent, so a lease that is expired here has no worker any more.
    """

    duration_s: float
    """How long a lease is valid without a renewal."""
    discovery_s: float = 0.0
    """How much longer a worker has for its first renewal of a lease that another one has given to it."""
    _seen: dict[str, _Sighting] = field(factory=dict, init=False)

    def look(self, leases: Iterable[Lease], now_s: float) -> None:
        """Remember *leases*, which are all leases of the table. *now_s* is the time *after* they were read."""
        self._seen = {lease.key: _look(self._seen.get(lease.key), lease, now_s) for lease in leases}

    def is_expired(self, lease: Lease, now_s: float) -> bool:
        """Return whether *lease* has a worker that does not renew it any more."""
        seen = self._seen.get(lease.key)
        if lease.actual_owner is None or seen is None:
            return False
        grace_s = 0.0 if seen.is_confirmed else self.discovery_s
        return now_s - seen.changed_s >= self.duration_s + grace_s

    def hand_over_s(self, lease: Lease, now_s: float) -> float:
        """Return for how long *lease* is being handed over by its worker to the next one, as far as this process knows."""
        seen = self._seen.get(lease.key)
        return now_s - seen.owners_s if seen and lease.checkpoint_owner is not None else 0.0


def _look(last: _Sighting | None, lease: Lease, now_s: float) -> _Sighting:
    owners = lease.owner, lease.checkpoint_owner
    if last is None:
        return _Sighting(lease.counter, now_s, owners, now_s)
    has_changed = lease.counter != last.counter
    has_new_worker = lease.actual_owner != (last.owners[1] or last.owners[0])
    return _Sighting(
        lease.counter,
        now_s if has_changed or has_new_worker else last.changed_s,
        owners,
        now_s if owners != last.owners else last.owners_s,
        not has_new_worker and (has_changed or last.is_confirmed),
    )


def scan_pause_s(leases: int, least_s: float, duration_s: float) -> float:
    """
    Return the pause between scans of a table with that many *leases*.

    It bounds what the scans of a large table cost. It is never longer than that of the KCL, twice the duration of a lease.
    """
    return min(max(least_s, leases * SECONDS_PER_LEASE), 2 * (duration_s + 0.025))
