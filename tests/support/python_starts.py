"""
Starts again what failed because a Python process of Spark was slow to start.

A query's planner is such a process. It has 10 s, which no setting changes, and it starts before the query has planned anything.
"""

from __future__ import annotations

import subprocess
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

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


def run(command: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program that starts queries, as `subprocess.run` does."""
    starts = 0
    while True:
        starts += 1
        ran = subprocess.run(command, errors="replace", timeout=PATIENCE_S, check=False, **options)
        if not (ran.returncode and is_to_start_again(f"{ran.stdout}{ran.stderr}", starts)):
            return ran
