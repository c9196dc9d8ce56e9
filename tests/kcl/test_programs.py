"""Java programs are installed once, completely, and with a reason if they cannot be."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.java_programs import JavaProgram
from support.witness import WitnessUnavailableError

TOOL = """\
#!{python}
import pathlib, sys
with open({calls!r}, "a") as calls:
    calls.write("{name}\\n")
folder = [a.split("=")[1] for a in sys.argv if a.startswith("-DoutputDirectory=")] or [sys.argv[sys.argv.index("-d") + 1]]
pathlib.Path(folder[0], "{name} was here").touch()
sys.exit({status})
"""


class Tools:
    """Stand-ins for java, javac and mvn, which count their calls."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder / "bin"
        self.folder.mkdir()
        self._calls = folder / "calls"
        monkeypatch.setenv("PATH", str(self.folder))

    def add(self, *names: str, status: int = 0) -> None:
        for name in names:
            tool = self.folder / name
            tool.write_text(
                TOOL.format(python=sys.executable, name=name, calls=str(self._calls), status=status)
            )
            tool.chmod(0o755)

    def calls(self) -> list[str]:
        return self._calls.read_text().split()


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tools:
    return Tools(tmp_path, monkeypatch)


@pytest.fixture
def program(tmp_path: Path) -> JavaProgram:
    return JavaProgram("group", "artifact", "1.0", ("kcl",), tmp_path / "cache")


def test_once(tools: Tools, program: JavaProgram) -> None:
    """Of several processes that install a program at the same time, one does it, and all have it."""
    tools.add("java", "javac", "mvn")
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: program.install(), range(4)))
    assert tools.calls() == ["mvn", "javac"]
    assert len(set(found)) == 1
    assert (found[0].libraries / "mvn was here").exists()
    assert (found[0].classes / "javac was here").exists()


@pytest.mark.parametrize("missing", ["java", "javac", "mvn"])
def test_a_missing_tool_is_named(tools: Tools, program: JavaProgram, missing: str) -> None:
    """Where a tool is missing, the reason names it."""
    tools.add(*({"java", "javac", "mvn"} - {missing}))
    with pytest.raises(WitnessUnavailableError, match=f"needs {missing}, which is not installed"):
        program.install()


def test_complete_or_not_at_all(tools: Tools, program: JavaProgram) -> None:
    """An installation that fails leaves nothing that a later one would take for complete."""
    tools.add("java", "javac")
    tools.add("mvn", status=1)
    with pytest.raises(WitnessUnavailableError, match="Maven could not fetch artifact"):
        program.install()
    assert [path.name for path in program.cache.iterdir()] == ["artifact-1.0.lock"]
    tools.add("mvn")
    assert (program.install().libraries / "mvn was here").exists()


def test_an_installed_program_needs_java_only(tools: Tools, program: JavaProgram) -> None:
    """Maven and the compiler are not needed again."""
    tools.add("java", "javac", "mvn")
    installed = program.install()
    for name in ("javac", "mvn"):
        (tools.folder / name).unlink()
    assert program.install() == installed
