"""The leases of one worker: how it gains and renews them, hands them over, releases them, and loses them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any

from attrs import define, field

from kinesis_consumer.assignment import Namesakes
from kinesis_consumer.delivery import Batch, GroupStream, KnownStreams, ShardReader
from kinesis_consumer.errors import LeaseLostError
from kinesis_consumer.leases import HeldLease, life, renew
from kinesis_consumer.settings import GroupSettings
from kinesis_consumer.stores import ItemTable
from kinesis_consumer.worker.callbacks import Callbacks
from kinesis_consumer.worker.held_shards import HeldShards
from kinesis_consumer.worker.outages import RenewalLog, WriteAttempt
from kinesis_core import ServiceError
from kinesis_core.budget import ByteBudget
from kinesis_core.clock import Clock
from kinesis_core.leases import Item, Lease, Value, read_leases
from kinesis_core.threads import find_limits
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_consumer")

RENEWALS = 3
"""Renewals in one lease duration."""
RENEWAL_PAUSE_S = 0.2
"""At least so long after a renewal that failed the next one is made: a store that throttles needs fewer calls, not more."""
RunAll = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""Applies a function to all values, as `map` does, one after the other or at once."""


def _no_commit(reader: ShardReader, batch: Batch) -> None:
    raise NotImplementedError


@define(eq=False)
class LeaseHolder:
    """
    Holds leases, each with a reader of its shard. Thread-safe; `renew` is called by one thread at a time.

    A lease ends in three ways. It is *handed over* to a named worker, once the current batch is committed, or after the hand-over
    timeout. It is *released* on purpose. It is *lost* if another worker has taken it or it has expired. Each is logged and
    reported once.
    """

    name: str
    """The worker's name."""
    table: ItemTable
    sources: Mapping[str | None, GroupStream]
    """The streams by their id in leases; a single stream has none."""
    settings: GroupSettings
    clock: Clock
    callbacks: Callbacks
    commit: Callable[[ShardReader, Batch], None] = _no_commit
    """Commits a batch of one of the readers."""
    streams: KnownStreams = field(init=False)
    namesakes: Namesakes = field(init=False)
    process: int = field(factory=os.getpid, init=False)
    """The process that holds the leases."""
    shards: HeldShards = field(factory=HeldShards, init=False)
    memory: ByteBudget = field(init=False)
    _renewals: RenewalLog = field(factory=RenewalLog, init=False)

    def __attrs_post_init__(self) -> None:
        self.memory = ByteBudget(find_limits().affordable_bytes(self.settings.max_buffered_bytes))
        self.streams = KnownStreams(self.name, self.sources)
        self.namesakes = Namesakes(self.name, self.settings.lease_duration_s, self.clock)

    def gain(self, lease: Lease, sent_s: float) -> None:
        """Take up a lease that this worker owns since a write that was sent at *sent_s*."""
        held = self._held(lease, sent_s)
        if lease.is_finished:
            self.shards.add_finished(held)
            return
        reader = ShardReader(
            held,
            self.sources[lease.stream_id],
            self.commit,
            self.settings,
            self.clock,
            self.memory,
            partial(self.shards.look_at, lease.key),
        )
        former = self.shards.reader_of(lease.key)
        if former is not None:  # it expired, and was taken again before it was missed
            former.held.lose("it expired")
            self.end(former)
        self.shards.add(reader)
        log.info("lease.gained", lease=lease.key, worker=self.name, checkpoint=str(lease.checkpoint))
        self.callbacks.lease_gained(reader.stream, reader.shard_id)
        self.shards.wake()

    def discover(self) -> None:
        """
        Take up the leases that a leader has assigned to this worker. Those of other streams are released: a KCL's leader gives any.

        Raises:
            WorkerNameInUseError: Another process has the name of this worker.
            ServiceError: The store failed.
        """
        for found in self._assigned():
            if not self.streams.knows(found.lease):
                self.streams.warn([found.lease])
                found.release(None)
                continue
            if not self.namesakes.may_take(found.lease, holds_any=bool(self.shards.held())):
                continue
            sent_s = self.clock.now_s()
            item = self.table.update(renew(found.lease, self.namesakes.mark))
            for lease in _read(item):  # nobody else has it
                self.gain(lease, sent_s)

    def renew(self, run_all: RunAll = map) -> float:
        """Renew the leases that are due, all by *run_all*. Returns in how many seconds the next one is."""
        readers = [reader for reader in self.shards.readers() if self._has_news(reader.held)]
        finished = [held for held in self.shards.finished() if self._has_news(held)]
        attempts = chain(run_all(self._renew_reader, readers), run_all(self._renew_finished, finished))
        self._renewals.note((each for each in attempts if each is not None), self.clock)
        held_leases = [*(reader.held for reader in self.shards.readers()), *self.shards.finished()]
        next_s = min((held.renewed_s for held in held_leases), default=self.clock.now_s()) + self._period_s
        return max(RENEWAL_PAUSE_S, next_s - self.clock.now_s())

    def release_all(self, loads: Mapping[str, int], *, only_idle: bool) -> None:
        """
        Release leases at once: to other workers, or to anybody. *loads* has the number of shards of each worker.

        With *only_idle*, leases with a current batch stay. Otherwise another worker delivers such batches again.
        """
        loads, ended = dict(loads), []
        with suppress(ServiceError):
            for found in self._assigned():
                to = _least_loaded(loads)
                if not self.namesakes.has(found.lease) and _write_release(found, to) and to is not None:
                    loads[to] += 1
        for reader in self.shards.readers():
            to = _least_loaded(loads)
            if not self._release(reader, to, only_idle=only_idle):
                continue
            if to is not None:
                loads[to] += 1
            if self._remove(reader):
                ended.append(reader)
        for held in self.shards.finished():
            self._release_finished(held)
        for reader in ended:  # now: a callback may raise, and no lease must be kept because of that
            self.callbacks.lease_lost(reader.stream, reader.shard_id)

    def end(self, reader: ShardReader) -> None:
        """Read a shard no longer whose lease is lost or released."""
        if self._remove(reader):
            self.callbacks.lease_lost(reader.stream, reader.shard_id)

    def find(self, key: str) -> Lease | None:
        """Return a lease; None if there is none, or it is malformed. A scan logs malformed ones."""
        return next(iter(_read(self.table.get(key))), None)

    def _held(self, lease: Lease, sent_s: float) -> HeldLease:
        return HeldLease.of(lease, self.name, self.table, self.clock, self.settings.lease_duration_s, sent_s)

    def _assigned(self) -> Iterator[HeldLease]:
        """Yield the leases that name this worker as their owner, and that it has not taken up."""
        held = self.shards.held()
        for key in self.table.keys_of_owner(self.name):
            lease = self.find(key) if key not in held else None
            if lease is not None and lease.owner == self.name and lease.checkpoint_owner is None:
                yield self._held(lease, self.clock.now_s())

    @property
    def _period_s(self) -> float:
        return self.settings.lease_duration_s / RENEWALS

    def _is_due(self, held: HeldLease) -> bool:
        return held.is_ours and held.renewed_s + self._period_s <= self.clock.now_s()

    def _has_news(self, held: HeldLease) -> bool:
        """Return whether a lease must be renewed or handed over, or is lost. Most of a thousand leases have no news."""
        return self._is_due(held) or held.is_handing_over or held.is_over

    def _renew_reader(self, reader: ShardReader) -> WriteAttempt | None:
        attempt = self._renew(reader.held, reader.renewal)
        if reader.held.is_over:
            self.end(reader)
        elif reader.held.is_handing_over:
            self._hand_over(reader)
        return attempt

    def _renew_finished(self, held: HeldLease) -> WriteAttempt | None:
        attempt = self._renew(held)
        if held.is_over:
            self.shards.remove_finished(held.key)
        elif held.is_handing_over:
            self._release_finished(held)
        return attempt

    def _renew(
        self, held: HeldLease, attributes: Callable[[], Mapping[str, Value]] | None = None
    ) -> WriteAttempt | None:
        if not self._is_due(held):
            return None
        try:
            held.renew(attributes() if attributes else None)
        except LeaseLostError:
            return None
        except ServiceError as error:
            return held.key, error
        return held.key, None

    def _hand_over(self, reader: ShardReader) -> None:
        """Release a lease for which another worker waits: once the current batch is committed, or after the hand-over timeout."""
        now_s, held = self.clock.now_s(), reader.held
        if held.ask(now_s):
            log.info(
                "handover.requested", lease=held.key, worker=self.name, next=held.lease.owner or "nobody"
            )
            self.callbacks.hand_over_requested(reader.stream, reader.shard_id)
        is_overdue = life.is_overdue(held.state, now_s, self.settings.hand_over_timeout_s)
        if self._release(reader, None, only_idle=not is_overdue):
            self.end(reader)

    def _release(self, reader: ShardReader, to: str | None, *, only_idle: bool) -> bool:
        """Release the lease of a shard. Returns False with *only_idle* if the program has a batch."""
        with reader.held.turn:
            if not reader.begin_release(only_idle=only_idle):
                return False
            _write_release(reader.held, to)
            return True

    def _release_finished(self, held: HeldLease) -> None:
        _write_release(held, None)
        self.shards.remove_finished(held.key)

    def _remove(self, reader: ShardReader) -> bool:
        held = reader.held
        if not self.shards.remove(reader):
            return False
        if isinstance(held.state, life.Released):
            log.info("lease.released", lease=held.key, worker=self.name, next=held.lease.owner or "nobody")
        else:
            log.info("lease.lost", lease=held.key, worker=self.name, reason=held.reason)
        return True


def _write_release(held: HeldLease, to: str | None) -> bool:
    """Release a lease. Returns whether that is known to be written. If it was not, the lease expires."""
    try:
        return held.release(to)
    except ServiceError as error:
        log.warning("release.failed", lease=held.key, code=error.code, reason=error)
        held.lose("the store failed when it was released")
        return False


def _least_loaded(loads: Mapping[str, int]) -> str | None:
    return min(loads, key=lambda worker: (loads[worker], worker), default=None)


def _read(item: Item | None) -> list[Lease]:
    """Return the lease in *item*, unless it is malformed, or there is none."""
    return read_leases([] if item is None else [item])[0]
