"""The command `kinesis` in the demo: what it says of the streams, shown at the end as it looks on a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from attrs import define, field
from rich.console import Console
from rich.text import Text


@define
class CommandLine:
    """Runs commands with *environment*, which leads to the emulator, and keeps what they print."""

    environment: Mapping[str, str]
    folder: Path
    """Where the commands run, and what the paths in them begin with."""
    width: int
    _ran: list[tuple[str, str, str]] = field(factory=list, init=False)

    def run(self, when: str, *arguments: str) -> None:
        """Run `kinesis` with *arguments*. *when* says what is special about this moment."""
        shown = {"FORCE_COLOR": "1", "COLUMNS": str(self.width)}
        done = subprocess.run(  # noqa: S603 # our own program
            [sys.executable, "-m", "kinesis_cli", *arguments],
            cwd=self.folder,
            env={**os.environ, **self.environment, **shown},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        self._ran.append((when, f"kinesis {' '.join(arguments)}", done.stdout))

    def show(self, console: Console) -> None:
        """Show all commands and what they printed."""
        for when, command, printed in self._ran:
            console.print(f"{when}:", style="dim")
            console.print(f"[bold]$ {command}[/]", highlight=False)
            console.print(Text.from_ansi(printed))
