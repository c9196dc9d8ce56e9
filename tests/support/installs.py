"""What tests build or install once per checkout: complete or not at all, also when several processes do it at the same time."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from support.witness import WitnessUnavailableError

_NPM_S = 900.0


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


def npm_ci(what: str, source: Path, cache: Path) -> Path:
    """
    Return a folder below *cache* with what the lock file in *source* pins, as `node_modules`. It is installed once per checkout.

    No script of a package runs.

    Raises:
        WitnessUnavailableError: node or npm is not installed, or npm could not install *what*.
    """
    require_tools(what, "node", "npm")
    names = ("package.json", "package-lock.json")
    digest = hashlib.sha256(b"".join((source / name).read_bytes() for name in names)).hexdigest()
    folder = cache / f"node-{digest[:12]}"

    def install(made: Path) -> None:
        for name in names:
            shutil.copy(source / name, made)
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        run(command, f"npm could not install: {what}", _NPM_S, made)

    with locked(cache / "node.lock"):
        make(folder, install)
    return folder
