"""The workers of a run, as processes: killed, stopped, paused, and replaced by others."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path

from attrs import define, field, frozen

from kinesis_consumer.stores.sqlite import SqliteTable, decode_item
from kinesis_core.leases import Lease, is_lease, read_lease
from tools.consumer_chaos.journal import Delivery, read_journal
from tools.consumer_chaos.verdict import Written
from tools.consumer_chaos.worker import APPLICATION, LEASE_DURATION_S

STOP_DEADLINE_S = 300.0
"""Workers that take longer to stop hang."""
LOG_TAIL_BYTES = 1000
_KEEP_WRITES = """
CREATE TABLE written (number INTEGER PRIMARY KEY, item TEXT NOT NULL);
CREATE TRIGGER keep_writes AFTER INSERT ON kinesis_consumer_items BEGIN
    INSERT INTO written (item) VALUES (new.item);
END;
"""
"""Lets the file keep each item that is written, in the same transaction: so nobody's word is needed for it."""


@frozen
class Incident:
    """What was done to a worker, and which shards it read then."""

    kind: str
    """kill, stop or pause."""
    worker: str
    at_s: float
    shards: frozenset[str]


@define
class Workers:
    """A number of workers. Each that ends has a successor with another name."""

    count: int
    endpoint_url: str
    folder: Path
    environment: Mapping[str, str]
    incidents: list[Incident] = field(factory=list, init=False)
    problems: list[str] = field(factory=list, init=False)
    _running: dict[str, subprocess.Popen[bytes]] = field(factory=dict, init=False)
    _ending: dict[str, subprocess.Popen[bytes]] = field(factory=dict, init=False)
    _paused: dict[str, float] = field(factory=dict, init=False)
    """When paused workers go on."""
    _names: Iterator[int] = field(init=False)
    _written: dict[str, list[Lease]] = field(factory=dict, init=False)
    _last_write: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self._names = iter(range(1, 10**6))
        self.journals.mkdir(parents=True)
        table = SqliteTable(self.leases_file, APPLICATION)
        table.prepare()
        table.close()
        with closing(sqlite3.connect(self.leases_file)) as connection:
            connection.executescript(_KEEP_WRITES)

    @property
    def journals(self) -> Path:
        return self.folder / "journals"

    @property
    def leases_file(self) -> Path:
        return self.folder / "leases.db"

    def fill(self) -> None:
        """Start workers until there are as many as there should be. Look after those that are to end, or to go on."""
        self._look_after()
        while len(self._running) < self.count:
            name = f"worker-{next(self._names)}"
            command = [sys.executable, "-m", "tools.consumer_chaos.worker"]
            arguments = [self.endpoint_url, str(self.leases_file), str(self.journals), name]
            with (self.folder / f"{name}.log").open("wb") as log:
                self._running[name] = subprocess.Popen(
                    [*command, *arguments], env=self.environment, stderr=log
                )

    def are_reading(self) -> bool:
        """Return whether each lease has an owner."""
        leases = self.leases()
        return bool(leases) and all(lease.owner for lease in leases)

    def strike(self, kind: str, rng: random.Random) -> None:
        """Do to some worker what *kind* says: kill, stop or pause."""
        able = sorted(name for name in self._running if name not in self._paused)
        owned: dict[str, set[str]] = {}
        for lease in self.leases():
            if not lease.is_finished and lease.actual_owner:
                owned.setdefault(lease.actual_owner, set()).add(lease.shard_id)
        readers = [name for name in able if name in owned] or able
        if not readers:
            return
        name = rng.choice(readers)
        child = self._running[name]
        self.incidents.append(Incident(kind, name, time.monotonic(), frozenset(owned.get(name, ()))))
        if kind == "pause":
            os.kill(child.pid, signal.SIGSTOP)
            self._paused[name] = time.monotonic() + LEASE_DURATION_S * rng.uniform(1.2, 3)
            return
        child.send_signal(signal.SIGKILL if kind == "kill" else signal.SIGTERM)
        self._ending[name] = self._running.pop(name)

    def leases(self) -> list[Lease]:
        """Return all leases of the table."""
        table = SqliteTable(self.leases_file, APPLICATION)
        try:
            return [read_lease(item) for item in table.scan() if is_lease(item)]
        finally:
            table.close()

    def written(self) -> Written:
        """Return all writes to the leases that changed a checkpoint, by shard."""
        with closing(sqlite3.connect(self.leases_file)) as connection:
            rows = connection.execute(
                "SELECT number, item FROM written WHERE number > ? ORDER BY number", [self._last_write]
            ).fetchall()
        for number, text in rows:
            self._last_write = number
            item = decode_item(text)
            if is_lease(item):
                lease = read_lease(item)
                leases = self._written.setdefault(lease.shard_id, [])
                if not leases or leases[-1].checkpoint != lease.checkpoint:
                    leases.append(lease)
        return self._written

    def deliveries(self) -> list[Delivery]:
        """Return all that the journals say."""
        return [each for path in self.journals.iterdir() for each in read_journal(path)]

    def evidence(self) -> Iterator[str]:
        """Yield the table of leases, and the end of each worker's log."""
        for lease in sorted(self.leases(), key=lambda lease: lease.shard_id):
            yield (
                f"lease of {lease.shard_id}: {lease.checkpoint}, pending {lease.pending}, owner {lease.actual_owner}, "
                f"parents {list(lease.parents)}, children {list(lease.children)}"
            )
        for log in sorted(self.folder.glob("*.log"), key=lambda path: path.stat().st_mtime):
            yield f"{log.name}: ...{self._tail(log)}"

    def stop_all(self) -> None:
        """Stop all workers in order, and wait for them."""
        for name in list(self._paused):
            self._resume(name)
        for name, child in list(self._running.items()):
            child.terminate()
            self._ending[name] = self._running.pop(name)
        deadline_s = time.monotonic() + STOP_DEADLINE_S
        for name, child in self._ending.items():
            with suppress(subprocess.TimeoutExpired):
                child.wait(max(0.1, deadline_s - time.monotonic()))
            self._judge_end(name, child)

    def kill_all(self) -> None:
        """End all workers at once, whatever they do."""
        for child in [*self._running.values(), *self._ending.values()]:
            child.kill()
            child.wait()

    def _look_after(self) -> None:
        for name, until_s in list(self._paused.items()):
            if until_s <= time.monotonic():
                self._resume(name)
        for name, child in list(self._ending.items()):
            if child.poll() is not None:
                self._judge_end(name, self._ending.pop(name))
        for name, child in list(self._running.items()):
            if child.poll() is not None:
                self._judge_end(name, self._running.pop(name))

    def _resume(self, name: str) -> None:
        del self._paused[name]
        self._running[name].send_signal(signal.SIGCONT)

    def _judge_end(self, name: str, child: subprocess.Popen[bytes]) -> None:
        was_killed = any(each.worker == name and each.kind == "kill" for each in self.incidents)
        wanted = {-signal.SIGKILL} if was_killed else {0}
        journal = self.journals / f"{name}.jsonl"
        if not journal.exists() or not journal.stat().st_size:
            wanted.add(-signal.SIGTERM)  # it had not entered its group yet
        if child.returncode not in wanted:
            last = self._tail(self.folder / f"{name}.log")
            self.problems.append(f"{name} ended with {child.returncode}: {last}")

    @staticmethod
    def _tail(log: Path) -> str:
        return log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace")
