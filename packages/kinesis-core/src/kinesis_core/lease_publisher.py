"""Publishes how far a query has come to a lease table, for others to see and to go on from. It is never read back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from attrs import define, field

from kinesis_core.errors import ServiceError
from kinesis_core.lease_table import LeaseTable
from kinesis_core.leases import Lease, identify_stream, leases_of
from kinesis_core.logs import get_logger
from kinesis_core.offsets import Offset, StreamOffset
from kinesis_core.shards import Listing, by_id, without_children
from kinesis_core.stream_api import StreamApi

THREADS = 8

log = get_logger("kinesis_core")


class LeasePublisher:
    """
    Writes the leases that changed since it last did. Not thread-safe; it uses up to 8 threads itself.

    Progress is in the offsets, so a lease that is published late loses nothing: once one publication has succeeded,
    failures are logged and made up for by the next. Before that, whatever will not pass by itself is raised: a
    table that nobody may write to is found out when a query starts.
    """

    def __init__(self, table: LeaseTable, apis: Mapping[str, StreamApi]) -> None:
        self._table = table
        several = len(apis) > 1
        self._streams = {name: _PublishedStream(api, several) for name, api in apis.items()}
        self._written: dict[str, Lease] = {}
        self._foreign: set[str] = set()
        self._has_published = False
        self._pool = ThreadPoolExecutor(THREADS, "kinesis-publish")

    def publish(self, offset: Offset) -> None:
        """
        Publish that everything before *offset* has been processed.

        Raises:
            ServiceError: It is the first time, and trying again does not help.
        """
        try:
            changed = [lease for lease in self._leases(offset) if self._written.get(lease.key) != lease]
            for lease, is_written in zip(changed, self._pool.map(self._table.write, changed), strict=True):
                self._note(lease, is_written)
        except ServiceError as error:
            if not self._has_published and not error.retryable:
                raise
            log.warning("lease.publish_failed", table=self._table.name, code=error.code, reason=str(error))
        else:
            self._has_published = True

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _leases(self, offset: Offset) -> Iterator[Lease]:
        for name, stream in offset.streams.items():
            yield from self._streams[name].leases(stream)

    def _note(self, lease: Lease, is_written: bool) -> None:
        self._written[lease.key] = lease
        if not is_written and lease.key not in self._foreign:
            self._foreign.add(lease.key)
            log.warning(
                "lease.taken", table=self._table.name, lease=lease.key, reason="another consumer owns it now"
            )


@define
class _PublishedStream:
    """What the leases of one stream say beside its positions."""

    api: StreamApi
    has_siblings: bool
    _listing: Listing = field(factory=dict, init=False)
    _gone: set[str] = field(factory=set, init=False)
    """Shards that positions name and Kinesis no longer lists."""
    _arn: str | None = field(default=None, init=False)

    def leases(self, stream: StreamOffset) -> Iterator[Lease]:
        if self._is_stale(stream):
            self._listing = by_id(self.api.list_shards())
            self._gone = set(stream.shards) - set(self._listing)
        return leases_of(stream, self._listing, self._identify(stream))

    def _is_stale(self, stream: StreamOffset) -> bool:
        unknown = set(stream.shards) - set(self._listing) - self._gone
        return bool(unknown or without_children(stream.finished(), self._listing))

    def _identify(self, stream: StreamOffset) -> str | None:
        if not self.has_siblings:
            return None
        if self._arn is None:
            self._arn = self.api.describe().arn
        return identify_stream(self._arn, stream.created_ms)
