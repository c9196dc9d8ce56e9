"""The Java programs: fetched with Maven once per checkout, and compiled with what they need."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from support.witness import WitnessUnavailableError

SOURCES = Path(__file__).parent / "java"
CACHE = Path(__file__).parents[2] / ".nox" / "java"
_FETCH_S, _COMPILE_S = 600, 300
_JAR = "program.jar"
"""A JVM archives classes of jars, and none of folders."""


@frozen
class JavaProgram:
    """A library from Maven Central, and our sources that make a program of it."""

    group: str
    artifact: str
    version: str
    folders: tuple[str, ...]
    """Folders of sources, in *SOURCES*."""
    cache: Path = CACHE

    @property
    def name(self) -> str:
        return f"{self.artifact}-{self.version}"

    def install(self) -> Installed:
        """
        Fetch and compile the program, if that was not done yet.

        Raises:
            WitnessUnavailableError: A tool is not installed, or Maven could not fetch the library.
        """
        self._require("java")
        libraries = self.cache / self.name
        classes = self.cache / f"{self.name}-program-{self._hash_sources()}"
        if not classes.exists():  # compiled last, so the rest is there
            self._require("javac", "mvn")
            with _locked(self.cache / f"{self.name}.lock"):
                _make(libraries, self._fetch)
                _make(classes, lambda made: self._compile(made, libraries))
        return Installed(classes, libraries)

    def _require(self, *tools: str) -> None:
        for tool in tools:
            if shutil.which(tool) is None:
                raise WitnessUnavailableError(f"{self.name} needs {tool}, which is not installed.")

    def _hash_sources(self) -> str:
        found = hashlib.sha256()
        for source in (SOURCES / "pom.xml", *self._sources()):
            found.update(source.read_bytes())
        return found.hexdigest()[:12]

    def _sources(self) -> list[Path]:
        return [path for folder in self.folders for path in sorted((SOURCES / folder).rglob("*.java"))]

    def _fetch(self, made: Path) -> None:
        names = {"group": self.group, "artifact": self.artifact, "version": self.version}
        command: list[str | Path] = [
            *("mvn", "--batch-mode", "--quiet", "--file", SOURCES / "pom.xml"),
            *("dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={made}"),
            *(f"-Dwanted.{name}={value}" for name, value in names.items()),
        ]
        _run(command, f"Maven could not fetch {self.name}", _FETCH_S)

    def _compile(self, made: Path, libraries: Path) -> None:
        command: list[str | Path] = [
            "javac",
            "-nowarn",
            "-d",
            made,
            "-cp",
            f"{libraries}/*",
            *self._sources(),
        ]
        _run(command, f"javac could not compile the program for {self.name}", _COMPILE_S)
        with zipfile.ZipFile(made / _JAR, "w") as jar:
            for path in sorted(made.rglob("*.class")):
                jar.write(path, path.relative_to(made))


@frozen
class Installed:
    """A program that can be started."""

    classes: Path
    libraries: Path

    @property
    def class_path(self) -> str:
        return f"{self.classes / _JAR}{os.pathsep}{self.libraries}/*"

    @property
    def loaded(self) -> Path:
        """An archive of the classes that a JVM has loaded, with which the next one starts in half the time. It may be missing."""
        return self.classes.with_name(f"{self.classes.name}.jsa")

    def record(self, run: Callable[[Path], None]) -> None:
        """Make that archive, if it was not made yet. *run* lets a JVM write it into a file."""
        with _locked(self.classes.with_name(f"{self.classes.name}.lock")):
            if not self.loaded.exists():
                with tempfile.TemporaryDirectory(dir=self.classes.parent) as temporary:
                    made = Path(temporary) / self.loaded.name
                    run(made)
                    made.rename(self.loaded)


_KCL = ("software.amazon.kinesis", "amazon-kinesis-client")
KCL_2 = JavaProgram(*_KCL, "2.7.2", ("kcl",))
KCL_3 = JavaProgram(*_KCL, "3.5.1", ("kcl", "kcl_3"))
TABLES = JavaProgram("com.amazonaws", "DynamoDBLocal", "2.6.1", ("tables",))


def hadoop(version: str) -> JavaProgram:
    """Return HDFS and YARN of a version of Hadoop."""
    return JavaProgram("org.apache.hadoop", "hadoop-client-minicluster", version, ("hadoop",))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of other processes that install the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make(folder: Path, fill: Callable[[Path], None]) -> None:
    """Fill a folder that appears when it is complete."""
    if folder.exists():
        return
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        made = Path(temporary) / folder.name
        made.mkdir()
        fill(made)
        made.rename(folder)


def _run(command: Sequence[str | Path], failure: str, timeout_s: float) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired as error:
        raise WitnessUnavailableError(f"{failure} within {timeout_s:.0f} s.") from error
    if done.returncode:
        raise WitnessUnavailableError(f"{failure}: {(done.stdout + done.stderr).strip()[-2000:]}")
