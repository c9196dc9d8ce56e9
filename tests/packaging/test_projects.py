"""The packages fit together: one version, exact pins between them, and complete wheels."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
OURS = [
    "kinesis-cli",
    "kinesis-consumer",
    "kinesis-core",
    "kinesis-credentials",
    "kinesis-emulator",
    "kinesis-native",
    "spark-kinesis-sink",
    "spark-kinesis-source",
]
Projects = dict[str, dict[str, Any]]


def requirements(project: dict[str, Any]) -> list[str]:
    """Return all requirements of *project*, including those of its extras."""
    extras = project.get("optional-dependencies", {}).values()
    return [*project.get("dependencies", []), *(requirement for extra in extras for requirement in extra)]


def test_packages(projects: Projects) -> None:
    """These eight packages are published."""
    assert sorted(projects) == OURS


def version_of(folder: Path, name: str) -> Path:
    return folder / "src" / name.replace("-", "_") / "version.py"


def test_one_version(projects: Projects, folders: dict[str, Path]) -> None:
    """All packages have the same version, which their code repeats, and the changelog has a section for it."""
    (version,) = {project["version"] for project in projects.values()}
    for name in projects:
        assert f'__version__ = "{version}"' in version_of(folders[name], name).read_text()
    assert f'\nversion = "{version}"\n' in (folders["kinesis-native"] / "Cargo.toml").read_text()
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text()


def test_pins(projects: Projects) -> None:
    """Our packages pin each other's exact version, because executors unpickle what the driver pickled."""
    for name, project in projects.items():
        for requirement in requirements(project):
            needed, rest = re.fullmatch(r"([\w-]+)(.*)", requirement).groups()  # type: ignore[union-attr]
            if needed in OURS:
                assert rest.rpartition("==")[2] == project["version"], f"{name} asks for {requirement}"


@pytest.mark.parametrize(
    ("package", "needed"),
    [
        ("kinesis-credentials", set()),
        ("kinesis-emulator", set()),
        ("kinesis-core", {"kinesis-credentials", "kinesis-native"}),  # the second one as an extra
        ("kinesis-native", set()),
        ("kinesis-consumer", {"kinesis-core", "kinesis-credentials"}),
        # The emulator is an extra.
        ("kinesis-cli", {"kinesis-consumer", "kinesis-core", "kinesis-credentials", "kinesis-emulator"}),
        ("spark-kinesis-source", {"kinesis-core", "kinesis-credentials"}),
        ("spark-kinesis-sink", {"kinesis-core", "kinesis-credentials"}),
    ],
)
def test_dependencies_among_ourselves(projects: Projects, package: str, needed: set[str]) -> None:
    """Dependencies go in one direction, and neither Spark package installs the other."""
    found = {re.split(r"[\[=<>]", requirement)[0] for requirement in requirements(projects[package])}
    assert found & set(OURS) == needed


def test_emulator_needs_nothing(projects: Projects) -> None:
    """The emulator depends on the standard library alone. HTTP/2 and certificates are extras."""
    assert projects["kinesis-emulator"]["dependencies"] == []


def test_no_package_installs_pyspark(projects: Projects) -> None:
    """No package installs PySpark: clusters bring their own, and a second one would shadow it."""
    for project in projects.values():
        assert not [r for r in project["dependencies"] if r.startswith("pyspark")]


def test_license_in_wheels(wheels: dict[str, list[str]], projects: Projects) -> None:
    """Each wheel has the licence and the py.typed marker, and no tests."""
    for name, files in wheels.items():
        package = name.replace("-", "_")
        assert f"{package}-{projects[name]['version']}.dist-info/licenses/LICENSE" in files
        assert f"{package}/py.typed" in files
        assert not [file for file in files if "test" in file.split("/")[0]]


def test_licenses_are_the_same(folders: dict[str, Path]) -> None:
    """The licence of each package is that of the repository, as a file: an sdist with a link out of it cannot be unpacked."""
    for folder in folders.values():
        assert not (folder / "LICENSE").is_symlink()
        assert (folder / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


@pytest.mark.parametrize("half", ["source", "sink"])
def test_registration_module_in_wheels(wheels: dict[str, list[str]], half: str) -> None:
    """Each Spark package has the module by which Spark finds it without registration."""
    assert f"pyspark_kinesis_{half}.py" in wheels[f"spark-kinesis-{half}"]
