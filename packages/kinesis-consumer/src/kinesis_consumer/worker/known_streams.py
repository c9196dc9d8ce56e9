"""The streams of a worker. The table may have leases of others, which workers that name those streams read."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from attrs import define, field

from kinesis_core.leases import Lease
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_consumer")


@define
class KnownStreams:
    """The streams that a worker was opened with."""

    worker: str
    ids: Collection[str | None]
    """Their ids in leases; None for the only stream of a group whose leases do not name it."""
    _ignored: set[str | None] = field(factory=set, init=False)

    def knows(self, lease: Lease) -> bool:
        """Return whether this worker can read the shard of *lease*."""
        return lease.stream_id in self.ids

    def warn(self, leases: Iterable[Lease]) -> None:
        """Warn once of each stream that has one of *leases* and is not known."""
        for stream_id in {lease.stream_id for lease in leases} - {*self.ids} - self._ignored:
            self._ignored.add(stream_id)
            log.warning("stream.ignored", stream=stream_id, worker=self.worker)
