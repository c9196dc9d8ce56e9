"""The check of a release's files finds what must not be published."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.check_dist import complaints

PACKAGE = Path(__file__).parents[2] / "packages" / "spark-kinesis-sink"
COMMIT_S = 1_790_000_001
"""An odd second, which a zip file cannot hold."""
CLASSIFIER = '  "Programming Language :: Python :: 3.12",\n'


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """The sources of a release of one package."""
    shutil.copytree(PACKAGE, tmp_path / "packages" / "sink", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def build(sources: Path, target: Path, commit_s: int = COMMIT_S) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(target)]
    env = {**os.environ, "SOURCE_DATE_EPOCH": str(commit_s)}
    subprocess.run(command, cwd=sources / "packages/sink", env=env, check=True, capture_output=True)
    return target


def check(sources: Path, dist: Path, again: Path) -> list[str]:
    return list(complaints(dist, again, sources, COMMIT_S))


def test_two_equal_builds_are_good(sources: Path) -> None:
    """Two builds of the same sources in different folders are the same bytes, and nothing is wrong with them."""
    moved = sources / "moved"
    shutil.copytree(sources / "packages", moved / "packages")
    assert check(sources, build(sources, sources / "dist"), build(moved, sources / "again")) == []


def add_stray_file(sources: Path) -> None:
    (sources / "packages/sink/src/spark_kinesis_sink/notes.txt").write_text("a note")


def remove_marker(sources: Path) -> None:
    (sources / "packages/sink/src/spark_kinesis_sink/py.typed").unlink()


def link_to_a_page(sources: Path) -> None:
    with (sources / "packages/sink/README.md").open("a") as readme:
        readme.write("\n[Write](../../docs/howto/writing.md) and [Spark](https://spark.apache.org)\n")


def drop_classifier(sources: Path) -> None:
    project = sources / "packages/sink/pyproject.toml"
    project.write_text(project.read_text().replace(CLASSIFIER, ""))


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (remove_marker, "has no spark_kinesis_sink/py.typed"),
        (link_to_a_page, "the README has a relative link: ](../../docs/howto/writing.md)"),
        (drop_classifier, "METADATA has no classifier Programming Language :: Python :: 3.12"),
    ],
)
def test_incomplete_packages(sources: Path, damage: Callable[[Path], None], complaint: str) -> None:
    """A package without its marker, with a classifier missing or with a link that leads nowhere is refused."""
    damage(sources)
    dist = build(sources, sources / "dist")
    assert [re.sub(r"^\S+: ", "", found) for found in check(sources, dist, dist)] == [complaint]


def test_files_that_do_not_belong(sources: Path) -> None:
    """A file that is not among the sources is refused, in a wheel, in an sdist and beside them."""
    clean = sources / "clean"
    shutil.copytree(sources / "packages", clean / "packages")
    add_stray_file(sources)
    dist = build(sources, sources / "dist")
    (dist / "notes.txt").write_text("a note")
    wheel, sdist, beside = check(clean, dist, dist)
    assert "wheel has spark_kinesis_sink/notes.txt, which does not belong there" in wheel
    assert re.search(r"sdist has \S+/src/spark_kinesis_sink/notes.txt, which does not belong there", sdist)
    assert beside == "the folder has notes.txt, which does not belong there"


def test_other_bytes_and_times(sources: Path) -> None:
    """A build at another time has other bytes, and files that do not have the time of the commit are refused."""
    dist, late = build(sources, sources / "dist"), build(sources, sources / "late", COMMIT_S + 2)
    assert [found.partition(": ")[2] for found in check(sources, dist, late)] == [
        "the second build has other bytes"
    ] * 2
    with zipfile.ZipFile(next(late.glob("*.whl"))) as wheel, tarfile.open(next(late.glob("*.gz"))) as sdist:
        files = [*wheel.namelist(), *sdist.getnames()]
    found = [
        re.fullmatch(r"\S+: (\S+) has the time .*", complaint) for complaint in check(sources, late, late)
    ]
    assert [match and match[1] for match in found] == files
