"""Folders of files: local ones, and those that fsspec reaches (S3, GCS, HDFS, ABFS and more)."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NoReturn, Protocol

from attrs import frozen

from kinesis_cli.ending import CommandError

_LOCAL = ("file://", "file:", "local://")
_SPARKS_NAMES = {"s3a": "s3", "s3n": "s3", "wasb": "abfs", "wasbs": "abfs"}
"""Schemes that Hadoop has and fsspec has not."""
_PACKAGES = {
    "s3": "s3fs",
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("abfs", "abfss", "az"), "adlfs"),
    "hdfs": "pyarrow",
}
"""The package that implements a scheme for fsspec."""
_HADOOP = "This needs Java and Hadoop: set JAVA_HOME, HADOOP_HOME and CLASSPATH."


class CheckpointFolder(Protocol):
    """A folder to read. An error is a CommandError that names the file."""

    @property
    def location(self) -> str: ...

    def names(self, folder: str) -> list[str] | None:
        """Return the names in *folder*, a relative path or ""; None if there is no such folder."""
        ...

    def read(self, file: str) -> str:
        """Return the text of *file*, a relative path."""
        ...

    def written_ms(self, file: str) -> int | None:
        """Return when *file* was written, by the clock of the file system; None if that does not tell it."""
        ...


def open_folder(location: str) -> CheckpointFolder:
    """
    Return the folder at *location*, a local path or a URL. A local path works without fsspec.

    Raises:
        CommandError: A package is missing, or the scheme is unknown. The message names the package to install.
    """
    for prefix in _LOCAL:
        if location.startswith(prefix):
            return LocalFolder(location, Path(location.removeprefix(prefix)))
    scheme, separator, rest = location.partition("://")
    if not separator:
        return LocalFolder(location, Path(location).expanduser())
    return _remote(location, _SPARKS_NAMES.get(scheme.lower(), scheme.lower()), rest)


@frozen
class LocalFolder:
    """A folder of this machine."""

    location: str
    path: Path

    def names(self, folder: str) -> list[str] | None:
        try:
            return os.listdir(self.path / folder)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            _fail(self.location, folder, error)

    def read(self, file: str) -> str:
        try:
            return (self.path / file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            _fail(self.location, file, error)

    def written_ms(self, file: str) -> int | None:
        try:
            return (self.path / file).stat().st_mtime_ns // 1_000_000
        except OSError:
            return None


@frozen
class RemoteFolder:
    """A folder that fsspec reaches."""

    location: str
    files: Any
    path: str

    def names(self, folder: str) -> list[str] | None:
        path = f"{self.path}/{folder}".rstrip("/")
        try:
            self.files.invalidate_cache()  # a listing of the last time does not show new batches
            return [str(name).rstrip("/").rpartition("/")[2] for name in self.files.ls(path, detail=False)]
        except (FileNotFoundError, NotADirectoryError):
            return None
        except Exception as error:  # noqa: BLE001 # each implementation has errors of its own
            _fail(self.location, folder, error)

    def read(self, file: str) -> str:
        try:
            return bytes(self.files.cat_file(f"{self.path}/{file}")).decode()
        except Exception as error:  # noqa: BLE001 # as above
            _fail(self.location, file, error)

    def written_ms(self, file: str) -> int | None:
        try:
            written = self.files.modified(f"{self.path}/{file}")
        except Exception:  # noqa: BLE001 # as above; some do not know it
            return None
        if not isinstance(written, datetime):
            return None
        return round((written if written.tzinfo else written.replace(tzinfo=timezone.utc)).timestamp() * 1000)


def _remote(location: str, scheme: str, rest: str) -> RemoteFolder:
    package = _PACKAGES.get(scheme)
    install = " ".join(filter(None, ("pip install fsspec", package)))
    try:
        import fsspec
    except ImportError as error:
        raise CommandError(f"Reading {location} needs fsspec: {install}") from error
    try:
        if package is not None:
            _find_implementation(fsspec, scheme)
        files, path = fsspec.core.url_to_fs(f"{scheme}://{rest}")
    except ImportError as error:
        advice = f": {install}" if package else ""
        raise CommandError(f"Reading {location} needs another package ({error}){advice}") from error
    except Exception as error:  # noqa: BLE001 # each implementation has errors of its own
        _fail(location, "", error)
    return RemoteFolder(location, files, str(path).rstrip("/"))


def _find_implementation(fsspec: Any, scheme: str) -> None:
    """Raise ImportError if no package implements *scheme*. Some packages tell fsspec of their schemes themselves."""
    try:
        fsspec.get_filesystem_class(scheme)
    except ValueError as error:
        raise ImportError(str(error)) from error


def _fail(location: str, part: str, error: Exception) -> NoReturn:
    where = f"{location.rstrip('/')}/{part}".rstrip("/")
    what = (
        error.strerror
        if isinstance(error, OSError) and error.strerror
        else str(error) or type(error).__name__
    )
    line = what.strip().partition("\n")[0].rstrip(".")
    advice = _HADOOP if "libhdfs" in line or "libjvm" in line else "Check the path, and that you may read it."
    raise CommandError(f"{where} cannot be read: {line}. {advice}") from error
