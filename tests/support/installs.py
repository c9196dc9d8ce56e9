"""What tests build or install once per checkout: complete or not at all, also when several processes do it at the same time."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from support.witness import WitnessUnavailableError


def require_tools(what: str, *tools: str) -> None:
    """
    Make sure that *tools*, which *what* needs, are on PATH.

    Raises:
        WitnessUnavailableError: One is not installed.
    """
    for tool in tools:
        if shutil.which(tool) is None:
            raise WitnessUnavailableError(f"{what} needs {tool}, which is not installed.")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of other processes that install the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def make(folder: Path, fill: Callable[[Path], None]) -> None:
    """Fill a folder that appears when it is complete."""
    if folder.exists():
        return
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        made = Path(temporary) / folder.name
        made.mkdir()
        fill(made)
        made.rename(folder)


def run(
    command: Sequence[str | Path],
    failure: str,
    timeout_s: float,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """
    Run a tool in *folder*, with further variables.

    Raises:
        WitnessUnavailableError: It failed, or took longer than *timeout_s*. The text begins with *failure*.
    """
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
            cwd=folder,
            env={**os.environ, **(environment or {})},
        )
    except subprocess.TimeoutExpired as error:
        raise WitnessUnavailableError(f"{failure} within {timeout_s:.0f} s.") from error
    if done.returncode:
        raise WitnessUnavailableError(f"{failure}: {(done.stdout + done.stderr).strip()[-2000:]}")
