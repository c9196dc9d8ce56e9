"""Waits for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(find: Callable[[], bool], what: str, within_s: float, period_s: float = 0.01) -> None:
    """
    Wait until *find* returns true.

    Raises:
        TimeoutError: It did not in time. *what* describes it.
    """
    deadline_s = time.monotonic() + within_s
    while not find():
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"Not within {within_s:.0f} s: {what}.")
        time.sleep(period_s)
