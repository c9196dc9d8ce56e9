"""Waits for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 60.0
"""What takes longer hangs."""


def wait_until(is_so: Callable[[], object]) -> None:
    """Wait until *is_so* returns something true."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)  # until another process has gone on
