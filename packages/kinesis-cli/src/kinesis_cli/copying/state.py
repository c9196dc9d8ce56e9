"""The file that says how far a copy has come."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
from attrs import frozen

from kinesis_cli.ending import CommandError
from kinesis_cli.file_errors import reading, writing
from kinesis_core import OffsetError
from kinesis_core.model import Offset, StreamSummary

_VERSION = 1
_MAX_BYTES = 64 * 1024 * 1024
"""No state is as large: it has some hundred bytes for each shard."""


class CopyState(msgspec.Struct, rename="camel", kw_only=True):
    """How far a copy has come. All records before *offset* are in the destination."""

    version: int = _VERSION
    source: str
    """The ARN."""
    destination: str
    destination_created_ms: int | None = None
    """None in a file of an older release."""
    offset: dict[str, Any]
    reached_ms: int
    """The time to which the source was read."""


@frozen
class StateFile:
    """One file, for one source and one destination."""

    path: Path
    source: StreamSummary
    destination: StreamSummary

    def read(self) -> CopyState | None:
        """
        Return what the file says; None if it does not exist.

        Raises:
            CommandError: It is damaged, belongs to another copy or to streams that were recreated since, or cannot be written later.
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
            raise CommandError(
                f"{self.path} is not a state of a copy. Name another file. ({error})"
            ) from error
        if state.version != _VERSION:
            raise CommandError(f"{self.path} was written by another version. Name another file.")
        if (state.source, state.destination) != (self.source.arn, self.destination.arn):
            raise CommandError(
                f"{self.path} belongs to a copy from {state.source} to {state.destination}. Name another file."
            )
        self._check_created(state)
        return state

    def _check_created(self, state: CopyState) -> None:
        """Check that both streams are those of *state*, and not later ones with their names."""
        try:
            (part,) = Offset.from_json(state.offset).streams.values()
        except (OffsetError, ValueError) as error:
            raise CommandError(
                f"{self.path} is not a state of a copy. Name another file. ({error})"
            ) from error
        for stream, created_ms in (
            (self.source, part.created_ms),
            (self.destination, state.destination_created_ms),
        ):
            if created_ms not in (None, stream.created_ms):
                raise CommandError(
                    f"{stream.name} was deleted and created again since {self.path} was written. Name another file, to copy all of it."
                )

    def save(self, offset: dict[str, Any], reached_ms: int) -> None:
        """
        Replace the file as a whole: a crash leaves the old one or the new one.

        Raises:
            FileError: It cannot be written.
        """
        state = CopyState(
            source=self.source.arn,
            destination=self.destination.arn,
            destination_created_ms=self.destination.created_ms,
            offset=offset,
            reached_ms=reached_ms,
        )
        path = self.path.resolve()  # a symbolic link stays one
        new = path.with_name(f"{path.name}.new")
        with writing(self.path):
            with new.open("wb") as file:
                file.write(msgspec.json.encode(state))
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)
