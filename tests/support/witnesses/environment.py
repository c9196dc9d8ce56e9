"""The Python of the witnesses: an environment of its own, installed once per checkout."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from support.kcl.event_process import EventProcess
from support.paths import TESTS
from support.streams import KEY_ID, REGION, SECRET
from support.witness import CACHE, WitnessUnavailableError

PROGRAMS = Path(__file__).parent
REQUIREMENTS = PROGRAMS / "requirements.txt"
_INSTALL_S = 600


def start_program(
    name: str, log: Path, arguments: Mapping[str, str], endpoints: Mapping[str, str]
) -> EventProcess:
    """
    Start the program *name*. *endpoints* are those of AWS's services, such as kinesis; others are not reached.

    Raises:
        WitnessUnavailableError: It cannot be installed here.
    """
    given = (f"{key}={value}" for key, value in arguments.items())
    environment = {
        **os.environ,
        "AWS_ACCESS_KEY_ID": KEY_ID,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
        "PYTHONPATH": str(TESTS),
        **{f"AWS_ENDPOINT_URL_{service.upper()}": url for service, url in endpoints.items()},
    }
    return EventProcess([str(install()), str(PROGRAMS / name), *given], log, environment)


def install() -> Path:
    """Return the Python, once it has all requirements."""
    folder = CACHE / f"python-{hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:12]}"
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
            made = Path(temporary) / "made"
            _uv("venv", f"--python={sys.executable}", "--relocatable", made)
            _uv("pip", "install", f"--python={made}", "--no-deps", f"--requirement={REQUIREMENTS}")
            try:
                made.rename(folder)
            except OSError:
                if not folder.exists():  # otherwise another run was faster
                    raise
    return folder / "bin" / "python"


def _uv(*arguments: str | Path) -> None:
    uv = shutil.which("uv") or CACHE.parent / "bootstrap" / "bin" / "uv"
    try:
        done = subprocess.run(
            [uv, *arguments, "--quiet"], capture_output=True, text=True, timeout=_INSTALL_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise WitnessUnavailableError(f"uv did not run: {error}") from error
    if done.returncode:
        raise WitnessUnavailableError(f"uv could not install the witnesses: {done.stderr.strip()}")
