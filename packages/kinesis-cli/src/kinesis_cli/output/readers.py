"""Ends a command when the program that reads its output has ended, also while there is nothing to write."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from types import FrameType


def end_with_reader() -> None:
    """
    Watch the standard output, in a thread. Without a reader, BrokenPipeError is raised in the main thread.

    Without it, `kinesis tail orders | head -1` would wait for one more record than it shows.
    """
    if sys.stdout.isatty() or not hasattr(select, "poll"):
        return
    signal.signal(signal.SIGPIPE, _raise)
    threading.Thread(target=_watch, name="kinesis-reader", daemon=True).start()


def _raise(_number: int, _frame: FrameType | None) -> None:
    if _has_ended(timeout_ms=0):  # other pipes have their own errors
        raise BrokenPipeError


def _has_ended(timeout_ms: int | None) -> bool:
    """Wait for the end of the pipe, at most so long. A file has none."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)  # errors are reported without being asked for
    return bool(poll.poll(timeout_ms))


def _watch() -> None:
    _has_ended(timeout_ms=None)
    os.kill(os.getpid(), signal.SIGPIPE)
