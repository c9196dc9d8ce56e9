"""A table in a file of SQLite, for the processes of one machine."""

from __future__ import annotations

import json
import os
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kinesis_consumer.errors import GroupStateError
from kinesis_consumer.stores.sqlite_file import WAIT_S, SqliteFile
from kinesis_consumer.stores.table import Update, meets
from kinesis_core.clock import Clock
from kinesis_core.errors import OptionError, ServiceError
from kinesis_core.leases import LEASE_KEY, LEASE_OWNER, Item, Value, item_from_dynamodb, item_to_dynamodb
from kinesis_credentials.logs import get_logger

if TYPE_CHECKING:
    from sqlite3 import Connection

VERSION = 1
"""The layout of the file, which is in its header."""
_TABLE = "kinesis_consumer_items"
_COLUMNS = ("application", "key", "owner", "item")
_CREATE = f"""
CREATE TABLE {_TABLE} (
    application TEXT NOT NULL, key TEXT NOT NULL, owner TEXT, item TEXT NOT NULL, PRIMARY KEY (application, key)
) WITHOUT ROWID
"""
_CREATE_INDEX = f"CREATE INDEX {_TABLE}_by_owner ON {_TABLE} (application, owner)"
_IS_ONE = "application = ? AND key = ?"
_WRITE = f"INSERT OR REPLACE INTO {_TABLE} VALUES (?, ?, ?, ?)"  # noqa: S608 # names of our own
_SELECT = f"SELECT item FROM {_TABLE} WHERE application = ?"  # noqa: S608 # likewise
_SELECT_ONE = f"SELECT item FROM {_TABLE} WHERE {_IS_ONE}"  # noqa: S608 # likewise
_SELECT_KEYS = f"SELECT key FROM {_TABLE} WHERE application = ? AND owner = ?"  # noqa: S608 # likewise
_SELECT_APPLICATIONS = f"SELECT DISTINCT application FROM {_TABLE} ORDER BY application"  # noqa: S608 # likewise
_SELECT_TABLE = f"SELECT name FROM sqlite_master WHERE type = 'table' AND name = '{_TABLE}'"  # noqa: S608 # likewise
_DELETE = f"DELETE FROM {_TABLE} WHERE {_IS_ONE}"  # noqa: S608 # likewise

log = get_logger("kinesis_consumer")


class SqliteTable:
    """
    The items of one application in a file, which is created with its table if it is missing.

    All processes on one machine may use the file at the same time, and each may be killed at any moment. A change that was
    reported survives that, and a power failure too. Several applications can share a file. Two more files, with `-wal` and
    `-shm` after its name, belong to it. It has to be on a local disk: SQLite's locks do not work over a network.

    A process that forks may still use the table, and so may its children.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        name: str,
        wait_s: float = WAIT_S,
        clock: Clock | None = None,
    ) -> None:
        self.name = name
        self._file = SqliteFile(path, wait_s, clock)

    def prepare(self) -> None:
        self._file.use_write_ahead_log()
        with self._file.writing() as connection:
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({_TABLE})")]
            [(version,)] = connection.execute("PRAGMA user_version")
            if not columns:
                self._create(connection, version)
            elif version != VERSION or tuple(columns) != _COLUMNS:
                raise GroupStateError(
                    f"The file of leases {self._file.path} has layout {version}, with the columns {', '.join(columns)}; this version of "
                    f"kinesis-consumer knows layout {VERSION}, with the columns {', '.join(_COLUMNS)}. Use the version that made the "
                    "file, or a newer one, or name another file."
                )
        if not columns:
            log.info("file.created", file=self._file.path)

    def _create(self, connection: Connection, version: int) -> None:
        if version:
            raise OptionError(
                f"The file {self._file.path} is a database of another program, which has given it the version {version}. Name a file "
                "for leases only."
            )
        connection.execute(_CREATE)
        connection.execute(_CREATE_INDEX)
        connection.execute(f"PRAGMA user_version = {VERSION}")

    def exists(self) -> bool:
        """Return whether the file, which must exist, has a table of leases. It does not change the file."""
        return bool(self._file.read(_SELECT_TABLE))

    def applications(self) -> list[str]:
        """Return all applications that have items in the file."""
        return [name for (name,) in self._file.read(_SELECT_APPLICATIONS)]

    def scan(self) -> list[Item]:
        return [self._decode(text) for (text,) in self._file.read(_SELECT, self.name)]

    def get(self, key: str) -> Item | None:
        rows = self._file.read(_SELECT_ONE, self.name, key)
        return self._decode(rows[0][0]) if rows else None

    def keys_of_owner(self, owner: str) -> list[str]:
        return [key for (key,) in self._file.read(_SELECT_KEYS, self.name, owner)]

    def create(self, key: str, item: Item) -> bool:
        with self._file.writing() as connection:
            if self._find(connection, key) is not None:
                return False
            self._write(connection, key, {**item, LEASE_KEY: key})
            return True

    def update(self, update: Update) -> Item | None:
        with self._file.writing() as connection:
            new = update.apply(self._find(connection, update.key))
            if new is not None:
                self._write(connection, update.key, new)
            return new

    def delete(self, key: str, expect: Mapping[str, Value | None]) -> bool:
        with self._file.writing() as connection:
            if not meets(self._find(connection, key), expect):
                return False
            connection.execute(_DELETE, (self.name, key))
            return True

    def close(self) -> None:
        self._file.close()

    def _find(self, connection: Connection, key: str) -> Item | None:
        row = connection.execute(_SELECT_ONE, (self.name, key)).fetchone()
        return None if row is None else self._decode(row[0])

    def _write(self, connection: Connection, key: str, item: Item) -> None:
        owner = item.get(LEASE_OWNER)
        values = self.name, key, owner if isinstance(owner, str) else None, encode_item(item)
        connection.execute(_WRITE, values)

    def _decode(self, text: str) -> Item:
        try:
            return decode_item(text)
        except (ValueError, TypeError, AttributeError) as error:
            raise ServiceError(
                f"The file of leases {self._file.path} has a malformed item: {error}. Another program has changed it. "
                "Restore the file.",
                code="MalformedItem",
                file=self._file.path,
                application=self.name,
            ) from error


def encode_item(item: Item) -> str:
    """Return *item* as JSON, with bytes in Base64."""
    return json.dumps(item_to_dynamodb(item), default=_encode_bytes, separators=(",", ":"))


def decode_item(text: str) -> Item:
    """
    Return the item in *text*.

    Raises:
        ValueError, TypeError, AttributeError: It is malformed.
    """
    return item_from_dynamodb(json.loads(text, object_hook=_decode_bytes))


def _encode_bytes(value: Any) -> str:
    return b64encode(value).decode()


def _decode_bytes(node: dict[str, Any]) -> dict[str, Any]:
    """Return *node* with bytes, if it is a value of that kind. In a map, "B" names a value, which is a node itself."""
    encoded = node.get("B")
    return {"B": b64decode(encoded, validate=True)} if isinstance(encoded, str) else node
