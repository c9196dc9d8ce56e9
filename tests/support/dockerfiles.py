"""What hadolint finds in a Dockerfile, with ShellCheck for the commands in it."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

HADOLINT = Path(sysconfig.get_path("scripts"), "hadolint")


def findings(dockerfile: str) -> str:
    """Return what is wrong with the text of a *dockerfile*: nothing, or a line for each fault."""
    done = subprocess.run([HADOLINT, "-"], input=dockerfile, capture_output=True, text=True)
    assert (done.returncode == 0) == (done.stdout == ""), done.stderr
    return done.stdout
