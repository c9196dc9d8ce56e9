"""Publishes the progress of a query to a lease table, for other consumers. The query itself never reads it back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from attrs import define, evolve, field

from kinesis_core.aws import StreamApi
from kinesis_core.clock import Clock, SystemClock
from kinesis_core.errors import ServiceError, TableLayoutError
from kinesis_core.leases.lease import Lease, identify_stream
from kinesis_core.leases.ownership import LeaseWriter
from kinesis_core.leases.published import leases_of
from kinesis_core.leases.table import LeaseTable
from kinesis_core.leases.table_client import CREATION_S
from kinesis_core.leases.unread import UnreadShards
from kinesis_core.model import Listing, Offset, StreamOffset, by_id, without_children
from kinesis_core.threads import ThreadPool
from kinesis_credentials.logs import get_logger

THREADS, SEARCH_THREADS = 8, 4
PAUSE_S = 60.0
"""How long a table is not written to after a failure: each attempt lets a query wait for a response."""
NO_LEASE = "no-lease"
"""The key of no lease."""
_KEY_OF_AWSLABS = {"metadataKey", "metadataSortKey"}
"""
The key of the table in which the awslabs connector keeps what Spark's checkpoint holds here. A job that names that
table has not asked for leases, so it runs without them.
"""

log = get_logger("kinesis_core")


class LeasePublisher:
    """
    Writes the leases that changed since the last publication. Not thread-safe. It uses up to 12 threads itself.

    The offsets hold the progress, so a late lease loses nothing, and a failed publication stops no query. It is
    logged, the table is left alone for a minute, and a later publication writes everything. Only a table that may not
    be written to at all is an error, and only before the first success, when a query starts.
    """

    def __init__(self, table: LeaseTable, apis: Mapping[str, StreamApi], clock: Clock | None = None) -> None:
        self._table = table
        self._clock = clock or SystemClock()
        self._pool = ThreadPool(THREADS, "kinesis-publish")
        self._searchers = ThreadPool(SEARCH_THREADS, "kinesis-search")
        self._writer = LeaseWriter(table, self._pool)
        self._streams = {
            name: _PublishedStream(api, len(apis) > 1, UnreadShards(api, self._searchers, self._clock))
            for name, api in apis.items()
        }
        self._written: dict[str, Lease] = {}
        self._is_prepared = False
        self._has_published = False
        self._resumes_s = float("-inf")

    def prepare(self) -> None:
        """
        Check that the table exists and may be written to, or create it, and wait until it is active.

        Raises:
            TableLayoutError: The table has another key, and is not the one of the awslabs connector.
            ServiceError: Access is denied, or another error is not retryable.
        """
        with self._tolerating_failures():
            self._prepare_once(CREATION_S)

    def publish(self, offset: Offset) -> None:
        """
        Publish that everything before *offset* has been processed.

        Raises:
            ServiceError: Nothing was published before, and the error is not retryable.
        """
        if self._clock.now_s() < self._resumes_s:
            return
        with self._tolerating_failures():
            self._prepare_once(0)
            for name, stream in offset.streams.items():
                self._publish_stream(self._streams[name], stream)

    def _publish_stream(self, published: _PublishedStream, stream: StreamOffset) -> None:
        leases = published.leases(stream)
        changed = {lease.key: lease for lease in leases if self._written.get(lease.key) != lease}
        timed = [self._timed(lease, published.api.now_ms()) for lease in changed.values()]
        for lease, refusal in self._writer.write(timed, published.listing):
            self._written[lease.key] = changed[lease.key]
            self._has_published = True
            if refusal is not None:
                log.warning("lease.taken", table=self._table.name, lease=lease.key, reason=refusal.value)

    def _timed(self, lease: Lease, now_ms: int) -> Lease:
        """Return *lease* with the time of its commit. What a start publishes was committed at some time before: it is unknown."""
        before = self._written.get(lease.key)
        if before is None or before.checkpoint == lease.checkpoint:
            return lease
        return evolve(lease, committed_ms=now_ms)

    @contextmanager
    def _tolerating_failures(self) -> Iterator[None]:
        try:
            yield
        except TableLayoutError as error:
            if set(error.keys) != _KEY_OF_AWSLABS:
                raise
            self._resumes_s = float("inf")
            log.warning("lease.publish_skipped", table=self._table.name, reason=error)
        except ServiceError as error:
            if not self._has_published and not error.retryable:
                raise
            self._resumes_s = self._clock.now_s() + PAUSE_S
            for stream in self._streams.values():
                stream.forget_listing()
            log.warning(
                "lease.publish_failed",
                table=self._table.name,
                code=error.code,
                reason=error,
                pause_s=PAUSE_S,
            )

    def _prepare_once(self, patience_s: float) -> None:
        if not self._is_prepared:
            self._table.prepare(patience_s)
            self._table.has(
                NO_LEASE
            )  # the first publication may have nothing to write, and its permission is checked at the start
            self._is_prepared = True

    def close(self) -> None:
        for stream in self._streams.values():
            stream.unread.close()
        for pool in (self._pool, self._searchers):
            pool.shutdown(wait=False, cancel_futures=True)


@define
class _PublishedStream:
    """The facts of one stream that its leases have in addition to shard offsets."""

    api: StreamApi
    has_siblings: bool
    unread: UnreadShards
    listing: Listing = field(factory=dict, init=False)
    _gone: set[str] = field(factory=set, init=False)
    """Shards that the offset names and Kinesis no longer lists."""
    _arn: str | None = field(default=None, init=False)

    def forget_listing(self) -> None:
        """
        List the shards again for the next leases.

        A write that got no response may have created a lease, and a KCL may have finished and deleted it before the next attempt.
        Only a listing with the shard's children shows that.
        """
        self.listing = {}

    def leases(self, stream: StreamOffset) -> list[Lease]:
        if self._is_stale(stream):
            self.listing = by_id(self.api.list_shards())
            self._gone = set(stream.shards) - set(self.listing)
        identifier = self._identify(stream)
        names = (identifier, None) if self.has_siblings else (None, identifier)
        return self.unread.settle(leases_of(stream, self.listing, *names))

    def _is_stale(self, stream: StreamOffset) -> bool:
        unknown = set(stream.shards) - set(self.listing) - self._gone
        return bool(unknown or without_children(stream.finished(), self.listing))

    def _identify(self, stream: StreamOffset) -> str:
        if self._arn is None:
            self._arn = self.api.describe().arn
        return identify_stream(self._arn, stream.created_ms)
