"""Folders of this machine, and those of fsspec."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import fsspec
import pytest

from kinesis_cli.checkpoints.folders import LocalFolder, RemoteFolder, open_folder
from kinesis_cli.ending import CommandError


@pytest.fixture
def memory() -> Iterator[str]:
    files = fsspec.filesystem("memory")
    files.pipe({"/bucket/cp/offsets/0": b"v1", "/bucket/cp/offsets/1": b"v1\nsecond"})
    yield "memory://bucket/cp"
    files.rm("/bucket", recursive=True)


def test_remote(memory: str) -> None:
    """A URL is read through fsspec, with and without a slash at its end."""
    for location in (memory, f"{memory}/"):
        folder = open_folder(location)
        assert isinstance(folder, RemoteFolder)
        assert sorted(folder.names("offsets") or []) == ["0", "1"]
        assert folder.names("commits") is None
        assert folder.read("offsets/1") == "v1\nsecond"


@pytest.mark.parametrize("zone", [None, timezone.utc, timezone(timedelta(hours=2))])
def test_when_a_remote_file_was_written(memory: str, zone: timezone | None) -> None:
    """The time is that of the file system. Those that tell no zone have UTC."""
    folder = open_folder(memory)
    assert isinstance(folder, RemoteFolder)
    written = datetime(2026, 9, 21, 12, 13, 20, tzinfo=timezone.utc).astimezone(zone or timezone.utc)
    folder.files.store["/bucket/cp/offsets/1"].modified = written.replace(tzinfo=zone)
    assert folder.written_ms("offsets/1") == 1_789_992_800_000
    assert folder.written_ms("offsets/9") is None


def test_a_file_system_without_times() -> None:
    """Where the implementation knows no times, or no real ones, nothing is known."""

    class Timeless:
        def modified(self, path: str) -> str:
            if path == "cp/a":
                raise NotImplementedError
            return "yesterday"

    folder = RemoteFolder("x://cp", Timeless(), "cp")
    assert [folder.written_ms(file) for file in "ab"] == [None, None]


class Remembering:
    """Files whose implementation keeps listings, as that of S3 does."""

    def __init__(self) -> None:
        self.written, self._listed = ["cp/offsets/0"], [""]

    def invalidate_cache(self) -> None:
        self._listed = []

    def ls(self, _: str, *, detail: bool) -> list[str]:
        assert not detail
        self._listed = self._listed or list(self.written)
        return self._listed


def test_new_files() -> None:
    """A later listing shows files that were written since, though fsspec keeps listings."""
    files = Remembering()
    folder = RemoteFolder("s3://cp", files, "cp")
    assert folder.names("offsets") == ["0"]
    files.written.append("cp/offsets/1")
    assert folder.names("offsets") == ["0", "1"]


def test_a_missing_remote_file(memory: str) -> None:
    """A file that cannot be read is named in the error."""
    with pytest.raises(CommandError, match=f"^{memory}/offsets/9 cannot be read: "):
        open_folder(memory).read("offsets/9")


@pytest.mark.parametrize("prefix", ["", "file:", "file://", "local://"])
def test_local(tmp_path: Path, prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A local path works without fsspec, also as a URL."""
    monkeypatch.setitem(sys.modules, "fsspec", None)
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_text("v1")
    folder = open_folder(f"{prefix}{tmp_path}")
    assert isinstance(folder, LocalFolder)
    assert folder.names("offsets") == ["0"]
    assert folder.names("commits") is None
    assert folder.read("offsets/0") == "v1"
    os.utime(tmp_path / "offsets" / "0", ns=(0, 1_790_000_000_123_999_999))
    assert folder.written_ms("offsets/0") == 1_790_000_000_123
    assert folder.written_ms("offsets/1") is None


def test_a_missing_local_file(tmp_path: Path) -> None:
    """A file that cannot be read is named in the error, with the reason."""
    with pytest.raises(
        CommandError, match=f"^{tmp_path}/offsets/0 cannot be read: No such file or directory"
    ):
        open_folder(str(tmp_path)).read("offsets/0")


@pytest.mark.parametrize(
    ("location", "packages"),
    [
        ("s3://bucket/cp", "fsspec s3fs"),
        ("s3a://bucket/cp", "fsspec s3fs"),
        ("gs://bucket/cp", "fsspec gcsfs"),
        ("abfss://container@account.dfs.core.windows.net/cp", "fsspec adlfs"),
        ("hdfs://name/cp", "fsspec pyarrow"),
        ("memory://bucket", "fsspec"),
    ],
)
def test_without_fsspec(location: str, packages: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without fsspec, the error names what to install."""
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(CommandError, match=f"^Reading {location} needs fsspec: pip install {packages}$"):
        open_folder(location)


@pytest.mark.parametrize(
    ("location", "package"),
    [
        ("s3n://bucket/cp", "s3fs"),
        ("gs://bucket/cp", "gcsfs"),
        ("abfs://container/cp", "adlfs"),
        ("abfss://container@account.dfs.core.windows.net/cp", "adlfs"),
        ("wasbs://container@account/cp", "adlfs"),
        ("hdfs://name/cp", "pyarrow"),
    ],
)
def test_without_the_implementation(location: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With fsspec and without what it needs for a scheme, the error names that package, also where fsspec knows no such scheme."""
    for name in {package, *(loaded for loaded in sys.modules if loaded.startswith(f"{package}."))}:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        CommandError, match=f"^Reading {location} needs another package .*: pip install fsspec {package}$"
    ):
        open_folder(location)


def test_without_another_implementation(monkeypatch: pytest.MonkeyPatch) -> None:
    """For other schemes the error has what fsspec says, and names no package that would not help."""
    monkeypatch.setitem(sys.modules, "ossfs", None)
    with pytest.raises(CommandError, match=r"^Reading oss://bucket/cp needs another package \(.*ossfs.*\)$"):
        open_folder("oss://bucket/cp")


def test_without_hadoop(monkeypatch: pytest.MonkeyPatch) -> None:
    """With pyarrow and without Hadoop the error is one line that says what is missing, and not the 60 lines of pyarrow."""

    def load(*_: object, **__: object) -> None:
        raise OSError(
            "Unable to load libjvm\ndlopen(/usr/lib/libjvm.so) failed\ndlopen(/lib/libjvm.so) failed."
        )

    monkeypatch.setattr(fsspec.core, "url_to_fs", load)
    with pytest.raises(CommandError) as caught:
        open_folder("hdfs://name/cp")
    assert str(caught.value) == (
        "hdfs://name/cp cannot be read: Unable to load libjvm. "
        "This needs Java and Hadoop: set JAVA_HOME, HADOOP_HOME and CLASSPATH."
    )


def test_the_folder_itself(memory: str, tmp_path: Path) -> None:
    """The empty path is the folder itself, which need not be there."""
    (tmp_path / "offsets").mkdir()
    assert (
        set(open_folder(memory).names("") or [])
        == set(open_folder(str(tmp_path)).names("") or [])
        == {"offsets"}
    )
    assert open_folder("memory://other-bucket/cp").names("") is None
    assert open_folder(str(tmp_path / "nowhere")).names("") is None


def test_an_unknown_scheme() -> None:
    """A scheme that fsspec does not know is an error of one line."""
    with pytest.raises(CommandError, match=r"^teapot://x cannot be read: Protocol not known: teapot"):
        open_folder("teapot://x")
