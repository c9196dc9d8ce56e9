"""The file that says how far a copy has come."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
from attrs import frozen

from kinesis_cli.ending import CommandError
from kinesis_cli.file_errors import reading, writing

_VERSION = 1
_MAX_BYTES = 64 * 1024 * 1024
"""No state is as large: it has some hundred bytes for each shard."""


class CopyState(msgspec.Struct, rename="camel", kw_only=True):
    """How far a copy has come. All records before *offset* are in the destination."""

    version: int = _VERSION
    source: str
    """The ARN."""
    destination: str
    offset: dict[str, Any]
    reached_ms: int
    """The time to which the source was read."""


@frozen
class StateFile:
    """One file, for one source and one destination."""

    path: Path
    source: str
    destination: str

    def read(self) -> CopyState | None:
        """
        Return what the file says; None if it does not exist.

        Raises:
            CommandError: It is damaged, belongs to another copy, or cannot be written later.
        """
        is_other = self.path.exists() and not self.path.is_file()
        if is_other or not os.access(self.path.parent, os.W_OK):
            raise CommandError(
                f"{self.path} cannot be written: name a file in a folder that you may write to."
            )
        with reading(self.path):
            try:
                with self.path.open("rb") as file:
                    content = file.read(_MAX_BYTES)
            except FileNotFoundError:
                return None
        try:
            state = msgspec.json.decode(content, type=CopyState)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise CommandError(f"{self.path} is no state of a copy. Name another file. ({error})") from error
        if state.version != _VERSION:
            raise CommandError(f"{self.path} was written by another version. Name another file.")
        if (state.source, state.destination) != (self.source, self.destination):
            raise CommandError(
                f"{self.path} belongs to a copy from {state.source} to {state.destination}. Name another file."
            )
        return state

    def save(self, offset: dict[str, Any], reached_ms: int) -> None:
        """
        Replace the file as a whole: a crash leaves the old one or the new one.

        Raises:
            FileError: It cannot be written.
        """
        state = CopyState(
            source=self.source, destination=self.destination, offset=offset, reached_ms=reached_ms
        )
        new = self.path.with_name(f"{self.path.name}.new")
        with writing(self.path):
            with new.open("wb") as file:
                file.write(msgspec.json.encode(state))
                file.flush()
                os.fsync(file.fileno())
            new.replace(self.path)
