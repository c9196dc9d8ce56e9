"""
A file of SQLite that processes on one machine share: its connection, its transactions and its errors.

SQLite forbids a child process to use, or even to close, a connection of its parent. A new connection of the child also fails
beside an inherited one. So no connection outlives a fork: it is closed before, and both processes open their own when they need
one.

Source: https://www.sqlite.org/howtocorrupt.html, section 2.6
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from kinesis_consumer.stores.sqlite_errors import explain, is_busy
from kinesis_core.clock import Clock, SteadyClock

if TYPE_CHECKING:
    from sqlite3 import Connection

WAIT_S = 5.0
"""How long a call waits for the transactions of others. Each takes milliseconds."""
LONGEST_PAUSE_S = 0.002
SqlRow = tuple[Any, ...]


class SqliteFile:
    """One file, with one connection that threads use in turn: SQLite has only one writer at a time anyway."""

    def __init__(
        self, path: str | os.PathLike[str], wait_s: float = WAIT_S, clock: Clock | None = None
    ) -> None:
        self.path = Path(os.fsdecode(path)).absolute()
        self.lock = threading.Lock()
        self._wait_s = wait_s
        self._clock = clock or SteadyClock()
        self._rng = random.Random()  # noqa: S311 # jitter, not a secret
        self._connection: Connection | None = None
        self._identity = (0, 0)
        _close_before_forks()
        _files.add(self)

    def use_write_ahead_log(self) -> None:
        """
        Create the file if it is missing, and let its readers and its writer not wait for each other. The file keeps this setting.

        Raises:
            ServiceError: SQLite refuses.
        """
        with self._connected(create=True) as connection:
            self._execute(connection, "PRAGMA journal_mode = WAL")

    def read(self, query: str, *values: str) -> list[SqlRow]:
        """
        Return the rows of *query*.

        Raises:
            ServiceError: SQLite refuses.
        """
        with self._connected() as connection:
            return self._execute(connection, query, *values)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """
        Yield the connection in a transaction that excludes other writers. After an error nothing of it is left.

        Raises:
            ServiceError: SQLite refuses.
        """
        with self._connected() as connection:
            self._execute(connection, "BEGIN IMMEDIATE")
            yield connection
            self._execute(connection, "COMMIT")

    def close(self) -> None:
        with self.lock:
            self.disconnect()

    def disconnect(self) -> None:
        """Close the connection. The caller has the lock."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    @contextmanager
    def _connected(self, *, create: bool = False) -> Iterator[Connection]:
        """Yield the connection. An error closes it, which undoes its transaction, and the next call opens another one."""
        import sqlite3

        with self.lock:
            try:
                yield self._connect(create=create)
            except sqlite3.Error as error:
                self.disconnect()
                raise explain(error, self.path) from error
            except BaseException:
                self.disconnect()
                raise

    def _execute(self, connection: Connection, statement: str, *values: str) -> list[SqlRow]:
        """
        Return the rows of a statement that may have to wait for other processes.

        SQLite's own pauses grow to 100 ms. A process that writes all the time would seldom let another one in.
        """
        import sqlite3

        deadline_s = self._clock.now_s() + self._wait_s
        while True:
            try:
                return connection.execute(statement, values).fetchall()
            except sqlite3.OperationalError as error:
                if not is_busy(error) or self._clock.now_s() >= deadline_s:
                    raise
            self._clock.sleep(self._rng.uniform(0, LONGEST_PAUSE_S))

    def _connect(self, *, create: bool) -> Connection:
        """Return the connection; a new one if the file is no longer the one that it belongs to."""
        import sqlite3

        if self._connection is not None and self._identify() != self._identity:
            self.disconnect()
        if self._connection is None:
            self._connection = sqlite3.connect(
                f"{self.path.as_uri()}?mode={'rwc' if create else 'rw'}",
                timeout=0,  # `_execute` waits
                isolation_level=None,  # transactions begin and end where the code says it
                check_same_thread=False,
                uri=True,
            )
            self._identity = self._identify()
            # A commit is on the disk before it is reported, so that it survives a power failure.
            self._execute(self._connection, "PRAGMA synchronous = FULL")
        return self._connection

    def _identify(self) -> tuple[int, int]:
        try:
            found = self.path.stat()
        except OSError:
            return 0, 0
        return found.st_dev, found.st_ino


_files: WeakSet[SqliteFile] = WeakSet()
_forking = threading.Lock()
_locked: list[SqliteFile] = []
"""The files that the fork in progress has locked. For the thread with the lock `_forking`."""


@cache
def _close_before_forks() -> None:
    if hasattr(os, "register_at_fork"):  # not on Windows, which has no forks
        os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


def _before_fork() -> None:
    _forking.acquire()
    for file in list(_files):
        file.lock.acquire()
        _locked.append(file)
        file.disconnect()


def _after_fork() -> None:
    for file in _locked:
        file.lock.release()
    _locked.clear()
    _forking.release()
