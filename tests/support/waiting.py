"""Waits for what other threads and processes do."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 300.0
"""What takes longer hangs, also on a machine that is busy or stands still for a while."""


def wait_until(
    is_so: Callable[[], object], found: Callable[[], object] = lambda: None, *, every_s: float = 0.01
) -> None:
    """
    Wait until *is_so* returns something true, and call it again after *every_s* until then.

    If it never does, the error shows what is *found* instead.
    """
    deadline_s = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline_s, found()
        time.sleep(every_s)  # until the others have gone on
