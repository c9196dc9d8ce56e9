"""What Python reads again of archives when Spark invalidates a worker's caches."""

from __future__ import annotations

import importlib
import sys
import zipfile
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from kinesis_core.for_spark import forget_archives

SPARKS = ("pyspark.zip", "py4j-0.10.9.9-src.zip", "spark-core_2.13-4.1.0.jar")


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    """Restore what imports change."""
    path, modules, finders = list(sys.path), set(sys.modules), dict(sys.path_importer_cache)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]
    sys.path_importer_cache.clear()
    sys.path_importer_cache.update(finders)


def put_archive(path: Path, package: str) -> None:
    """Write an archive with *package*, which has two modules and another package, and put it on Python's path."""
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("__init__", "early", "late", "inner/__init__", "inner/early"):
            archive.writestr(f"{package}/{name}.py", "")
    sys.path.append(str(path))
    for module in (package, f"{package}.early", f"{package}.inner", f"{package}.inner.early"):
        importlib.import_module(module)


def finders_of(path: Path) -> list[str]:
    return [entry for entry in sys.path_importer_cache if entry.startswith(str(path))]


@pytest.mark.parametrize("name", SPARKS)
def test_archives_of_spark(name: str, tmp_path: Path) -> None:
    """No finder of Spark's archives is left for Spark to invalidate, and modules in them can still be imported."""
    archive = tmp_path / name
    put_archive(archive, "sparks")
    assert len(finders_of(archive)) == 3
    forget_archives()
    assert finders_of(archive) == []
    importlib.invalidate_caches()
    assert isinstance(importlib.import_module("sparks.late").__spec__, ModuleSpec)
    assert isinstance(importlib.import_module("sparks.inner").__spec__, ModuleSpec)


@pytest.mark.parametrize("name", ["mine.zip", "my-pyspark.zip", "pyspark.zip.egg", "spark-core-mine.jar"])
def test_archives_of_users(name: str, tmp_path: Path) -> None:
    """An archive that a user adds may change, so Spark still makes Python read its table of contents again."""
    archive = tmp_path / name
    put_archive(archive, "users")
    forget_archives()
    assert len(finders_of(archive)) == 3
    with zipfile.ZipFile(archive, "a") as changed:
        changed.writestr("users/new.py", "")
    importlib.invalidate_caches()
    importlib.import_module("users.new")


def test_a_folder_named_like_an_archive(tmp_path: Path) -> None:
    """Where Spark is unpacked, its folders are left as they are."""
    folder = tmp_path / "pyspark.zip"
    (folder / "unpacked").mkdir(parents=True)
    (folder / "unpacked/__init__.py").touch()
    sys.path.append(str(folder))
    importlib.import_module("unpacked")
    forget_archives()
    assert finders_of(folder)
