"""The leases of one worker: how it takes them up and renews them."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from attrs import define, field

from kinesis_consumer.assignment import Namesakes, read_leases
from kinesis_consumer.delivery import Batch, ShardReader
from kinesis_consumer.errors import LeaseLostError
from kinesis_consumer.leases import HeldLease, renew
from kinesis_consumer.settings import GroupSettings
from kinesis_consumer.stores import ItemTable
from kinesis_consumer.worker.callbacks import Callbacks
from kinesis_consumer.worker.held_shards import HeldShards
from kinesis_consumer.worker.known_streams import KnownStreams
from kinesis_consumer.worker.releasing import LeaseReleaser
from kinesis_consumer.worker.renewals import RenewalLog
from kinesis_consumer.worker.sources import Source
from kinesis_core import ServiceError
from kinesis_core.clock import Clock
from kinesis_core.leases import Item, Lease
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_consumer")

RENEWALS = 3
"""Renewals in one lease duration."""
RENEWAL_PAUSE_S = 0.2
"""At least so long after a renewal that failed the next one is made: a store that throttles needs fewer calls, not more."""
RunAll = Callable[[Callable[[Any], None], Iterable[Any]], Iterable[None]]
"""Applies a function to all values, as `map` does, one after the other or at once."""


@define(eq=False)
class LeaseHolder(ABC):
    """Holds leases, each with a reader of its shard. Thread-safe; `renew` is called by one thread at a time."""

    name: str
    """The worker's name."""
    table: ItemTable
    sources: Mapping[str | None, Source]
    """The streams by their id in leases; a single stream has none."""
    settings: GroupSettings
    clock: Clock
    callbacks: Callbacks
    wake: Callable[[], None] = lambda: None
    """Called when another step is due at once."""
    streams: KnownStreams = field(init=False)
    namesakes: Namesakes = field(init=False)
    process: int = field(factory=os.getpid, init=False)
    """The process that holds the leases."""
    _shards: HeldShards = field(factory=HeldShards, init=False)
    _releaser: LeaseReleaser = field(init=False)
    _renewals: RenewalLog = field(factory=RenewalLog, init=False)

    def __attrs_post_init__(self) -> None:
        self.streams = KnownStreams(self.name, self.sources)
        self.namesakes = Namesakes(self.name, self.settings.lease_duration_s, self.clock)
        self._releaser = LeaseReleaser(
            self.name, self._shards, self.clock, self.callbacks, self.settings.hand_over_timeout_s
        )

    @abstractmethod
    def commit(self, batch: Batch) -> None:
        """Commit a batch of one of the readers."""

    @abstractmethod
    def is_ours(self, batch: Batch) -> bool:
        """Return whether no other worker can have the shard of *batch*."""

    def held(self) -> set[str]:
        """Return the keys of all leases of this worker."""
        return self._shards.keys()

    def finished(self) -> list[HeldLease]:
        """Return the leases of this worker whose shards are read to their end."""
        return self._shards.finished()

    def readers(self) -> list[ShardReader]:
        """Return a reader for each shard that this worker reads."""
        return self._shards.readers()

    def look_at(self, key: str) -> None:
        """Let a shard be looked at, because something has changed."""
        self._shards.schedule.touch([key])
        self.wake()

    def gain(self, lease: Lease, sent_s: float) -> None:
        """Take up a lease that this worker owns since a write that was sent at *sent_s*."""
        held = HeldLease(lease, self.name, self.table, self.clock, self.settings.lease_duration_s, sent_s)
        if lease.is_finished:
            self._shards.keep_finished(held)
            return
        source = self.sources[lease.stream_id]
        reader = ShardReader(
            held,
            source.name,
            source.pages,
            self,
            self.settings,
            self.clock,
            source.stream_id,
            source.initial_ms,
            self._shards.memory,
            lambda: self.look_at(lease.key),
        )
        former = self._shards.reader_of(lease.key)
        if former is not None:  # it expired, and was taken again before it was missed
            former.held.lose("it expired")
            self._releaser.drop(former)
        self._shards.add(reader)
        log.info("lease.gained", lease=lease.key, worker=self.name, checkpoint=str(lease.checkpoint))
        self.callbacks.lease_gained(reader.stream, reader.shard_id)
        self.wake()

    def discover(self) -> None:
        """
        Take up the leases that a leader has assigned to this worker. Those of other streams it lets go: a KCL's leader gives any.

        Raises:
            WorkerNameInUseError: Another process has the name of this worker.
            ServiceError: The store failed.
        """
        for found in self._assigned():
            if not self.streams.knows(found.lease):
                self.streams.warn([found.lease])
                found.leave(None)
                continue
            if not self.namesakes.may_take(found.lease, holds_any=bool(self.held())):
                continue
            sent_s = self.clock.now_s()
            item = self.table.update(renew(found.lease, self.namesakes.mark))
            for lease in _read(item):  # nobody else has it
                self.gain(lease, sent_s)

    def renew(self, run_all: RunAll = map) -> float:
        """Renew the leases that are due, all by *run_all*. Returns in how many seconds the next one is."""
        readers = [each for each in self.readers() if each.leaving_s is not None or self._has_news(each.held)]
        list(run_all(self._renew_reader, readers))
        list(run_all(self._renew_finished, filter(self._has_news, self.finished())))
        self._renewals.end(self.clock.now_s())
        held_leases = [*(reader.held for reader in self.readers()), *self.finished()]
        next_s = min((held.renewed_s for held in held_leases), default=self.clock.now_s()) + self._period_s
        return max(RENEWAL_PAUSE_S, next_s - self.clock.now_s())

    def forget(self, key: str) -> None:
        """Keep the lease of a finished shard no longer."""
        self._shards.forget(key)

    def leave(self, loads: Mapping[str, int], *, only_idle: bool) -> None:
        """
        Let leases go at once: to other workers, of which each has as many shards as *loads* says, or to anybody.

        With *only_idle*, those stay whose batch is in hand. Otherwise such batches are dropped: another worker delivers them again.
        """
        assigned = (found for found in self._assigned() if not self.namesakes.has(found.lease))
        self._releaser.leave(assigned, loads, only_idle=only_idle)

    def _assigned(self) -> Iterator[HeldLease]:
        """Yield the leases that name this worker as their owner, and that it has not taken up."""
        held = self.held()
        for key in self.table.keys_of_owner(self.name):
            lease = self._find(key) if key not in held else None
            if lease is None or lease.owner != self.name or lease.checkpoint_owner is not None:
                continue
            sent_s = self.clock.now_s()
            yield HeldLease(lease, self.name, self.table, self.clock, self.settings.lease_duration_s, sent_s)

    def _find(self, key: str) -> Lease | None:
        """Return a lease; None if there is none, or it is malformed. A scan logs malformed ones."""
        return next(iter(_read(self.table.get(key))), None)

    @property
    def _period_s(self) -> float:
        return self.settings.lease_duration_s / RENEWALS

    def _is_due(self, held: HeldLease) -> bool:
        return held.renewed_s + self._period_s <= self.clock.now_s()

    def _has_news(self, held: HeldLease) -> bool:
        """Return whether a lease is to be renewed or handed over, or is lost. Most of a thousand leases have no news."""
        return self._is_due(held) or held.is_leaving or held.is_lost

    def _renew_reader(self, reader: ShardReader) -> None:
        held = reader.held
        if held.is_ours and self._is_due(held):
            self._renewed(held, reader)
        if held.is_lost:
            held.lose("it could not be renewed")
            self._releaser.drop(reader)
        elif held.is_leaving:
            self._releaser.hand_over(reader)
        else:
            reader.leaving_s = None  # a hand-over may be revoked

    def _renew_finished(self, held: HeldLease) -> None:
        if (self._is_due(held) and not self._renewed(held)) or held.is_lost:
            self.forget(held.key)
        elif held.is_leaving:
            self._releaser.hand_over_finished(held)

    def _renewed(self, held: HeldLease, reader: ShardReader | None = None) -> bool:
        try:
            held.renew(reader.renewal() if reader else None)
        except LeaseLostError:
            return False
        except ServiceError as error:
            self._renewals.fail(held.key, error, self.clock.now_s())
        else:
            self._renewals.succeed()
        return True


def _read(item: Item | None) -> list[Lease]:
    """Return the lease in *item*, unless it is malformed, or there is none."""
    return read_leases([] if item is None else [item])[0]
