"""Every code block of the documentation is checked: Python runs, JSON is parsed, and commands must exist."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
MADE = {"options.md", "benchmarks.md", "events.md"}
"""Pages that programs write; they have no code blocks."""
PAGES = sorted(
    path
    for pattern in ("README.md", "docs/**/*.md", "packages/*/README.md")
    for path in ROOT.glob(pattern)
    if path.name not in MADE
)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRELUDE = """\
def run_my_job(**options):
    pass

"""
"""Pages assume that the reader has a job."""
SHELL_OF_SPARK = """\
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").getOrCreate()
"""
"""What pyspark's shell provides, and pages that make no session of their own take for granted."""
TIMEOUT_S = 840


class Block(NamedTuple):
    language: str
    text: str

    @property
    def is_test(self) -> bool:
        return "\ndef test_" in f"\n{self.text}"


def blocks(page: Path) -> list[Block]:
    return [Block(*found) for found in BLOCK.findall(page.read_text(encoding="utf-8"))]


def pages_with(chosen: Callable[[Block], bool]) -> pytest.MarkDecorator:
    pages = [page for page in PAGES if any(chosen(block) for block in blocks(page))]
    return pytest.mark.parametrize("page", pages, ids=[str(page.relative_to(ROOT)) for page in pages])


def is_program(block: Block) -> bool:
    return block.language == "python" and not block.is_test


def run(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    log = folder / "output"
    with log.open("w") as output:
        child = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that Spark's JVM ends with it
        )
        try:
            status: object = child.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            status = f"still running after {TIMEOUT_S} s"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    lines = [
        line for line in log.read_text().splitlines() if not line.startswith("\tat ")
    ]  # the JVM's own frames
    assert status == 0, "\n".join(lines[-60:])


@pages_with(is_program)
@pytest.mark.usefixtures("old_checkpoint")
def test_python(page: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    """The Python blocks of a page run one after the other, as one program."""
    program = "\n".join(block.text for block in blocks(page) if is_program(block))
    needs_session = re.search(r"\bspark\b", program) and "SparkSession.builder" not in program
    (tmp_path / "page.py").write_text(PRELUDE + (SHELL_OF_SPARK if needs_session else "") + program)
    run([sys.executable, "page.py"], tmp_path, environment)


@pages_with(lambda block: block.language == "python" and block.is_test)
def test_tests(page: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    """The tests on a page pass in pytest."""
    tests = "\n".join(block.text for block in blocks(page) if block.is_test)
    (tmp_path / "test_page.py").write_text(PRELUDE + tests)
    run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_page.py"], tmp_path, environment)


@pages_with(lambda block: block.language == "json")
def test_json(page: Path) -> None:
    """Each JSON block on a page is valid JSON."""
    for block in blocks(page):
        if block.language == "json":
            json.loads(block.text)


def commands() -> list[str]:
    """Return every command on every page, each once."""
    found: dict[str, None] = {}
    for block in (block for page in PAGES for block in blocks(page)):
        lines = block.text.splitlines()
        if block.language == "console":
            lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        if block.language in {"console", "sh"}:
            found.update(dict.fromkeys(lines))
    return list(found)


@pytest.mark.parametrize("command", commands())
def test_command(command: str) -> None:
    """Each command exists: a nox session, packages of ours, or valid options of the emulator."""
    match shlex.split(command):
        case ["python3", "noxfile.py", "-s", session, *_]:
            assert re.search(rf"^def {session}\(", (ROOT / "noxfile.py").read_text(), re.MULTILINE)
        case ["pip", "install", *requirements]:
            ours = [requirement for requirement in requirements if requirement.startswith("./")]
            assert ours
            assert all((ROOT / folder / "pyproject.toml").exists() for folder in ours)
        case ["kinesis-emulator", *options]:
            from kinesis_emulator.cli import _parser

            assert _parser().parse_args(options).stream
        case _:
            pytest.fail("nothing here knows this command")


def test_languages() -> None:
    """Every block is in a language that these tests check."""
    known = {"python", "json", "sh", "console"}
    strange = {block.language for page in PAGES for block in blocks(page)} - known
    assert not strange


def test_links() -> None:
    """Every link within the repository leads to an existing file."""
    missing = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                missing.append(f"{page.relative_to(ROOT)}: {target}")
    assert not missing
