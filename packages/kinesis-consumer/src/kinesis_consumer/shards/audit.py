"""
Whether the leases of a stream cover all its hash keys.

A table is read piece by piece while others write to it, so one finding proves nothing. The same hole three times in a row does.

Source: PeriodicShardSyncManager of the KCL 2.7 and 3.5
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import define, field

from kinesis_consumer.leases import describe_shard
from kinesis_consumer.stores import Update
from kinesis_core.leases import Lease, shard_attributes
from kinesis_core.model import Listing, first_gap

HashRange = tuple[int, int]
CONFIDENCE = 3
"""So many findings in a row are believed."""


def find_uncovered(leases: Iterable[Lease]) -> HashRange | None:
    """
    Return the first hash keys that no lease covers whose shard is not read to its end; None if there are none.

    *leases* are those of one stream. A lease that does not say its hash keys covers none: see `missing_ranges`.
    """
    return first_gap(
        lease.hash_range for lease in leases if lease.hash_range is not None and not lease.is_finished
    )


def missing_ranges(listing: Listing, leases: Iterable[Lease], stream_id: str | None = None) -> list[Update]:
    """Return writes of the hash keys that leases lack: a KCL before 2.3 wrote none."""
    return [
        describe_shard(
            lease,
            shard_attributes(
                Lease(lease.shard_id, lease.checkpoint, hash_range=(shard.hash_start, shard.hash_end))
            ),
        )
        for lease in leases
        if lease.stream_id == stream_id and lease.hash_range is None
        if (shard := listing.get(lease.shard_id)) is not None
    ]


@define
class HoleWatch:
    """Counts the findings of one stream. The caller decides when it looks."""

    _hole: HashRange | None = field(default=None, init=False)
    _findings: int = field(default=0, init=False)

    def is_certain(self, hole: HashRange | None) -> bool:
        """Note a finding, and return whether *hole* was found so often in a row that leases must be missing."""
        self._findings = self._findings + 1 if hole == self._hole else 1
        self._hole = hole
        return hole is not None and self._findings >= CONFIDENCE
