"""The driver of a run, which is killed and restarted, and the progress of its queries by their checkpoints."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from attrs import define, frozen

from support.python_starts import IMPATIENCE
from tools.chaos.job import RESTING, STARTED, TO_FILES, TO_STREAM

_WIDTH = 400
_EXCEPTION = re.compile(r"(Caused by: )?[\w.]+(Exception|Error): ")


@define
class Driver:
    """`tools.chaos.job` in a process group of its own, with a log per start."""

    master_url: str
    endpoint_url: str
    folder: Path
    environment: Mapping[str, str]
    _lives: int = 0
    _child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._lives += 1
        for name in (STARTED, RESTING):
            (self.folder / name).unlink(missing_ok=True)
        with self._log.open("wb") as output:
            self._child = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "tools.chaos.job",
                    self.master_url,
                    self.endpoint_url,
                    str(self.folder),
                ],
                env=self.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def kill(self) -> bool:
        """Kill -9 the program and its JVM. Return False when it had ended before."""
        child = self._child
        if child is None or child.poll() is not None:
            return False
        os.killpg(child.pid, signal.SIGKILL)
        return child.wait() == -signal.SIGKILL

    def restart(self) -> bool:
        """Kill -9 and start it again. Return False when it had ended before."""
        if not self.kill():
            return False
        self.start()
        return True

    @property
    def has_started(self) -> bool:
        """Whether its queries have started since the last start."""
        return (self.folder / STARTED).exists()

    def exit_code(self) -> int | None:
        """Return its exit code if it ended by itself; None while it runs."""
        return None if self._child is None else self._child.poll()

    def end(self) -> End:
        """Say how it ended by itself since the last start."""
        return End.of(self._log.read_text(errors="replace"))

    @property
    def _log(self) -> Path:
        return self.folder / f"driver-{self._lives}.log"


@frozen
class End:
    """How a driver ended by itself."""

    words: str
    """The last exception in its log, or else the last line."""
    is_impatience: bool = False
    """Whether Spark gave up a Python process that started too slowly: the machine is busy, and no part of the run is to blame."""

    @staticmethod
    def of(log: str) -> End:
        said = log.strip().splitlines() or [""]
        named = [line for line in said if _EXCEPTION.match(line)]
        raised = log.rpartition("Traceback (most recent call last)")[2]
        return End((named or said)[-1][:_WIDTH], IMPATIENCE in raised)


@frozen
class Progress:
    """The last micro-batch that each query has planned and finished; -1 before the first."""

    planned: tuple[int, ...] = (-1, -1)
    finished: tuple[int, ...] = (-1, -1)

    @staticmethod
    def of(folder: Path) -> Progress:
        names = (TO_FILES, TO_STREAM)
        # Read the planned batch first, so that a batch that ends meanwhile does not count as running.
        planned = tuple(_last_id(folder / name / "offsets") for name in names)
        return Progress(planned, tuple(_last_id(folder / name / "commits") for name in names))

    @property
    def is_busy(self) -> bool:
        """Whether a query has a batch that is planned and not finished."""
        return any(last < planned for last, planned in zip(self.finished, self.planned, strict=True))

    @property
    def batches(self) -> int:
        """The number of finished batches."""
        return sum(self.finished) + len(self.finished)


def _last_id(folder: Path) -> int:
    return max((int(file.name) for file in folder.glob("[0-9]*") if file.name.isdigit()), default=-1)
