"""A query at constant load leaks nothing: the short form, which takes about three minutes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import python_path

pytest.importorskip("pyspark")


@pytest.mark.timeout(1500)
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux has /proc")
def test_nothing_grows() -> None:
    """Over batches and restarts driver, reader, workers and emulator do not grow, and every record is read once."""
    done = subprocess.run(
        [sys.executable, "-m", "tools.soak", "--restarts", "12", "--batches", "120"],
        env={**os.environ, "PYTHONPATH": python_path()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
