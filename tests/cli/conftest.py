"""An emulator, and a command line that leads to it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attrs import evolve

from cli.bursts import standing_emulator
from kinesis_emulator import Emulator
from support.command_line import CommandLine
from support.witness import kinesis_local

_numbers = itertools.count()


@pytest.fixture(scope="session")
def emulator() -> Iterator[Emulator]:
    with Emulator() as running:
        yield running


@pytest.fixture
def standing() -> Iterator[Emulator]:
    """An emulator whose clock stands: see support/bursts.py."""
    with standing_emulator() as running:
        yield running


@pytest.fixture
def create(emulator: Emulator) -> Callable[[int], str]:
    """Return a function that creates a stream with so many shards, and returns its name."""

    def created(shards: int = 1) -> str:
        name = f"orders-{next(_numbers)}"
        emulator.create_stream(name, shards)
        return name

    return created


@pytest.fixture
def kinesis(emulator: Emulator, tmp_path: Path) -> CommandLine:
    """Return the command `kinesis` in an empty home, with the emulator as its Kinesis."""
    home = tmp_path / "home"
    home.mkdir()
    kept = {"PATH": os.environ["PATH"], "HOME": str(home), "AWS_EC2_METADATA_DISABLED": "true"}
    return CommandLine(kept).to(emulator)


@pytest.fixture
def installed(kinesis: CommandLine) -> CommandLine:
    """Return the command `kinesis` as it was installed: see support/command_line.py."""
    return evolve(kinesis, is_installed=True)


@pytest.fixture
def without(installed: CommandLine, tmp_path: Path) -> Callable[[str], CommandLine]:
    """Return a function that returns the command in an environment without some package."""

    def missing(package: str) -> CommandLine:
        (tmp_path / "sitecustomize.py").write_text(
            "import importlib.util as util\n"
            "found = util.find_spec\n"
            f"util.find_spec = lambda name, package=None: None if name == '{package}' else found(name, package)\n"
        )
        return installed.having({"PYTHONPATH": str(tmp_path)})

    return missing


@pytest.fixture(scope="module")
def witness() -> Iterator[str]:
    """The endpoint of a server that is not ours, kinesis-local, without streams."""
    with kinesis_local() as endpoint_url:
        yield endpoint_url
