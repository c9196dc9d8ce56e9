"""Ends a command when the program that reads its output has ended, also while there is nothing to write."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from types import FrameType
from typing import NoReturn


def end_with_reader() -> None:
    """
    Watch the standard output, in a thread. Without a reader, BrokenPipeError is raised in the main thread.

    Without it, `kinesis tail orders | head -1` would wait for one more record than it shows.
    """
    if sys.stdout.isatty() or not hasattr(select, "poll"):
        return
    signal.signal(signal.SIGPIPE, _raise)
    threading.Thread(target=_watch, args=(sys.stdout.fileno(),), name="kinesis-reader", daemon=True).start()


def _raise(_number: int, _frame: FrameType | None) -> NoReturn:
    raise BrokenPipeError


def _watch(output: int) -> None:
    """Wait for an end of the pipe. A file or a terminal has none."""
    poll = select.poll()
    poll.register(output, 0)  # errors are reported without being asked for
    poll.poll()
    os.kill(os.getpid(), signal.SIGPIPE)
