"""Programs into which a reader pastes one text after the other: a shell, and Python."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

DONE = b"."
SHELL = """
exec 9>&"$1"
eval "exec $1>&-"
set -e
while IFS= read -r -d '' block; do
  eval "$block" </dev/null 9>&-
  env -0 >"$SAVED/environment"
  pwd >"$SAVED/folder"
  printf . >&9
done
"""
"""Runs texts in one shell. It saves the variables and the folder after each, and then reports on a file descriptor."""


class Prompt:
    """
    A program that runs the texts on its standard input, which end with a NUL, and writes a byte after each.

    Args:
        command: The program. It gets one more argument: the file descriptor for these bytes.
        log: Where its output goes.
    """

    def __init__(
        self, command: list[str], environment: Mapping[str, str], folder: Path, log: IO[bytes]
    ) -> None:
        self._reports, written = os.pipe()
        self._process = subprocess.Popen(
            [*command, str(written)],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=(written,),
            start_new_session=True,  # so that all that it starts can be ended with it
        )
        os.close(written)

    def paste(self, text: str, timeout_s: float) -> str | None:
        """Run *text*. Return why it failed, or None."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended, as its missing report shows
            self._process.stdin.write(text.encode() + b"\0")
            self._process.stdin.flush()
        if not select.select([self._reports], [], [], timeout_s)[0]:
            return f"still running after {timeout_s} s"
        return None if os.read(self._reports, 1) == DONE else f"status {self._process.wait(timeout_s)}"

    def end(self, timeout_s: float) -> str | None:
        """Tell the program that there is no more text. Return why it did not end as it should, or None."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            status = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return f"still running after {timeout_s} s"
        return f"ended with status {status}" if status else None

    def kill(self) -> None:
        """End the program and all that it has started."""
        kill(self._process)
        os.close(self._reports)


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads a session, and all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.stdin is not None:
        with suppress(BrokenPipeError):
            process.stdin.close()
    process.wait()


def run_cells(report: int) -> None:
    """Run the texts on the standard input as the cells of a notebook, in one namespace. A cell that fails ends the program."""
    sys.path[0] = ""  # modules come from the folder of the reader, as at a prompt
    namespace = {"__name__": "__main__"}
    for number, cell in enumerate(_texts(sys.stdin)):
        exec(compile(cell, f"cell {number + 1}", "exec", dont_inherit=True), namespace)  # noqa: S102 # the docs are ours
        sys.stdout.flush()
        os.write(report, DONE)


def _texts(source: IO[str]) -> Iterator[str]:
    """Yield what stands before each NUL, as soon as it is there."""
    text = ""
    while character := source.read(1):
        if character == "\0":
            yield text
            text = ""
        else:
            text += character


if __name__ == "__main__":
    run_cells(int(sys.argv[1]))
