"""A query at constant load keeps nothing: the short form, of as much work as takes about three minutes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(1500)
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux has /proc")
def test_nothing_grows() -> None:
    """Over batches and restarts neither driver, reader, workers nor emulator grow, and every record is read once."""
    folders = [str(ROOT / "tests"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-m", "support.soak", "--restarts", "12", "--batches", "120"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
