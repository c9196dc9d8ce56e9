"""
The lock that one worker of a group holds: the leader. It is an item that the leader changes with each heartbeat.

Source: AmazonDynamoDBLockClient 1.4, and LeaderLock of the KCL 3.5
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Mapping

from attrs import define, field, frozen

from kinesis_consumer.stores import ItemTable, Update
from kinesis_core.clock import Clock
from kinesis_core.leases import ENTITY_TYPE, Item, Value

LEADER = "Leader"
_ENTITY = "LEADER"
_OWNER = "ownerName"
_VERSION = "recordVersionNumber"
_DURATION_MS = "leaseDuration"
_IS_RELEASED = "isReleased"
HEARTBEATS = 4
"""How many heartbeats a leader sends while its lock is valid."""
_MISSED = 2


@frozen
class _Held:
    version: str
    sent_s: float
    """When the heartbeat with this version was sent. It was written later, so others wait at least as long as this lasts."""


@frozen
class _Other:
    """The lock of another worker, or one that this worker had before it was started again."""

    owner: str
    version: str
    duration_s: float
    seen_s: float
    """When the version was first seen, by the steady clock."""


@define
class LeaderLock:
    """
    The leader's lock as one worker sees it. Not thread-safe, except `is_held`.

    No two workers hold it at one time, provided that their steady clocks run at one speed.
    """

    worker: str
    table: ItemTable
    clock: Clock
    rng: random.Random
    duration_s: float
    _held: _Held | None = field(default=None, init=False)
    _tried: dict[str, float] = field(factory=dict, init=False)
    """Versions that may be written, each with the time at which it was sent."""
    _other: _Other | None = field(default=None, init=False)

    @property
    def heartbeat_s(self) -> float:
        """How often `step` must be called."""
        return self.duration_s / HEARTBEATS

    def is_held(self) -> bool:
        """Return whether this worker is the leader now."""
        held = self._held
        return held is not None and self.clock.now_s() < held.sent_s + self.duration_s

    @property
    def leader(self) -> str | None:
        """The leader, as far as it is known."""
        if self.is_held():
            return self.worker
        return self._other.owner if self._other else None

    def suspects_leader(self) -> bool:
        """Return whether the leader has missed heartbeats. Then this worker may soon be the leader."""
        other = self._other
        missed_s = other.duration_s * _MISSED / HEARTBEATS if other else 0.0
        return not self.is_held() and (other is None or self.clock.now_s() - other.seen_s >= missed_s)

    def step(self) -> bool:
        """
        Send a heartbeat, or try to become the leader. Returns whether this worker is the leader.

        Raises:
            ServiceError: Nobody knows whether it was written. A leader stays one until its lock is no longer valid.
        """
        if self._held is None or not self._beat(self._held):
            self._acquire()
        return self.is_held()

    def release(self) -> None:
        """
        Delete the lock if this worker holds it, so that another one can be the leader at once.

        Raises:
            ServiceError: The table failed. Others wait until the lock is no longer valid.
        """
        versions = [*([self._held.version] if self._held else []), *self._tried]
        # A deletion whose response is lost may still come. So these versions never count as this worker's again.
        self._held = None
        self._tried.clear()
        for version in versions:
            if self.table.delete(LEADER, {_OWNER: self.worker, _VERSION: version}):
                break

    def _beat(self, held: _Held) -> bool:
        """Return whether the heartbeat was written, and so no other worker has had the lock since *held*."""
        return self._write({_OWNER: self.worker, _VERSION: held.version})

    def _acquire(self) -> None:
        self._held = None
        item = self.table.get(LEADER)
        if item is None:
            self._other = None
            self._create()
        elif self._is_mine(item):
            version = str(item[_VERSION])
            self._held, self._other = _Held(version, self._tried[version]), None
            if not self._beat(self._held):
                self._held = None
        elif (condition := self._takeover(item)) is not None:
            self._write(condition)

    def _is_mine(self, item: Item) -> bool:
        return item.get(_OWNER) == self.worker and item.get(_VERSION) in self._tried

    def _takeover(self, item: Item) -> Mapping[str, Value | None] | None:
        """Return the condition under which the lock of another worker can be had now; None if it cannot."""
        now_s = self.clock.now_s()
        version = item.get(_VERSION)
        if self._other is None or self._other.version != version:
            self._other = _Other(str(item.get(_OWNER)), str(version), self._duration_of(item), now_s)
        if item.get(_IS_RELEASED) is not None:
            return {_VERSION: version, _IS_RELEASED: item[_IS_RELEASED]}
        is_over = now_s - self._other.seen_s >= self._other.duration_s
        return {_VERSION: version, _OWNER: item.get(_OWNER)} if is_over else None

    def _duration_of(self, item: Item) -> float:
        """Return how long the lock in *item* is valid. It is what its holder says, in milliseconds."""
        text = item.get(_DURATION_MS)
        return int(text) / 1000 if isinstance(text, str) and text.isdigit() else self.duration_s

    def _attributes(self, version: str) -> dict[str, Value]:
        return {
            _OWNER: self.worker,
            _VERSION: version,
            _DURATION_MS: str(int(self.duration_s * 1000)),
            ENTITY_TYPE: _ENTITY,
        }

    def _create(self) -> None:
        version, sent_s = self._new_version()
        self._settle(version, sent_s, self.table.create(LEADER, self._attributes(version)))

    def _write(self, condition: Mapping[str, Value | None]) -> bool:
        version, sent_s = self._new_version()
        update = Update(LEADER, condition, self._attributes(version), remove=(_IS_RELEASED, "data"))
        return self._settle(version, sent_s, self.table.update(update) is not None)

    def _new_version(self) -> tuple[str, float]:
        version = str(uuid.UUID(int=self.rng.getrandbits(128), version=4))
        sent_s = self._tried[version] = self.clock.now_s()
        return version, sent_s

    def _settle(self, version: str, sent_s: float, is_written: bool) -> bool:
        """Remember the response to a write. Without a response the version stays among those that were tried."""
        if is_written:
            self._tried.clear()
            self._held, self._other = _Held(version, sent_s), None
        else:
            del self._tried[version]
        return is_written
