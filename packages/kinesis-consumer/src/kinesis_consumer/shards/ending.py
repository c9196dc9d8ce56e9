"""
The end of a shard: leases for its children, before its own lease says that it is finished. They are begun after that.

Source: ShutdownTask of the KCL 2.7 and 3.5
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import evolve, frozen

from kinesis_consumer.leases import add_children, new_item
from kinesis_consumer.shards.positions import start_of_children
from kinesis_consumer.stores import ItemTable
from kinesis_core.aws import StreamApi
from kinesis_core.errors import ServiceError, StreamNotFoundError
from kinesis_core.leases import LEASE_OWNER, Lease
from kinesis_core.model import Shard, by_id, first_hole, index_children
from kinesis_core.planning import Known, find_hole
from kinesis_core.shards import is_known


def unfinished_parents(lease: Lease, find: Callable[[str], Lease | None]) -> list[str]:
    """
    Return the parents that must be finished before the shard of *lease* may be begun; an empty list if it may be begun now.

    *find* returns a lease by its key. A parent without a lease was read before, or is not read at all.
    """
    parents = {parent: find(evolve(lease, shard_id=parent).key) for parent in lease.parents}
    return [parent for parent, found in parents.items() if found is not None and not found.is_finished]


@frozen
class NotYet:
    """The leases of the children cannot be made now. Call again in some seconds."""

    reason: str


def create_children(table: ItemTable, lease: Lease, api: StreamApi) -> NotYet | None:
    """
    Make leases for the listed children of a shard whose last record was read, or that has expired. Idempotent.

    *lease* is held by this worker. Returns None once all children have leases. Now the shard's own checkpoint may become SHARD_END.

    Raises:
        ServiceError: A call failed. Call again.
    """
    found = _Family(table, lease, api)
    children = found.listed_children()
    if isinstance(children, NotYet):
        return children
    waits_for = found.missing_parent(children)
    if waits_for is not None:
        return NotYet(f"its child is merged from {waits_for}, too, which has no lease yet")
    if not children:
        return None
    created: list[Lease] = []
    try:
        for child in children:
            new = found.lease_of(child)
            created.append(new)  # before the response: it may be lost
            if not table.create(new.key, new_item(new)):
                created.remove(new)
        is_there = table.update(add_children(lease, sorted(child.shard_id for child in children))) is not None
    except ServiceError:
        if table.get(lease.key) is None:
            found.undo(created)
        raise
    if not is_there:
        found.undo(created)
        return NotYet("its lease was deleted")
    return None


@frozen
class _Family:
    """The relatives of a shard that has ended."""

    table: ItemTable
    lease: Lease
    api: StreamApi

    def listed_children(self) -> Sequence[Shard] | NotYet:
        """
        Return the listed children: all of them, or none if the stream was deleted, or forgot the shard and its children.
        """
        try:
            listing = by_id(self.api.list_shards())
        except StreamNotFoundError:
            return []
        shard = listing.get(self.lease.shard_id)
        is_left_out = shard is None and is_known(self.api, self.lease.shard_id)
        if is_left_out or find_hole(listing, Known()) is not None:
            return NotYet("the listing is stale")
        children = index_children(listing).get(self.lease.shard_id, ())
        if shard is None:  # some of its children may have left, too
            return children
        hole = first_hole(children, shard.hash_start, shard.hash_end)
        return children if hole is None else NotYet("its children are not listed yet")

    def missing_parent(self, children: Sequence[Shard]) -> str | None:
        """
        Return the other parent of a merged shard if that parent gets a lease some time, and has none.

        A child is begun when no lease of its parents is unfinished. So its lease must not be made before those of its parents.
        An expired parent gets no lease.
        """
        for child in children:
            others = [parent for parent in child.parents if parent != self.lease.shard_id]
            if not others or self._has_lease(child.shard_id):
                continue
            for parent in others:
                if not self._has_lease(parent) and is_known(self.api, parent):
                    return parent
        return None

    def lease_of(self, child: Shard) -> Lease:
        new = start_of_children(self.lease).lease(child, self.lease.stream_id)
        return evolve(new, stream_identifier=self.lease.stream_identifier)

    def undo(self, created: Sequence[Lease]) -> None:
        """
        Delete the leases that this call created or may have created, unless another worker has them already.

        While a worker was paused for a long time, other workers may have finished the shard and its children, and may have
        deleted their leases.
        """
        for new in created:
            self.table.delete(new.key, {"checkpoint": new.checkpoint.number, LEASE_OWNER: None})

    def _has_lease(self, shard_id: str) -> bool:
        return self.table.get(evolve(self.lease, shard_id=shard_id).key) is not None
