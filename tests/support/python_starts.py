"""
Starts again what failed because a Python process of Spark was slow to start.

A query's planner is such a process. It has 10 s, which no setting changes, and it starts before the query has planned anything.
"""

from __future__ import annotations

import os
import signal
import subprocess
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from attrs import define, field
from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from .waiting import PATIENCE_S

T = TypeVar("T")
IMPATIENCE = "Python worker failed to connect back"
STARTS = 5


def is_to_start_again(failure: str, starts: int) -> bool:
    """Return whether that error made the last of *starts* fail, and another start may help. A warning tells of it."""
    again = IMPATIENCE in failure and starts < STARTS
    if again:
        warnings.warn(f"Spark did not wait for a Python process. Start {starts + 1} follows.", stacklevel=2)
    return again


@define
class PatientQuery:
    """A running query. *start* starts it, also again."""

    _start: Callable[[], StreamingQuery]
    query: StreamingQuery = field(init=False)
    starts: int = field(default=1, init=False)

    def __attrs_post_init__(self) -> None:
        self.query = self._start()

    def do(self, use: Callable[[StreamingQuery], T]) -> T:
        """Return what *use* returns, which raises the error of the query if it has failed."""
        while True:
            try:
                return use(self.query)
            except StreamingQueryException as error:
                if not is_to_start_again(str(error), self.starts):
                    raise
            self.query = self._start()
            self.starts += 1


def run(
    command: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stderr: int = subprocess.PIPE,
    timeout_s: float = PATIENCE_S,
) -> subprocess.CompletedProcess[str]:
    """Run a program that starts queries, and return what it printed. If it does not end in time, nothing that it started is left."""
    starts = 0
    while True:
        starts += 1
        ran = _run_once(command, env, cwd, stderr, timeout_s)
        if not (ran.returncode and is_to_start_again(f"{ran.stdout}{ran.stderr}", starts)):
            return ran


def _run_once(
    command: Sequence[str | Path],
    env: Mapping[str, str] | None,
    cwd: Path | None,
    stderr: int,
    timeout_s: float,
) -> subprocess.CompletedProcess[str]:
    with subprocess.Popen(
        command,
        env=env,
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=stderr,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            printed = process.communicate(timeout=timeout_s)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)  # a JVM that it started would hold the pipes
            raise
    return subprocess.CompletedProcess(command, process.returncode, *printed)
