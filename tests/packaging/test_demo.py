"""The demo runs, and proves that every record is counted exactly once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 840  # below the one that pytest sets, so that the child is ended and its output shown


@pytest.mark.everything
def test_short_demo() -> None:
    """The short form of the demo runs without a terminal, and counts every record exactly once."""
    done = subprocess.run(
        [sys.executable, "-m", "demo", "--short"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    causes = [line for line in done.stdout.splitlines() if line.startswith("Caused by: ")]
    assert done.returncode == 0, (causes, (done.stdout + done.stderr)[-6000:])
    assert "records were counted exactly once" in " ".join(done.stdout.split())
