"""The packages' project files and their wheels."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGES = Path(__file__).parents[2] / "packages"
NATIVE = "kinesis-native"
"""Built by a compiler, which not every machine has."""


@pytest.fixture(scope="session")
def folders() -> dict[str, Path]:
    """The folder of each package, by its name."""
    return {_read(path)["name"]: path.parent for path in sorted(PACKAGES.glob("*/pyproject.toml"))}


@pytest.fixture(scope="session")
def projects(folders: dict[str, Path]) -> dict[str, dict[str, Any]]:
    """The [project] table of each package, by its name."""
    return {name: _read(folder / "pyproject.toml") for name, folder in folders.items()}


@pytest.fixture(scope="session")
def wheels(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The names of the files in the wheel of each package that is pure Python."""
    built = tmp_path_factory.mktemp("wheels")
    return {name: _build(folder, built / name) for name, folder in folders.items() if name != NATIVE}


def _read(path: Path) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    return project


def _build(folder: Path, target: Path) -> list[str]:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(target)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (wheel,) = target.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()
