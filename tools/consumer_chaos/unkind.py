"""A file of leases that treats a worker as a network and a machine may: responses are lost or late, and the process is stopped."""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, TypeVar, get_args

from attrs import define, field, frozen

from kinesis_consumer import SqliteLeases
from kinesis_consumer.stores import ItemTable, Update
from kinesis_core import UnavailableError
from kinesis_core.aws import Connection
from kinesis_core.leases import Item, Value

T = TypeVar("T")
Fate = Literal["lost", "late", "vanished", "stopped"]
"""
What follows a write that was made. Its response is lost, or comes after up to two lease durations. Or it is lost and the file cannot
be used for so long. Or the whole process stands still for so long before it sees the response.
"""
SHARES: Mapping[Fate, float] = {"lost": 0.02, "late": 0.01, "vanished": 0.01, "stopped": 0.005}


@frozen
class UnkindLeases:
    """Leases in a file, for a group whose lease duration is *duration_s*."""

    path: str | Path
    duration_s: float
    rng: random.Random

    def open(self, application: str, connection: Connection) -> ItemTable:
        return UnkindTable(SqliteLeases(self.path).open(application, connection), self.duration_s, self.rng)


@define
class UnkindTable:
    """A table each of whose writes may have a fate."""

    table: ItemTable
    duration_s: float
    rng: random.Random
    _out_until_s: float = field(default=0.0, init=False)

    @property
    def name(self) -> str:
        return self.table.name

    def prepare(self) -> None:
        self.table.prepare()

    def scan(self) -> list[Item]:
        return self._reached(self.table.scan)

    def get(self, key: str) -> Item | None:
        return self._reached(lambda: self.table.get(key))

    def keys_of_owner(self, owner: str) -> list[str]:
        return self._reached(lambda: self.table.keys_of_owner(owner))

    def create(self, key: str, item: Item) -> bool:
        return self._written(lambda: self.table.create(key, item))

    def update(self, update: Update) -> Item | None:
        return self._written(lambda: self.table.update(update))

    def delete(self, key: str, expect: Mapping[str, Value | None]) -> bool:
        return self._written(lambda: self.table.delete(key, expect))

    def close(self) -> None:
        self.table.close()

    def _written(self, write: Callable[[], T]) -> T:
        response = self._reached(write)
        fates = get_args(Fate)
        weights = [SHARES[fate] for fate in fates]
        [fate] = self.rng.choices([*fates, None], [*weights, 1 - sum(weights)])
        long_s = self.rng.uniform(0, 2) * self.duration_s
        if fate == "late":
            time.sleep(long_s)
        elif fate == "stopped":
            _stand_still(long_s)
        elif fate is not None:
            self._out_until_s = time.monotonic() + (long_s if fate == "vanished" else 0)
            raise UnavailableError("The response is lost.", "ConnectionClosedError")
        return response

    def _reached(self, call: Callable[[], T]) -> T:
        if time.monotonic() < self._out_until_s:
            raise UnavailableError("The file cannot be reached.", "ConnectTimeoutError")
        return call()


def _stand_still(seconds: float) -> None:
    """Let another process stop this one, with all its threads."""
    me = os.getpid()
    script = f"kill -STOP {me}; sleep {seconds:.2f}; kill -CONT {me}"
    subprocess.run(["/bin/sh", "-c", script], check=True)
