"""Files of records: their names, and when they appear."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedWriter
from pathlib import Path
from typing import IO, Literal

from kinesis_cli.ending import UsageError
from kinesis_cli.file_errors import WrittenFile, writing

FileForm = Literal["json", "raw", "arrow", "parquet"]
FORMS: dict[str, FileForm] = {
    ".jsonl": "json",
    ".json": "json",
    ".ndjson": "json",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".parquet": "parquet",
}
"""The form of a file by the end of its name."""


def form_of(path: Path | None, chosen: FileForm | None, option: str = "-o") -> FileForm:
    """
    Return the form of the file *path*, or of a pipe if that is None. *option* is the one that chooses it.

    Raises:
        UsageError: Its name says nothing of it, and nothing is chosen.
    """
    if chosen is not None:
        return chosen
    if path is None:
        return "json"
    try:
        return FORMS[path.suffix.lower()]
    except KeyError:
        raise UsageError(
            f"The name {path} does not say the form of the file. Choose it with {option}, or use one of {', '.join(FORMS)}."
        ) from None


@contextmanager
def open_file(path: Path | None, chosen: FileForm | None) -> Iterator[tuple[IO[bytes], FileForm]]:
    """
    Yield what to write to, and in which form: the file *path*, or the standard output if that is None.

    The file has its name once all is written. If something fails before that, the file *path* stays as it was. A device or a
    pipe is written to directly.
    """
    form = form_of(path, chosen)
    if path is None:
        yield sys.stdout.buffer, form
        return
    if _is_special(path):
        with BufferedWriter(WrittenFile(path, "wb", path)) as device:
            yield device, form
        return
    with _replacing(Path(os.path.realpath(path)), path) as file:  # a link stays a link
        yield file, form


def _is_special(path: Path) -> bool:
    """Return whether *path* exists and is not a plain file. A plain file can be replaced."""
    with writing(path):
        try:
            return not stat.S_ISREG(path.stat().st_mode)
        except FileNotFoundError:
            return False


@contextmanager
def _replacing(path: Path, shown: Path) -> Iterator[IO[bytes]]:
    """Yield a new file that takes the place and the mode of *path* at the end. Errors name *shown*."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    with BufferedWriter(WrittenFile(partial, "xb", shown)) as file:
        try:
            yield file
            file.flush()
            with writing(shown):
                if mode is not None:
                    partial.chmod(mode)
                partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
