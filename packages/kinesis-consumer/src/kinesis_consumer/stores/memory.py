"""A table in the memory of one process, for tests and for programs with a single worker."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from copy import deepcopy

from attrs import define, field

from kinesis_consumer.stores.table import Update, meets
from kinesis_core.leases import LEASE_KEY, LEASE_OWNER, Item, Value


@define
class MemoryTable:
    """
    A table in memory. Its items are lost when the process ends.

    Workers of one process share it by using the same object. Items are copied on their way in and out.
    """

    name: str = "memory"
    _items: dict[str, Item] = field(factory=dict, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False, repr=False)

    def prepare(self) -> None:
        """Do nothing: the table is there."""

    def scan(self) -> list[Item]:
        with self._lock:
            return deepcopy(list(self._items.values()))

    def get(self, key: str) -> Item | None:
        with self._lock:
            return deepcopy(self._items.get(key))

    def keys_of_owner(self, owner: str) -> list[str]:
        with self._lock:
            return [key for key, item in self._items.items() if item.get(LEASE_OWNER) == owner]

    def create(self, key: str, item: Item) -> bool:
        new = {**deepcopy(item), LEASE_KEY: key}
        with self._lock:
            return self._items.setdefault(key, new) is new

    def update(self, update: Update) -> Item | None:
        with self._lock:
            new = deepcopy(update.apply(self._items.get(update.key)))
            if new is not None:
                self._items[update.key] = new
            return deepcopy(new)

    def delete(self, key: str, expect: Mapping[str, Value | None]) -> bool:
        with self._lock:
            if not meets(self._items.get(key), expect):
                return False
            self._items.pop(key, None)
            return True

    def close(self) -> None:
        """Do nothing: the items stay until the process ends."""
