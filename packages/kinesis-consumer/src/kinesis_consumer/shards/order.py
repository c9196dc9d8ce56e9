"""The order of shards: a child is begun once its parents are finished."""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve

from kinesis_core.leases import Lease


def unfinished_parents(lease: Lease, find: Callable[[str], Lease | None]) -> list[str]:
    """
    Return the parents that must be finished before the shard of *lease* may be begun; an empty list if it may be begun now.

    *find* returns a lease by its key. A parent without a lease was read before, or is not read at all.
    """
    parents = {parent: find(evolve(lease, shard_id=parent).key) for parent in lease.parents}
    return [parent for parent, found in parents.items() if found is not None and not found.is_finished]
