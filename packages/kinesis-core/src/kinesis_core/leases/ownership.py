"""
Which leases of a table a query may write, so that a KCL that works on the same table loses and repeats nothing.

A lease with an owner is the owner's, and so are those of the shard's descendants: the KCL begins a child at the checkpoint that it
finds. A lease that is absent may be new, or a KCL has finished the shard and deleted the lease. A KCL deletes it only when all
children have leases. So the lease of a closed shard is created only if no descendant has one, and a lease that was in the table
during this run is never created again.

Source: the KCL's ShutdownTask, LeaseCleanupManager and HierarchicalShardSyncer
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from enum import Enum
from functools import partial
from itertools import groupby
from typing import Protocol

from attrs import define, evolve, field

from kinesis_core.leases.lease import Lease
from kinesis_core.model import Children, Listing, generations, index_children


class Refusal(Enum):
    """Why a lease was not written. The value completes a sentence of the log."""

    OWNED = "another consumer owns it, or the lease of an older shard that leads to it"
    FINISHED = "another consumer has read the shard to its end, and has deleted the lease"


class WritableTable(Protocol):
    """The part of a lease table's client that is needed here."""

    def write(self, lease: Lease, *, may_create: bool = True) -> bool: ...

    def has(self, key: str) -> bool: ...


@define
class LeaseWriter:
    """Writes leases to a table, as far as they are this query's. Not thread-safe; it writes in the threads of *pool*."""

    table: WritableTable
    pool: Executor
    _known: set[str] = field(factory=set, init=False)
    """Keys of leases that are in the table, or were in this run."""
    refused: dict[str, Refusal] = field(factory=dict, init=False)
    """Keys of leases that are not this query's. They are not written any more in this run."""

    def write(self, leases: Iterable[Lease], listing: Listing) -> Iterator[tuple[Lease, Refusal | None]]:
        """
        Write leases of one stream, parents first. Yields each with the reason why it was not written, if so.

        Raises:
            ServiceError: DynamoDB refuses a call. The leases that were yielded are done.
        """
        wanted = {lease.shard_id: lease for lease in leases if lease.key not in self.refused}
        generation = generations(wanted, listing)
        children = index_children(listing)
        in_order = sorted(wanted.values(), key=lambda lease: generation[lease.shard_id])
        for _, group in groupby(in_order, key=lambda lease: generation[lease.shard_id]):
            members = list(group)
            write = partial(self._write, children=children)
            for lease, refusal in zip(members, self.pool.map(write, members), strict=True):
                self._known.add(lease.key)
                if refusal is not None:
                    self.refused[lease.key] = refusal
                yield lease, refusal

    def _write(self, lease: Lease, children: Children) -> Refusal | None:
        parents = [evolve(lease, shard_id=parent).key for parent in lease.parents]
        if any(self.refused.get(parent) is Refusal.OWNED for parent in parents):
            return Refusal.OWNED
        descendants = [
            evolve(lease, shard_id=shard_id).key for shard_id in _descendants(lease.shard_id, children)
        ]
        is_known = lease.key in self._known
        if self.table.write(lease, may_create=not (is_known or descendants)):
            return None
        if is_known or not descendants or self.table.has(lease.key):
            return Refusal.OWNED
        if any(key not in self._known and self.table.has(key) for key in descendants):
            return Refusal.FINISHED
        return None if self.table.write(lease) else Refusal.OWNED


def _descendants(shard_id: str, children: Children) -> list[str]:
    """Return all listed descendants of a shard, the closest first."""
    found: dict[str, None] = {}
    waiting = [shard_id]
    for each in waiting:
        fresh = [child.shard_id for child in children.get(each, ()) if child.shard_id not in found]
        found.update(dict.fromkeys(fresh))
        waiting += fresh
    return list(found)
