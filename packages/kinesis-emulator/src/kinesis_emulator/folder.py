"""
Streams in a folder, for the next emulator: a file of SQLite.

The changes of a call are written in one transaction before the call is answered, so they survive a `kill -9`. The operating
system gets them at once, but they are not forced to the disk: a power cut may cost the last changes, or damage the file.
"""

from __future__ import annotations

import errno
import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FILE = "streams.sqlite"
EARLIER_FILE = "streams.journal"
"""Version 1."""
_VERSION = 2
_TABLES = """
BEGIN;
CREATE TABLE streams (id INTEGER PRIMARY KEY, state TEXT NOT NULL);
CREATE TABLE records (
    stream_id INTEGER, shard_index INTEGER, record_index INTEGER, size INTEGER, arrived_ms INTEGER, fragment BLOB,
    PRIMARY KEY (stream_id, shard_index, record_index)
);
CREATE TABLE deleted (last_opened_s INTEGER NOT NULL);
INSERT INTO deleted VALUES (0);
PRAGMA user_version = 2;
COMMIT;
"""
_ACCOUNTS = "CREATE TABLE IF NOT EXISTS accounts (id TEXT PRIMARY KEY, state TEXT NOT NULL)"
"""A table that earlier emulators neither have nor need."""

_SETTINGS = (
    "page_size = 16384",  # a record of some KB takes half the time that it takes in SQLite's pages of 4 KB
    "locking_mode = EXCLUSIVE",  # another process cannot open the file until this one closes it or is dead
    "journal_mode = WAL",
    "synchronous = OFF",
)

SavedStream = dict[str, Any]
"""All of a stream but its records, as JSON."""
AccountSettings = dict[str, Any]
"""The settings of an account, as JSON."""
SavedRecord = tuple[int, int, int, int, int, bytes]
"""A record: the id of its stream, the index of its shard, its index there, the bytes of its data, its arrival time and its JSON."""


class Folder:
    """
    The file in *folder*. Both are created if they do not exist. One emulator at a time uses it.

    Raises:
        OSError: The folder cannot be used, or another emulator uses it.
        ValueError: The file is damaged, or it has another version.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / EARLIER_FILE).exists():
            raise ValueError(
                f"{folder / EARLIER_FILE} is of an earlier version of the emulator. This version cannot read it: remove the "
                "file, or choose another folder."
            )
        self._path = folder / FILE
        self._lock = threading.Lock()
        with self._explained():
            self._connection = sqlite3.connect(self._path, timeout=1.0, check_same_thread=False)
            try:
                self._prepare()
            except BaseException:
                self._connection.close()  # else it keeps the file from others
                raise

    def _prepare(self) -> None:
        for setting in _SETTINGS:
            self._connection.execute(f"PRAGMA {setting}")
        [version] = self._connection.execute("PRAGMA user_version").fetchone()
        if version == 0:
            self._connection.executescript(_TABLES)
        elif version != _VERSION:
            raise ValueError(f"{self._path} has version {version}; this emulator reads version {_VERSION}.")
        self._connection.execute(_ACCOUNTS)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Let errors of SQLite name the file, and say what to do."""
        try:
            yield
        except sqlite3.OperationalError as error:
            why = "another emulator uses it" if "locked" in str(error) else str(error)
            raise OSError(errno.EIO, why, str(self._path)) from error
        except (sqlite3.DatabaseError, json.JSONDecodeError) as error:
            raise ValueError(
                f"{self._path} is damaged, or not a file of the emulator ({error}). Remove it to start without streams, "
                "or choose another folder."
            ) from error

    def last_opened_s(self) -> int:
        """Return the last second in which a shard of a deleted stream was opened."""
        with self._explained():
            [last_opened_s] = self._connection.execute("SELECT last_opened_s FROM deleted").fetchone()
            return int(last_opened_s)

    def streams(self) -> list[tuple[int, SavedStream]]:
        """Return the id and the state of each stream."""
        with self._explained():
            found = self._connection.execute("SELECT id, state FROM streams").fetchall()
            return [(stream_id, json.loads(state)) for stream_id, state in found]

    def accounts(self) -> dict[str, AccountSettings]:
        """Return the settings of all accounts, by region and account."""
        with self._explained():
            found = self._connection.execute("SELECT id, state FROM accounts").fetchall()
            return {account: json.loads(state) for account, state in found}

    def save_account(self, account: str, state: AccountSettings) -> None:
        """Write the settings of an account."""
        with self._transaction() as connection:
            connection.execute("REPLACE INTO accounts VALUES (?, ?)", (account, json.dumps(state)))

    def records(self, stream_id: int) -> Iterator[SavedRecord]:
        """Yield the records of a stream, those of each shard in their order."""
        chosen = "SELECT * FROM records WHERE stream_id = ? ORDER BY shard_index, record_index"
        with self._explained():
            yield from self._connection.execute(chosen, (stream_id,))

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._connection:
            yield self._connection

    def save(self, stream_id: int, state: SavedStream, firsts: Sequence[int]) -> None:
        """
        Write the *state* of a stream.

        *firsts* are the indexes of its shards' oldest records. The records before them are removed.
        """
        text = json.dumps(state, separators=(",", ":"))
        freed = ((stream_id, index, first) for index, first in enumerate(firsts) if first)
        with self._transaction() as connection:
            connection.execute("REPLACE INTO streams VALUES (?, ?)", (stream_id, text))
            connection.executemany(
                "DELETE FROM records WHERE stream_id = ? AND shard_index = ? AND record_index < ?", freed
            )

    def add(self, rows: Sequence[SavedRecord]) -> None:
        """Write new records."""
        with self._transaction() as connection:
            connection.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?)", rows)

    def delete(self, stream_id: int, last_opened_s: int) -> None:
        """Remove a stream with its records. *last_opened_s* is the last second in which a shard of it was opened."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM streams WHERE id = ?", (stream_id,))
            connection.execute("DELETE FROM records WHERE stream_id = ?", (stream_id,))
            connection.execute("UPDATE deleted SET last_opened_s = max(last_opened_s, ?)", (last_opened_s,))

    def close(self) -> None:
        self._connection.close()
