"""
Checks the files of a release, and reports everything that is wrong with them.

There are two builds of the same sources: in one the sdist has built each wheel, in the other one the sources have.
"""

from __future__ import annotations

import re
import sys
import tarfile
import time
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import HeaderParser
from hashlib import sha256
from pathlib import Path

from attrs import frozen

RELATIVE = re.compile(r"\]\((?!https://|#)[^)]*\)")
"""A link that leads nowhere on the page of a package index."""
REQUIRED = {"Summary", "Keywords", "License-Expression", "Requires-Python", "Description-Content-Type"}
PYTHONS = {f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 15)}
"""The versions with which the noxfile runs tests."""
DIST_INFO = {"METADATA", "WHEEL", "RECORD", "licenses/LICENSE"}


@frozen
class Package:
    """One package of a release: its folder in the sources, and its two files."""

    folder: Path
    wheel: Path
    sdist: Path

    @property
    def stem(self) -> str:
        """The name and the version, as both files begin."""
        return self.sdist.name.removesuffix(".tar.gz")

    @property
    def name(self) -> str:
        return self.stem.rpartition("-")[0]

    def sources(self) -> set[str]:
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if not path.is_dir()}


def pure_projects(sources: Path) -> list[Path]:
    """
    Return the pyproject.toml of each package that is pure Python.

    kinesis-native has a wheel for each platform, which the release workflow builds.
    """
    return [
        path for path in sorted(sources.glob("packages/*/pyproject.toml")) if "hatchling" in path.read_text()
    ]


def find(dist: Path, folder: Path) -> Package:
    """
    Return the package whose sources are in *folder*.

    Raises:
        ValueError: It does not have exactly one wheel and one sdist.
    """
    name = re.findall(r'^name = "(.+)"$', (folder / "pyproject.toml").read_text(), re.M)[0].replace("-", "_")
    [wheel], [sdist] = (list(dist.glob(f"{name}-*{kind}")) for kind in (".whl", ".tar.gz"))
    return Package(folder, wheel, sdist)


def wrong_files(package: Package) -> Iterator[str]:
    """Yield what is missing, and what does not belong: a wheel has the modules, an sdist everything in the folder."""
    sources = package.sources()
    info = DIST_INFO | ({"entry_points.txt"} if "[project.scripts]" in _pyproject(package) else set())
    modules = {path.removeprefix("src/") for path in sources if path.startswith("src/")}
    with zipfile.ZipFile(package.wheel) as wheel:
        yield from _differ(
            "wheel", wheel.namelist(), modules | {f"{package.stem}.dist-info/{n}" for n in info}
        )
    with tarfile.open(package.sdist) as sdist:
        wanted = {f"{package.stem}/{path}" for path in sources | {"PKG-INFO"}}
        yield from _differ("sdist", sdist.getnames(), wanted)
    yield from (f"has no {path}" for path in (f"{package.name}/py.typed",) if path not in modules)


def wrong_times(package: Package, epoch_s: int) -> Iterator[str]:
    """Yield the files whose time is not that of the commit. A zip file has even seconds only."""
    even = time.gmtime(epoch_s - epoch_s % 2)[:6]
    with zipfile.ZipFile(package.wheel) as wheel:
        yield from (
            f"{i.filename} has the time {i.date_time}" for i in wheel.infolist() if i.date_time != even
        )
    with tarfile.open(package.sdist) as sdist:
        yield from (f"{m.name} has the time {m.mtime}" for m in sdist.getmembers() if m.mtime != epoch_s)


def metadata(package: Package) -> Message:
    with zipfile.ZipFile(package.wheel) as wheel:
        return HeaderParser().parsestr(wheel.read(f"{package.stem}.dist-info/METADATA").decode())


def wrong_metadata(package: Package) -> Iterator[str]:
    """Yield the fields that are missing, and the links of the description that lead nowhere on an index."""
    fields = metadata(package)
    yield from (f"METADATA has no {name}" for name in sorted(REQUIRED - {*fields.keys()}))
    missing = PYTHONS - {*fields.get_all("Classifier", [])}
    yield from (f"METADATA has no classifier {classifier}" for classifier in sorted(missing))
    yield from (
        f"the README has a relative link: {link}" for link in RELATIVE.findall(str(fields.get_payload()))
    )


def complaints(dist: Path, again: Path, sources: Path, epoch_s: int) -> Iterator[str]:
    """
    Yield what is wrong with the files in *dist*.

    *again* has the second build of the packages in *sources*. *epoch_s* is the time of the commit.
    """
    folders = [path.parent for path in pure_projects(sources)]
    packages = [find(dist, folder) for folder in folders]
    for package in packages:
        found = (*wrong_files(package), *wrong_times(package, epoch_s), *wrong_metadata(package))
        yield from (f"{package.stem}: {complaint}" for complaint in found)
    names = [path.name for package in packages for path in (package.wheel, package.sdist)]
    yield from _differ("the folder", [path.name for path in dist.iterdir()], {*names})
    yield from (f"{name}: the second build has other bytes" for name in names if not _same(dist, again, name))
    if len(versions := {metadata(package)["Version"] for package in packages}) > 1:
        yield f"the versions differ: {', '.join(sorted(versions))}"


def report(dist: Path, again: Path, sources: Path, epoch_s: int) -> int:
    """Print what is wrong, and the hashes of the files. Return the exit status."""
    wrong = list(complaints(dist, again, sources, epoch_s))
    for complaint in wrong:
        sys.stderr.write(f"{complaint}\n")
    for path in sorted(dist.iterdir()):
        held = path.read_bytes()
        sys.stdout.write(f"{sha256(held).hexdigest()}  {len(held):>8,}  {path.name}\n")
    return int(bool(wrong))


def _pyproject(package: Package) -> str:
    return (package.folder / "pyproject.toml").read_text(encoding="utf-8")


def _differ(what: str, found: list[str], wanted: set[str]) -> Iterator[str]:
    yield from (f"{what} has {name}, which does not belong there" for name in sorted({*found} - wanted))
    yield from (f"{what} has no {name}" for name in sorted(wanted - {*found}))


def _same(dist: Path, again: Path, name: str) -> bool:
    return (again / name).exists() and (dist / name).read_bytes() == (again / name).read_bytes()
