"""What a lease table holds at one moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from kinesis_core.leases import ENTITY_TYPE, LEASE_KEY, Item, Lease, is_lease, item_from_dynamodb, read_leases

_REPORT, _REPORT_TIME = "WORKER_METRIC_STATS", "lut"
_LEADER, _LEADER_NAME = "LEADER", "ownerName"


@frozen
class Snapshot:
    """The leases, by key, and the items that coordinate the workers."""

    leases: Sequence[Lease]
    reports_s: Mapping[str, float]
    """When each worker last said that it is alive, in seconds since the epoch. KCL 3.5 and this project's consumers do."""
    leader: str | None = None
    malformed: Sequence[str] = ()
    """The keys of items that are not valid leases."""

    @staticmethod
    def read(items: Iterable[Mapping[str, Any]]) -> Snapshot:
        """Return what *items*, in DynamoDB's JSON, say."""
        read = [item_from_dynamodb(item) for item in items]
        leases, malformed = read_leases(read)
        others = [item for item in read if not is_lease(item)]
        leaders = [str(item.get(_LEADER_NAME)) for item in others if item.get(ENTITY_TYPE) == _LEADER]
        return Snapshot(
            leases,
            dict(filter(None, map(_report, others))),
            leaders[0] if leaders else None,
            malformed,
        )

    def of_stream(self, stream: str | None) -> Snapshot:
        """
        Return the leases of *stream*, a name or an id of the KCL. Leases that name no stream may be of it.

        Of a malformed lease only the key may say so: `account:name:created:shard`.
        """
        if stream is None:
            return self
        kept = [lease for lease in self.leases if lease.stream is None or _is_of(lease.stream, stream)]
        malformed = [
            key for key in self.malformed if key.count(":") != 3 or _is_of(key.rpartition(":")[0], stream)
        ]
        return evolve(self, leases=kept, malformed=malformed)


def _report(item: Item) -> tuple[str, float] | None:
    time_s = item.get(_REPORT_TIME)
    if item.get(ENTITY_TYPE) != _REPORT or not isinstance(time_s, (int, float)):
        return None
    return str(item.get(LEASE_KEY)), float(time_s)


def _is_of(stream_id: str, stream: str) -> bool:
    """Return whether *stream* is what *stream_id* names, `account:name:created`."""
    return stream_id == stream or stream in stream_id.split(":")[1:2]
