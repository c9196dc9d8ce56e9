"""
Which leases are no longer needed, and which leases are of shards that expired before they were read.

A finished lease is deleted by its holder. A lease that is not finished is never deleted. Its shard may have
expired with unread records. That is a loss of data, and has to be reported.

Source: LeaseCleanupManager of the KCL 2.7 and 3.5
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from attrs import define, evolve, field

from kinesis_consumer.stores import ItemTable
from kinesis_core.leases import AT_TIMESTAMP, FINISHED, LEASE_OWNER, OLDEST, Lease
from kinesis_core.model import Children, Listing, index_children

_NOT_BEGUN = {OLDEST.number, AT_TIMESTAMP}
Listings = Mapping[str | None, Listing]
"""The listed shards of each stream, by the stream's id in leases: None for the only stream of a table."""


def needless_leases(leases: Iterable[Lease], worker: str, listings: Listings) -> list[Lease]:
    """
    Return the finished leases of *worker* that may be deleted now.

    No lease of a parent is left, and all children are begun. The listed children of an expired shard have
    leases. Children are those that the lease names, or those in *listings* if it names none.
    """
    known = {lease.key: lease for lease in leases}
    families = {stream_id: _Stream(listing) for stream_id, listing in listings.items()}
    return [
        lease
        for lease in known.values()
        if lease.is_finished and lease.owner == worker and lease.checkpoint_owner is None
        if not any(key in known for key in _keys(lease, lease.parents))
        if _is_followed(lease, known, families.get(lease.stream_id, _Stream({})))
    ]


def delete_finished(table: ItemTable, lease: Lease, worker: str) -> bool:
    """
    Delete a finished lease of *worker*. Returns whether it is deleted; False if another worker has it now.

    Raises:
        ServiceError: The store failed.
    """
    return table.delete(
        lease.key,
        {"checkpoint": FINISHED.number, LEASE_OWNER: worker, "checkpointOwner": None},
    )


def left_unfinished(listing: Listing, leases: Iterable[Lease], stream_id: str | None = None) -> list[Lease]:
    """
    Return the leases of shards that expired before they were read to their end: records may be lost.

    *listing* is complete (see `find_staleness`) and was requested after *leases* were read.
    """
    return [
        lease
        for lease in leases
        if lease.stream_id == stream_id and not lease.is_finished and _has_left(lease, listing)
    ]


@define
class _Stream:
    """The shards of one stream that are listed; none if they are not known."""

    listing: Listing
    children: Children = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.children = index_children(self.listing)

    def children_of(self, lease: Lease) -> set[str]:
        return {*lease.children, *(child.shard_id for child in self.children.get(lease.shard_id, ()))}


def _is_followed(lease: Lease, known: Mapping[str, Lease], stream: _Stream) -> bool:
    children = stream.children_of(lease)
    if stream.listing and _has_left(lease, stream.listing):
        return all(key in known for key in _keys(lease, (c for c in children if c in stream.listing)))
    found = [known.get(key) for key in _keys(lease, children)]
    return bool(found) and all(
        child is not None and child.checkpoint.number not in _NOT_BEGUN for child in found
    )


def _has_left(lease: Lease, listing: Listing) -> bool:
    """Return whether the shard has expired. One whose parent is listed is newer than the listing."""
    return lease.shard_id not in listing and not any(parent in listing for parent in lease.parents)


def _keys(lease: Lease, shard_ids: Iterable[str]) -> Iterator[str]:
    return (evolve(lease, shard_id=shard_id).key for shard_id in shard_ids)
