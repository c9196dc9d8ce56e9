"""Errors of files in words: which file, and what to do."""

from __future__ import annotations

import errno
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kinesis_cli.ending import CommandError

_FULL = {
    errno.ENOSPC: "Make room on its disk, or use another one.",
    errno.EDQUOT: "Remove files, or use another disk.",
    errno.EFBIG: "Write less into one file.",
    errno.EIO: "Check its disk.",
}
"""What may happen while a file is written. Python does not say then which file it is."""
_ADVICE = {
    **_FULL,
    errno.ENOENT: "Correct the name, or create the folder.",
    errno.ENOTDIR: "Correct the name: a part of it is not a folder.",
    errno.EISDIR: "Name a file.",
    errno.EACCES: "Change its permissions or those of its folder, or use another one.",
    errno.EPERM: "Change its permissions, or use another one.",
    errno.EROFS: "Use another disk.",
    errno.ENAMETOOLONG: "Use a shorter name.",
}
_OTHER = "Check it, or use another one."


class FileError(CommandError):
    """A file cannot be read or written."""

    @classmethod
    def of(cls, error: OSError, name: object, verb: str) -> FileError:
        """Return *error*, of the file *name*, which cannot be *verb*: read, or written."""
        reason = error.strerror or str(error) or type(error).__name__
        return cls(f"{name} cannot be {verb}: {reason}. {_ADVICE.get(error.errno or 0, _OTHER)}")


@contextmanager
def reading(name: object) -> Iterator[None]:
    """
    Let errors name the file *name*, which the block reads. The block does nothing else.

    Raises:
        FileError: It cannot be read.
    """
    try:
        yield
    except OSError as error:
        raise FileError.of(error, name, "read") from error


@contextmanager
def writing(name: object) -> Iterator[None]:
    """
    Let errors name the file *name*, which the block writes. The block does nothing else.

    Raises:
        FileError: It cannot be written.
        BrokenPipeError: It is a pipe, and nobody reads it any more.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise FileError.of(error, name, "written") from error


class WrittenFile(io.FileIO):
    """A file, without a buffer, whose errors name it."""

    def __init__(self, path: Path, mode: str, shown: object) -> None:
        """Open *path*, which users know as *shown*. Raises as `writing` does."""
        self._shown = shown
        with writing(shown):
            super().__init__(path, mode)

    def write(self, data: object, /) -> int:
        with writing(self._shown):
            return super().write(data)  # type: ignore[arg-type]

    def close(self) -> None:
        with writing(self._shown):  # some file systems say only now that there is no room
            super().close()


def explain(error: OSError) -> str:
    """Return the line for an error that nothing else explains. A file without a name is the standard output."""
    if error.filename is not None:
        return str(FileError.of(error, error.filename, "used"))
    if error.errno in _FULL:
        return str(FileError.of(error, "The standard output", "written"))
    return str(error)
