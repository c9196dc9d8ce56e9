"""
The end of a shard: leases for its children, before its own lease says that it is finished.

Source: ShutdownTask of the KCL 2.7 and 3.5
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from kinesis_consumer.leases import add_children, new_item
from kinesis_consumer.shards.known import is_known
from kinesis_consumer.shards.positions import start_of_children
from kinesis_consumer.stores import ItemTable
from kinesis_core.aws import StreamApi
from kinesis_core.errors import MalformedResponseError, StreamNotFoundError
from kinesis_core.leases import LEASE_OWNER, Lease
from kinesis_core.model import Shard, by_id, first_gap, index_children
from kinesis_core.planning import Known, find_hole


@frozen
class ChildShard:
    """A child of a shard that has ended."""

    shard_id: str
    parents: tuple[str, ...]
    hash_range: tuple[int, int]

    @staticmethod
    def of(shard: Shard) -> ChildShard:
        return ChildShard(shard.shard_id, shard.parents, (shard.hash_start, shard.hash_end))


@frozen
class Ended:
    """The children have leases. Now the shard's own checkpoint may become SHARD_END."""

    children: tuple[str, ...]
    """Empty if the stream was deleted, or forgot the shard and all its children."""


@frozen
class NotYet:
    """The leases of the children cannot be made now. Call again in some seconds."""

    reason: str


def read_child_shards(values: Sequence[Mapping[str, Any]] | None) -> list[ChildShard]:
    """
    Return `ChildShards` of GetRecords and SubscribeToShard as values.

    Raises:
        MalformedResponseError: A member is missing or malformed.

    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_ChildShard.html
    """
    try:
        return [
            ChildShard(
                str(value["ShardId"]),
                tuple(str(parent) for parent in value["ParentShards"]),
                (int(value["HashKeyRange"]["StartingHashKey"]), int(value["HashKeyRange"]["EndingHashKey"])),
            )
            for value in values or ()
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise MalformedResponseError(f"'ChildShards' is malformed: {error!r}", "MalformedResponse") from error


def create_children(
    table: ItemTable, lease: Lease, reported: Sequence[ChildShard], api: StreamApi
) -> Ended | NotYet:
    """
    Make leases for the children of a shard whose last record was read, or that has left the stream. Idempotent.

    *lease* is held by this worker. *reported* are the children as the last response named them. If it named none, those that are
    listed count.

    Raises:
        ServiceError: A call failed. Call again.
    """
    found = _Family(table, lease, api)
    children = list(reported) or found.listed_children()
    if isinstance(children, NotYet):
        return children
    waits_for = found.missing_parent(children)
    if waits_for is not None:
        return NotYet(f"its child is merged from {waits_for}, too, which has no lease yet")
    ids = tuple(sorted(child.shard_id for child in children))
    if not ids:
        return Ended(ids)
    created = [new for child in children if table.create((new := found.lease_of(child)).key, new_item(new))]
    if table.update(add_children(lease, ids)) is None:
        found.undo(created)
        return NotYet("its lease was deleted")
    return Ended(ids)


@frozen
class _Family:
    """The relatives of a shard that has ended."""

    table: ItemTable
    lease: Lease
    api: StreamApi

    def listed_children(self) -> list[ChildShard] | NotYet:
        """Return the listed children: all of them, or an empty list if the shard and its children have left the stream."""
        try:
            listing = by_id(self.api.list_shards())
        except StreamNotFoundError:
            return []
        shard = listing.get(self.lease.shard_id)
        is_left_out = shard is None and is_known(self.api, self.lease.shard_id)
        if is_left_out or find_hole(listing, Known()) is not None:
            return NotYet("the listing is stale")
        children = [ChildShard.of(child) for child in index_children(listing).get(self.lease.shard_id, ())]
        if shard is None:  # some of its children may have left, too
            return children
        hole = first_gap((child.hash_range for child in children), shard.hash_start, shard.hash_end)
        return children if hole is None else NotYet("its children are not listed yet")

    def missing_parent(self, children: Sequence[ChildShard]) -> str | None:
        """
        Return the other parent of a merged shard if that parent gets a lease some time, and has none.

        A child is begun when no lease of its parents is unfinished. So its lease must not be made before those of its parents.
        A parent that has left the stream gets no lease.
        """
        for child in children:
            others = [parent for parent in child.parents if parent != self.lease.shard_id]
            if not others or self._has_lease(child.shard_id):
                continue
            for parent in others:
                if not self._has_lease(parent) and is_known(self.api, parent):
                    return parent
        return None

    def lease_of(self, child: ChildShard) -> Lease:
        start = start_of_children(self.lease)
        return Lease(
            child.shard_id,
            start.checkpoint,
            self.lease.stream_id,
            parents=child.parents,
            hash_range=child.hash_range,
            starting_ms=start.starting_ms,
        )

    def undo(self, created: Sequence[Lease]) -> None:
        """
        Delete the leases that this call created, unless somebody has them already.

        A worker that was paused for a long time may find that others have finished the shard, and its children, meanwhile, and
        have deleted their leases.
        """
        for new in created:
            self.table.delete(new.key, {"checkpoint": new.checkpoint.number, LEASE_OWNER: None})

    def _has_lease(self, shard_id: str) -> bool:
        return self.table.get(evolve(self.lease, shard_id=shard_id).key) is not None
