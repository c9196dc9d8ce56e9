"""The leases of one worker: how it takes them up, renews them, hands them over and lets them go."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from threading import RLock
from typing import Any

from attrs import define, field

from kinesis_consumer.delivery import Batch, ShardReader
from kinesis_consumer.errors import LeaseLostError
from kinesis_consumer.leases import HeldLease
from kinesis_consumer.settings import GroupSettings
from kinesis_consumer.stores import ItemTable
from kinesis_consumer.worker.callbacks import Callbacks
from kinesis_consumer.worker.known_streams import KnownStreams
from kinesis_consumer.worker.ready import ReadyBatches
from kinesis_consumer.worker.renewals import RenewalLog
from kinesis_consumer.worker.sources import Source
from kinesis_core import ServiceError
from kinesis_core.clock import Clock
from kinesis_core.leases import Lease, LeaseItemError, read_lease
from kinesis_core.logs import get_logger

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
    process: int = field(factory=os.getpid, init=False)
    """The process that holds the leases."""
    _readers: dict[str, ShardReader] = field(factory=dict, init=False)
    _finished: dict[str, HeldLease] = field(factory=dict, init=False)
    """Leases of shards that are read to their end. They are kept until their children are read, as in the KCL."""
    _ready: ReadyBatches = field(factory=ReadyBatches, init=False)
    _leaving_s: dict[str, float] = field(factory=dict, init=False)
    """When hand-overs were noticed."""
    _renewals: RenewalLog = field(factory=RenewalLog, init=False)
    _lock: RLock = field(factory=RLock, init=False)

    def __attrs_post_init__(self) -> None:
        self.streams = KnownStreams(self.name, self.sources)

    @abstractmethod
    def commit(self, batch: Batch) -> None:
        """Commit a batch of one of the readers."""

    @abstractmethod
    def is_ours(self, batch: Batch) -> bool:
        """Return whether no other worker can have the shard of *batch*."""

    def held(self) -> set[str]:
        """Return the keys of all leases of this worker."""
        with self._lock:
            return {*self._readers, *self._finished}

    def finished(self) -> list[HeldLease]:
        """Return the leases of this worker whose shards are read to their end."""
        with self._lock:
            return list(self._finished.values())

    def readers(self) -> list[ShardReader]:
        """Return a reader for each shard that this worker reads."""
        with self._lock:
            return list(self._readers.values())

    def gain(self, lease: Lease, sent_s: float) -> None:
        """Take up a lease that this worker owns since a write that was sent at *sent_s*."""
        held = HeldLease(lease, self.name, self.table, self.clock, self.settings.lease_duration_s, sent_s)
        if lease.is_finished:
            self._keep_finished(held)
            return
        source = self.sources[lease.stream_id]
        reader = ShardReader(
            held,
            source.name,
            source.pages,
            self,
            self.settings,
            self.clock,
            source.initial_ms,
            lambda: self.wake(),
        )
        with self._lock:
            former = self._readers.get(lease.key)
        if former is not None:  # it expired, and was taken again before it was missed
            former.held.lose("it expired")
            self._drop(former)
        reader.open()
        with self._lock:
            self._readers[lease.key] = reader
        log.info("lease.gained", lease=lease.key, worker=self.name, checkpoint=str(lease.checkpoint))
        self.callbacks.lease_gained(reader.stream, reader.shard_id)
        self.wake()

    def discover(self) -> None:
        """
        Take up the leases that a leader has assigned to this worker. Those of other streams it lets go: a KCL's leader gives any.

        Raises:
            ServiceError: The store failed.
        """
        for found in self._assigned():
            if not self.streams.knows(found.lease):
                self.streams.warn([found.lease])
                found.leave(None)
                continue
            try:
                found.renew()  # proves that nobody else has it
            except LeaseLostError:
                continue
            self.gain(found.lease, found.renewed_s)

    def renew(self, run_all: RunAll = map) -> float:
        """Renew the leases that are due, all by *run_all*. Returns in how many seconds the next one is."""
        list(run_all(self._renew_reader, self.readers()))
        list(run_all(self._renew_finished, self.finished()))
        self._renewals.end(self.clock.now_s())
        held_leases = [*(reader.held for reader in self.readers()), *self.finished()]
        next_s = min((held.renewed_s for held in held_leases), default=self.clock.now_s()) + self._period_s
        return max(RENEWAL_PAUSE_S, next_s - self.clock.now_s())

    def forget(self, key: str) -> None:
        """Keep the lease of a finished shard no longer."""
        with self._lock:
            self._finished.pop(key, None)

    def leave(self, loads: Mapping[str, int], *, only_idle: bool) -> None:
        """
        Let leases go at once: to other workers, of which each has as many shards as *loads* says, or to anybody.

        With *only_idle*, those stay whose batch is in hand. Otherwise such batches are dropped: another worker delivers them again.
        """
        loads, released = dict(loads), []
        with suppress(ServiceError):
            for found in self._assigned():  # by a leader, and not taken up
                to = self._least_loaded(loads)
                if found.leave(to) and to is not None:
                    loads[to] += 1
        for reader in self.readers():
            self._withdraw(reader)
            if only_idle and not reader.is_idle:
                continue
            to = self._least_loaded(loads)
            if self._released(reader, to):
                released.append(reader)
            if to is not None:
                loads[to] += 1
        for held in self.finished():
            with suppress(ServiceError):
                held.leave(None)
            self.forget(held.key)
        for reader in released:  # now: a callback may raise, and no lease must be kept because of that
            self.callbacks.lease_lost(reader.stream, reader.shard_id)

    @staticmethod
    def _least_loaded(loads: Mapping[str, int]) -> str | None:
        return min(loads, key=lambda worker: (loads[worker], worker), default=None)

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
        """Return a lease; None if there is none, or it is malformed: of such a lease a warning tells."""
        item = self.table.get(key)
        with suppress(LeaseItemError):
            return read_lease(item) if item else None
        return None

    @property
    def _period_s(self) -> float:
        return self.settings.lease_duration_s / RENEWALS

    def _renew_reader(self, reader: ShardReader) -> None:
        held = reader.held
        if held.is_ours and held.renewed_s + self._period_s <= self.clock.now_s():
            self._renewed(held, reader)
        if not held.is_ours:
            held.lose("it could not be renewed")
            self._drop(reader)
        elif held.is_leaving:
            self._hand_over(reader)
        else:
            self._leaving_s.pop(held.key, None)  # a hand-over may be revoked

    def _renew_finished(self, held: HeldLease) -> None:
        is_due = held.renewed_s + self._period_s <= self.clock.now_s()
        if (is_due and not self._renewed(held)) or not held.is_ours:
            self.forget(held.key)
        elif held.is_leaving:
            with suppress(ServiceError):
                held.leave(None)
            self.forget(held.key)

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

    def _hand_over(self, reader: ShardReader) -> None:
        """Let a lease go that another worker is to have: once no batch is in hand, or after a while."""
        now_s = self.clock.now_s()
        began_s = self._leaving_s.setdefault(reader.held.key, now_s)
        if began_s == now_s:
            self._withdraw(reader)
            self.callbacks.hand_over_requested(reader.stream, reader.shard_id)
        waited_s = now_s - began_s
        if reader.is_idle or waited_s >= self.settings.hand_over_timeout_s:
            self._leave(reader, None)

    def _leave(self, reader: ShardReader, to: str | None) -> None:
        if self._released(reader, to):
            self.callbacks.lease_lost(reader.stream, reader.shard_id)

    def _released(self, reader: ShardReader, to: str | None) -> bool:
        held, is_left = reader.held, False
        try:
            is_left = held.leave(to)
        except ServiceError as error:  # it expires
            self._renewals.fail(held.key, error, self.clock.now_s())
            held.lose("it could not be released")
        is_removed = self._remove(reader)
        if is_removed and is_left:
            next_owner = held.lease.owner if held.is_leaving else to
            log.info("lease.released", lease=held.key, worker=self.name, next=next_owner or "nobody")
        elif is_removed:
            log.info("lease.lost", lease=held.key, worker=self.name, reason=held.lost)
        return is_removed

    def _drop(self, reader: ShardReader) -> None:
        if self._remove(reader):
            log.info("lease.lost", lease=reader.held.key, worker=self.name, reason=reader.held.lost)
            self.callbacks.lease_lost(reader.stream, reader.shard_id)

    def _remove(self, reader: ShardReader) -> bool:
        """Read a shard no longer. Returns False if another thread was first."""
        with self._lock:
            is_removed = self._readers.get(reader.held.key) is reader
            if is_removed:
                del self._readers[reader.held.key]
                reader.close()
            self._leaving_s.pop(reader.held.key, None)
        self._ready.remove(reader.out)
        return is_removed

    def _keep_finished(self, held: HeldLease) -> None:
        with self._lock:
            self._finished[held.key] = held

    def _withdraw(self, reader: ShardReader) -> None:
        """Take back a batch that nobody has in hand yet."""
        if self._ready.remove(reader.out):
            reader.withdraw()
