"""The Python of the witnesses: an environment of its own, installed once per checkout."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from support.installs import locked, make, run
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
    """
    Return the Python, once it has all requirements.

    Raises:
        WitnessUnavailableError: uv is not installed, or could not install them.
    """
    folder = CACHE / f"python-{hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:12]}"
    with locked(CACHE / "python.lock"):
        make(folder, _fill)
    return folder / "bin" / "python"


def _fill(made: Path) -> None:
    uv = shutil.which("uv") or shutil.which(CACHE.parent / "bootstrap" / "bin" / "uv")
    if uv is None:
        raise WitnessUnavailableError("The clients in Python need uv, which is not installed.")
    failure = "uv could not install the clients in Python"
    run([uv, "venv", "--quiet", "--relocatable", f"--python={sys.executable}", made], failure, _INSTALL_S)
    packages = ("--no-deps", f"--requirement={REQUIREMENTS}")
    run([uv, "pip", "install", "--quiet", f"--python={made}", *packages], failure, _INSTALL_S)
