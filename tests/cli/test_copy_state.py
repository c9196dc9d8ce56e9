"""Files for the state of `kinesis copy` that cannot be written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kinesis_cli.ending import Status
from kinesis_emulator import Emulator
from support.command_line import CommandLine

Create = Callable[[int], str]


@pytest.mark.parametrize("state", ["", "missing/state"])
def test_a_state_that_cannot_be_written(
    kinesis: CommandLine, emulator: Emulator, create: Create, tmp_path: Path, state: str
) -> None:
    """It is refused before anything is copied: what is copied could not be remembered."""
    source, destination = create(1), create(1)
    emulator.put(source, b"x")
    ran = kinesis("copy", source, destination, "--state", str(tmp_path / state), status=1)
    assert "cannot be written" in ran.err
    assert emulator.records(destination) == []


def test_a_state_that_can_no_longer_be_written(
    kinesis: CommandLine, emulator: Emulator, create: Create, tmp_path: Path
) -> None:
    """The error names the file, and comes after the count of what was copied."""
    source, destination, state = create(1), create(1), tmp_path / "state"
    emulator.put(source, b"x")
    (tmp_path / "state.new").mkdir()  # where the file is written before it gets its name
    ran = kinesis("copy", source, destination, "--state", str(state), status=None)
    counted, line = ran.err.splitlines()
    assert counted.endswith(f" copied to {destination}")
    assert ran.status == (Status.FAILED if counted.startswith("0 ") else Status.INCOMPLETE)
    assert line == (
        f"kinesis copy: {state} cannot be written: Is a directory. Name a file. What was read before is written."
    )
