"""Plain Python leaks nothing: memory, files and threads are the same after a thousand repetitions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import python_path
from tools.soak.plain import SCENARIOS

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux has /proc"),
    pytest.mark.timeout(600),
]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_nothing_is_left(scenario: str) -> None:
    """It runs in a process of its own, because servers of other tests open and close connections in this one."""
    environment = {**os.environ, "PYTHONPATH": python_path()}
    command = [sys.executable, "-m", "tools.soak.plain", scenario]
    ran = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
