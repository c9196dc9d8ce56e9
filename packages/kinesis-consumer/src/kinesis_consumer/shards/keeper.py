"""
The keeper of a table's leases: what the leader does so that every shard has the lease that it needs.

A table is read piece by piece while others write to it, so one finding proves nothing. The same hole three times in a row does.

Source: PeriodicShardSyncManager of the KCL 2.7 and 3.5
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from attrs import define, evolve, field, frozen

from kinesis_consumer.leases import LeaseEmptiness, describe_emptiness, describe_shard, new_item
from kinesis_consumer.shards.cleanup import left_unfinished
from kinesis_consumer.shards.positions import InitialPosition
from kinesis_consumer.shards.sync import StaleListing, missing_leases
from kinesis_consumer.stores import ItemTable, Update
from kinesis_core.aws import StreamApi
from kinesis_core.clock import Clock
from kinesis_core.errors import ServiceError
from kinesis_core.leases import Lease, shard_attributes
from kinesis_core.model import Listing, by_id, first_gap
from kinesis_core.shards import RunAll, find_known, is_known
from kinesis_core.threads import ThreadPool

R = TypeVar("R")
HashRange = tuple[int, int]
CONFIDENCE = 3
"""So many findings in a row are believed."""
CREATIONS = 100
"""Maximum number of leases created in one run, so that a run is short. The next run continues."""
RETRY_S = 2.0
"""Pause after a listing that cannot be used while a stream has no lease at all."""
HOLE_S = 30.0
"""Time between two checks of a stream that may lack leases."""
CALM_S = 60.0
"""Time between two checks of a stream that lacks no lease."""
FORGET_S = 60.0
"""After such a pause leases are no longer created by an earlier look: others may have created, finished and deleted them."""
LOOK_UPS = 8
"""Parents that are asked for at once."""


def _at_once(ask: Callable[[str], R], shard_ids: Iterable[str]) -> list[R]:
    """Return the responses in order. The threads end with the last one: only the first leases of a group need them."""
    with ThreadPool(LOOK_UPS, "kinesis-parents") as pool:
        return list(pool.map(ask, shard_ids))


@frozen
class Findings:
    """What one run did and found."""

    created: list[Lease] = field(factory=list)
    unread: list[Lease] = field(factory=list)
    """Leases of shards that expired unfinished: records may be lost. Each is reported once."""
    refused: dict[str | None, StaleListing] = field(factory=dict)
    """Listings that were not believed, by stream."""
    failed: dict[str | None, ServiceError] = field(factory=dict)
    """Streams that could not be listed. They are tried again."""


@define
class LeaseKeeper:
    """
    Creates the leases that streams lack. Only the leader runs it, with the leases of a scan that has just been made.

    A stream without any lease gets its first ones at once. Later a lease is created only if three checks in a row find hash keys
    without a lease. So one stale scan or listing creates no lease.
    """

    table: ItemTable
    streams: Mapping[str | None, StreamApi]
    """By the stream's id in leases: None for the only stream of a table."""
    initial: InitialPosition
    clock: Clock
    identifier: str | None = None
    """The only stream of a table, for its new leases: see `Lease.stream_identifier`."""
    run_all: RunAll = field(default=_at_once)
    """Asks Kinesis for several shards."""
    _streams: dict[str | None, _StreamKeeper] = field(factory=dict, init=False)
    _run_s: float = field(default=float("-inf"), init=False)
    """When it ran last."""

    def begin(self) -> None:
        """Forget earlier findings. Call it when this worker becomes the leader."""
        self._streams.clear()

    @property
    def listings(self) -> dict[str | None, Listing]:
        """The last complete listing of each stream that was listed."""
        return {stream_id: stream.listing for stream_id, stream in self._streams.items() if stream.listing}

    def run(self, leases: Sequence[Lease]) -> Findings:
        """
        Look at the streams that are due, and create leases.

        Raises:
            ServiceError: The table failed. The next run continues where this one ended.
        """
        findings = Findings()
        now_s = self.clock.now_s()
        is_resumed, self._run_s = now_s - self._run_s > FORGET_S, now_s
        by_stream: dict[str | None, list[Lease]] = {}
        for lease in leases:
            by_stream.setdefault(lease.stream_id, []).append(lease)
        for stream_id, api in self.streams.items():
            stream = self._streams.setdefault(
                stream_id, _StreamKeeper(stream_id, api, self.initial, self.run_all)
            )
            if is_resumed:
                stream.queue.clear()
            if not stream.queue and now_s >= stream.due_s:
                self._look(stream, by_stream.get(stream_id, []), findings)
            self._create(stream.queue, findings)
        findings.unread.extend(lease for stream in self._streams.values() for lease in stream.take_unread())
        return findings

    def _look(self, stream: _StreamKeeper, leases: list[Lease], findings: Findings) -> None:
        try:
            found = stream.look(leases, self._run_s)
        except ServiceError as error:
            findings.failed[stream.stream_id] = error
            return
        if isinstance(found, StaleListing):
            findings.refused[stream.stream_id] = found
            return
        for update in found:
            self.table.update(update)

    def _create(self, queue: deque[Lease], findings: Findings) -> None:
        while queue and len(findings.created) < CREATIONS:
            lease = evolve(queue[0], stream_identifier=self.identifier)
            if self.table.create(lease.key, new_item(lease)):
                findings.created.append(lease)
            queue.popleft()


@define
class _StreamKeeper:
    """What the keeper knows of one stream."""

    stream_id: str | None
    api: StreamApi
    initial: InitialPosition
    run_all: RunAll
    due_s: float = field(default=float("-inf"), init=False)
    listing: Listing = field(factory=dict, init=False)
    """The last complete one."""
    queue: deque[Lease] = field(factory=deque, init=False)
    """Leases to create, parents first."""
    _holes: deque[HashRange | None] = field(factory=lambda: deque(maxlen=CONFIDENCE), init=False)
    """What the last looks found uncovered."""
    _left: dict[str, bool] = field(factory=dict, init=False)
    """Leases whose shards are not listed, by key: whether they were missing twice."""
    _unread: list[Lease] = field(factory=list, init=False)

    def look(self, leases: Sequence[Lease], now_s: float) -> list[Update] | StaleListing:
        """
        List the shards, and queue leases that are certainly missing. Returns what to write to the other leases.

        Raises:
            ServiceError: Kinesis failed.
        """
        hole = find_uncovered(leases)
        self._holes.append(hole)
        is_certain = hole is not None and self._holes.count(hole) == CONFIDENCE
        is_calm = hole is None and all(lease.hash_range is not None for lease in leases)
        self.due_s = now_s + (CALM_S if is_calm else HOLE_S if leases else RETRY_S)
        listing = by_id(self.api.list_shards())
        missing = missing_leases(listing, leases, self.initial, self.api.now_ms(), self.stream_id)
        if isinstance(missing, StaleListing):
            return missing
        if is_certain or not leases:
            left_out = self._find_left_out(missing, listing)
            if left_out is not None:
                return left_out
            self.queue.extend(missing if leases else self._promising(missing))
        self._adopt(listing, left_unfinished(listing, leases, self.stream_id))
        return missing_ranges(listing, leases, self.stream_id)

    def _promising(self, first: Sequence[Lease]) -> list[Lease]:
        """
        Return the *first* leases of a group. Those that start at a time say so, as one says that its shard was empty until then:
        records that expire before the shard is read for the first time are lost.

        The child of another shard does not say it, as it may be younger. Nor does a lease that is made later, after others.
        """
        if all(lease.starting_ms is None for lease in first):
            return [*first]
        stream, made = self.api.describe(), {lease.shard_id for lease in first}

        def promising(lease: Lease) -> Lease:
            if lease.starting_ms is None or made & {*lease.parents}:
                return lease
            since = LeaseEmptiness(max(lease.starting_ms, stream.created_ms), stream.retention_hours)
            return evolve(lease, empty_until=describe_emptiness(lease.checkpoint, since))

        return [*map(promising, first)]

    def take_unread(self) -> list[Lease]:
        """Return the leases that must be reported, once."""
        unread, self._unread = self._unread, []
        return unread

    def _find_left_out(self, missing: Sequence[Lease], listing: Listing) -> StaleListing | None:
        """Return a parent that the listing left out. Nobody would read it once a child has a lease."""
        unlisted = {parent for lease in missing for parent in lease.parents} - listing.keys()
        parent, _ = find_known(unlisted, partial(is_known, self.api), self.run_all)
        return None if parent is None else StaleListing(f"{parent} is not listed, and Kinesis knows it")

    def _adopt(self, listing: Listing, left: Sequence[Lease]) -> None:
        """Keep a complete listing, and the leases of shards that were missing in the one before as well."""
        self.listing = listing
        self._unread += [lease for lease in left if self._left.get(lease.key) is False]
        self._left = {lease.key: lease.key in self._left for lease in left}


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
