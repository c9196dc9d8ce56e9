"""
Which leases a stream lacks: those of its first shards when a group begins, and those that got lost later.

The lease of every other shard is made when its parents end. So a shard waits for its parents, and no shard is read twice. The
ancestors of a shard with a lease were read, or were left out when the group began.

Source: HierarchicalShardSyncer of the KCL 2.7 and 3.5
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, auto

from attrs import define, field, frozen

from kinesis_consumer.shards.positions import (
    FROM_OLDEST,
    InitialPosition,
    LeaseStart,
    find_beginning_ms,
    start_at,
)
from kinesis_core.leases import Lease
from kinesis_core.model import AtTimestamp, Latest, Listing, Shard, ancestors, index_children, parents_first
from kinesis_core.planning import Known, find_hole


@frozen
class StaleListing:
    """The listing lacks shards that must exist. List the shards again before leases are made or deleted by it."""

    reason: str


class _State(Enum):
    """What a shard means for its children."""

    ACTIVE = auto()
    """It has a lease and is not finished. Its end makes leases for its children."""
    FINISHED = auto()
    """It has a lease, and will make no leases for its children any more."""
    COMING = auto()
    """It has no lease yet. The end of its parents makes one."""
    CREATED = auto()
    """It gets a lease now."""
    SKIPPED = auto()
    """The group begins after it."""
    GONE = auto()
    """It has no lease and needs none: it is not listed, or was read."""


def missing_leases(
    listing: Listing,
    leases: Iterable[Lease],
    initial: InitialPosition,
    now_ms: int,
    stream_id: str | None = None,
) -> list[Lease] | StaleListing:
    """
    Return the leases to create for the stream with *listing*, each after those of its parents.

    *leases* may be of other streams, too. Create the missing ones in this order, and in this order only: a lease says that the
    ancestors of its shard need none.
    """
    known = {lease.shard_id: lease for lease in leases if lease.stream_id == stream_id}
    stale = find_staleness(listing, known)
    if stale is not None:
        return stale
    wanted = _without_leases(listing, known)
    began_ms = find_beginning_ms(known.values())
    plan = _LeasePlan(listing, known, wanted, initial, began_ms, start_at(initial, now_ms, began_ms))
    for shard_id in parents_first(wanted, listing):
        plan.decide(listing[shard_id])
    return [plan.starts[s].lease(listing[s], stream_id) for s in parents_first(plan.starts, listing)]


def find_staleness(listing: Listing, known: Mapping[str, Lease]) -> StaleListing | None:
    """Return what shows that *listing* is incomplete or older than the leases, which are given by shard id."""
    hole = find_hole(listing, Known(closed={s for s, lease in known.items() if lease.is_finished}))
    if hole is not None:
        return StaleListing(hole.what)
    for shard_id, lease in known.items():
        listed = [parent for parent in lease.parents if parent in listing]
        if listed and shard_id not in listing:  # a shard stays listed longer than its parents
            return StaleListing(f"{shard_id}, a child of {listed[0]}, has a lease and is not listed")
    return None


def _without_leases(listing: Listing, known: Mapping[str, Lease]) -> set[str]:
    """Return the open shards without a lease and their ancestors, but for those that no lease may be made for."""
    children = index_children(listing)
    newest = {shard_id for shard_id in listing if shard_id not in children and shard_id not in known}
    return (newest | ancestors(newest, listing)) - known.keys() - ancestors(known, listing)


@define
class _LeasePlan:
    """Decides which shards without a lease get one, parents first."""

    listing: Listing
    known: Mapping[str, Lease]
    wanted: set[str]
    initial: InitialPosition
    began_ms: int | None
    start: LeaseStart
    starts: dict[str, LeaseStart] = field(factory=dict)
    """The shards that get a lease."""
    _states: dict[str, _State] = field(factory=dict)

    def decide(self, shard: Shard) -> None:
        states = {parent: self._state(parent) for parent in shard.parents}
        if {_State.ACTIVE, _State.COMING} & {*states.values()}:
            for parent in [p for p, state in states.items() if state is _State.SKIPPED]:
                self._create(parent, self.start)  # the KCL waits for the leases of both parents
                states[parent] = _State.CREATED
        found = {*states.values()}
        if _State.COMING in found:
            self._states[shard.shard_id] = _State.COMING
        elif found & {_State.ACTIVE, _State.CREATED}:
            self._decide_child(shard, found)
        elif _State.FINISHED in found or self._follows_unlisted(shard):
            self._create(shard.shard_id, self._start_of_read())
        elif isinstance(self.initial, Latest) and not (shard.is_open or self._starts_at_a_time):
            self._states[shard.shard_id] = _State.SKIPPED
        else:
            self._create(shard.shard_id, self.start)

    def _decide_child(self, shard: Shard, found: set[_State]) -> None:
        """Decide on a shard that waits for a parent with a lease."""
        if _State.ACTIVE not in found and self._starts_at_a_time:
            # Its parents may have ended before that time. A KCL would then start it at its oldest record.
            self._create(shard.shard_id, self.start)
        elif found <= {_State.ACTIVE, _State.CREATED}:
            self._states[shard.shard_id] = _State.COMING
        else:
            # The KCL makes no lease at the end of one parent if the other one has none.
            self._create(shard.shard_id, self._start_of_read())

    @property
    def _starts_at_a_time(self) -> bool:
        """Whether the time at which the group began is known, and earlier shards must be read from then on."""
        return isinstance(self.initial, AtTimestamp) or (
            isinstance(self.initial, Latest) and self.began_ms is not None
        )

    def _start_of_read(self) -> LeaseStart:
        """Return where a shard starts whose parents were read."""
        return self.start if isinstance(self.initial, AtTimestamp) else FROM_OLDEST

    def _state(self, shard_id: str) -> _State:
        lease = self.known.get(shard_id)
        if lease is None:
            return self._states.get(shard_id, _State.GONE)
        # Kinesis no longer names the children of an expired shard.
        is_active = shard_id in self.listing and not lease.is_finished
        return _State.ACTIVE if is_active else _State.FINISHED

    def _follows_unlisted(self, shard: Shard) -> bool:
        """Return whether *shard* descends from an expired shard that has a lease, as their hash keys show."""
        return bool(shard.parents) and any(
            lease.hash_range is not None
            and lease.hash_range[0] <= shard.hash_end
            and shard.hash_start <= lease.hash_range[1]
            for shard_id, lease in self.known.items()
            if shard_id not in self.listing
        )

    def _create(self, shard_id: str, start: LeaseStart) -> None:
        self.starts[shard_id] = start
        self._states[shard_id] = _State.CREATED
