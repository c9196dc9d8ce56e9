"""The streams of a group, and which of them a worker knows."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from attrs import define, field, frozen

from kinesis_consumer.delivery.subscribed_pages import SubscribedPages
from kinesis_core.aws import StreamApi
from kinesis_core.leases import Lease
from kinesis_core.planning import ShardPages
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_consumer")


@frozen
class GroupStream:
    """One stream of a group."""

    name: str
    """What the group calls it: see `name_streams`."""
    pages: ShardPages
    api: StreamApi
    initial_ms: int | None = None
    """The time where a new group begins, if the user gave one."""
    stream_id: str = ""
    """The KCL's name of the stream. A lease that does not say it gets it with the next write."""
    subscribed: SubscribedPages | None = None
    """Its pages by enhanced fan-out, if the group has a consumer."""

    @property
    def feed(self) -> ShardPages | SubscribedPages:
        """Where the pages of its shards come from."""
        return self.subscribed or self.pages


@define
class KnownStreams:
    """The streams that a worker was opened with. The table may have leases of others, which workers that name those streams read."""

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
