"""A table of items that fails as a table may: before a write, or after it was made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from attrs import define, field

from kinesis_consumer.stores import MemoryTable, Update
from kinesis_core import UnavailableError
from kinesis_core.leases import Item, Value

T = TypeVar("T")
Hook = Callable[[], str]
"""Called before each call. Returns "" to let it pass, "fail" to refuse it, "lose" to lose its response."""


@define
class FaultyTable:
    """A `MemoryTable` with a hook before each call."""

    table: MemoryTable = field(factory=MemoryTable)
    hook: Hook = str
    calls: list[tuple[str, str]] = field(factory=list)
    name: str = "faulty"

    def prepare(self) -> None:
        self.table.prepare()

    def scan(self) -> list[Item]:
        return self._run("scan", "", self.table.scan)

    def get(self, key: str) -> Item | None:
        return self._run("get", key, lambda: self.table.get(key))

    def keys_of_owner(self, owner: str) -> list[str]:
        return self._run("keys_of_owner", owner, lambda: self.table.keys_of_owner(owner))

    def create(self, key: str, item: Item) -> bool:
        return self._run("create", key, lambda: self.table.create(key, item))

    def update(self, update: Update) -> Item | None:
        return self._run("update", update.key, lambda: self.table.update(update))

    def delete(self, key: str, expect: Mapping[str, Value | None]) -> bool:
        return self._run("delete", key, lambda: self.table.delete(key, expect))

    def close(self) -> None:
        self.table.close()

    def _run(self, call: str, key: str, run: Callable[[], T]) -> T:
        self.calls.append((call, key))
        fault = self.hook()
        if fault == "fail":
            raise UnavailableError("The table fails.", "InternalServerError")
        result = run()
        if fault == "lose":
            raise UnavailableError("The response is lost.", "ConnectionClosedError")
        return result
