"""
Builds the packages of the last commit twice, and checks that the files may be published.

    python -m tools.build_dist DIST

DIST gets an sdist of each package that is pure Python, and the wheel that the sdist builds. No change and no other file of the working tree
gets into them. The session `dist` runs this.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tools.check_dist import pure_projects, report

LINKS = {"Source": "", "Issues": "/issues", "Changelog": "/blob/main/CHANGELOG.md"}
"""Links of each package on its page of an index, as paths below the address of the repository."""


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


def unpack_commit(folder: Path) -> list[Path]:
    """Unpack the packages of the last commit into *folder*, and return the folders of the packages."""
    archive = folder.with_suffix(".zip")
    git("archive", f"--output={archive}", "HEAD", "packages")
    shutil.unpack_archive(archive, folder)
    projects = pure_projects(folder)
    if repository := re.findall(r'^repository = "(.+)"', git("show", "HEAD:pyproject.toml"), re.M):
        table = "".join(f'{name} = "{repository[0]}{path}"\n' for name, path in LINKS.items())
        for project in projects:
            project.write_text(f"{project.read_text()}\n[project.urls]\n{table}")
    return [project.parent for project in projects]


def build(sources: Path, target: Path, commit_s: str, *kinds: str) -> None:
    """
    Build files of *kinds* (sdist, wheel) from *sources* into *target*.

    SOURCE_DATE_EPOCH becomes the time of every file in wheels and sdists, so that the same commit gives the same bytes at any
    time and place. hatchling writes its release into wheels. So pyproject.toml pins it.
    """
    targets = [argument for kind in kinds for argument in ("--target", kind)]
    command = [sys.executable, "-m", "hatchling", "build", *targets, "--directory", str(target)]
    subprocess.run(command, cwd=sources, env={**os.environ, "SOURCE_DATE_EPOCH": commit_s}, check=True)


def build_by_sdist(sources: Path, target: Path, commit_s: str) -> None:
    """Build an sdist from *sources*, and the wheel from nothing but that, as an installer does."""
    build(sources, target, commit_s, "sdist")
    with tempfile.TemporaryDirectory() as folder:
        [sdist] = target.glob(f"{_file_name(sources)}-*.tar.gz")
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        [unpacked] = Path(folder).iterdir()
        build(unpacked, target, commit_s, "wheel")


def _file_name(sources: Path) -> str:
    [name] = re.findall(r'^name = "(.+)"$', (sources / "pyproject.toml").read_text(), re.M)
    return str(name).replace("-", "_")


def main(dist: str) -> int:
    target = Path(dist)
    shutil.rmtree(target, ignore_errors=True)
    commit_s = git("log", "-1", "--format=%ct").strip()
    # Outside of this folder: hatchling would find its .gitignore.
    with tempfile.TemporaryDirectory() as name:
        first, second, again = (Path(name, part) for part in ("first", "second", "again"))
        for package in unpack_commit(first):
            build_by_sdist(package, target, commit_s)
        for package in unpack_commit(second):
            build(package, again, commit_s, "sdist", "wheel")
        return report(target, again, first, int(commit_s))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
