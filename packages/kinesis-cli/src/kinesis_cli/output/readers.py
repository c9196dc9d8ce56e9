"""Ends a command when the program that reads its output has ended, even while there is nothing to write."""

from __future__ import annotations

import select
import signal
import sys
import threading
import time
from types import FrameType

from kinesis_cli.signals import ReaderGoneError, lasting

_AGAIN_S = 0.1


def end_with_reader() -> None:
    """
    Watch the standard output, in a thread. Without a reader, ReaderGoneError is raised in the main thread.

    Without it, `kinesis tail orders | head -1` would wait for one more record than it shows.
    """
    if sys.stdout.isatty() or not hasattr(select, "poll"):
        return
    signal.signal(signal.SIGPIPE, _raise)
    threading.Thread(target=_watch, name="kinesis-reader", daemon=True).start()


def _raise(_number: int, _frame: FrameType | None) -> None:
    if _has_ended(timeout_ms=0):  # other pipes have their own errors
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # once: what ends then is not broken off
        raise lasting(ReaderGoneError)


def _has_ended(timeout_ms: int | None) -> bool:
    """Wait for the end of the pipe, at most so long. A file has none."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)  # errors are reported without being asked for
    return bool(poll.poll(timeout_ms))


def _watch() -> None:
    """Interrupt the main thread, again if it had just begun a call that blocks."""
    _has_ended(timeout_ms=None)
    while signal.getsignal(signal.SIGPIPE) is _raise:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGPIPE)
        time.sleep(_AGAIN_S)
