"""Turns errors of SQLite into errors of the core, with advice on what to do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from kinesis_core.errors import ServiceError, UnavailableError

if TYPE_CHECKING:
    from sqlite3 import Error


@frozen
class _Kind:
    code: str
    """SQLite's name of the error."""
    text: str
    """SQLite's message begins with it. Python knows the code from version 3.11 on only."""
    error: type[ServiceError]
    advice: str


_KINDS = (
    _Kind(
        "SQLITE_BUSY",
        "database is locked",
        UnavailableError,
        "Another process has been writing for seconds. If this error stays, look for a program that keeps a transaction open.",
    ),
    _Kind(
        "SQLITE_LOCKED",
        "database table is locked",
        UnavailableError,
        "Another process has been writing for seconds.",
    ),
    _Kind(
        "SQLITE_PROTOCOL",
        "locking protocol",
        UnavailableError,
        "Other processes open the file at the same time. If this error stays, move the file to a local disk.",
    ),
    _Kind("SQLITE_FULL", "database or disk is full", UnavailableError, "Free space on its disk."),
    _Kind(
        "SQLITE_IOERR",
        "disk I/O error",
        UnavailableError,
        "Look at the disk: it may be full, failing, or shared over a network. The file has to be on a local disk.",
    ),
    _Kind(
        "SQLITE_READONLY",
        "attempt to write a readonly database",
        ServiceError,
        "Let this user write to the file and to its folder, where SQLite keeps two more files.",
    ),
    _Kind(
        "SQLITE_CANTOPEN",
        "unable to open database file",
        ServiceError,
        "Create its folder, let this user write to it, and name a file.",
    ),
    _Kind(
        "SQLITE_CORRUPT",
        "database disk image is malformed",
        ServiceError,
        "It is damaged. Stop all workers, and restore it, or delete it: an application without leases begins at its start position.",
    ),
    _Kind(
        "SQLITE_NOTADB",
        "file is not a database",
        ServiceError,
        "It is a file of another kind. Name another one.",
    ),
    _Kind(
        "SQLITE_ERROR",
        "no such table",
        ServiceError,
        "It holds no leases: it was deleted or replaced while in use, or never prepared. Restart the workers.",
    ),
)
_OTHER = _Kind("SQLITE_ERROR", "", ServiceError, "See https://www.sqlite.org/rescode.html")


def is_busy(error: Error) -> bool:
    """Return whether another process has the file locked for a moment."""
    return str(error).startswith("database is locked")


def explain(error: Error, path: Path) -> ServiceError:
    """Return our error for *error* of SQLite over the file *path*. It is retryable where it helps to wait."""
    text = str(error)
    kind = next((kind for kind in _KINDS if text.startswith(kind.text)), _OTHER)
    return kind.error(
        f"The file of leases {path} cannot be used: {text}. {kind.advice} [file={path}]", code=kind.code
    )
