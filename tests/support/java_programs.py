"""The Java programs: fetched with Maven once per checkout, and compiled with what they need."""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from attrs import frozen

from support.installs import locked, make, require_tools, run

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
        require_tools(self.name, "java")
        libraries = self.cache / self.name
        classes = self.cache / f"{self.name}-program-{self._hash_sources()}"
        if not classes.exists():  # compiled last, so the rest is there
            require_tools(self.name, "javac", "mvn")
            with locked(self.cache / f"{self.name}.lock"):
                make(libraries, self._fetch)
                make(classes, lambda made: self._compile(made, libraries))
        return Installed(classes, libraries)

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
        run(command, f"Maven could not fetch {self.name}", _FETCH_S)

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
        run(command, f"javac could not compile the program for {self.name}", _COMPILE_S)
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
        with locked(self.classes.with_name(f"{self.classes.name}.lock")):
            if not self.loaded.exists():
                with tempfile.TemporaryDirectory(dir=self.classes.parent) as temporary:
                    made = Path(temporary) / self.loaded.name
                    run(made)
                    made.rename(self.loaded)


_KCL = ("software.amazon.kinesis", "amazon-kinesis-client")
KCL_2 = JavaProgram(*_KCL, "2.7.2", ("json", "kcl"))
KCL_3 = JavaProgram(*_KCL, "3.5.1", ("json", "kcl", "kcl_3"))
SDK = JavaProgram("software.amazon.awssdk", "kinesis", "2.57.8", ("json", "sdk"))
KPL = JavaProgram("software.amazon.kinesis", "amazon-kinesis-producer", "1.1.1", ("json", "kpl"))
TABLES = JavaProgram("com.amazonaws", "DynamoDBLocal", "2.6.1", ("tables",))


def hadoop(version: str) -> JavaProgram:
    """Return HDFS and YARN of a version of Hadoop."""
    return JavaProgram("org.apache.hadoop", "hadoop-client-minicluster", version, ("hadoop",))
