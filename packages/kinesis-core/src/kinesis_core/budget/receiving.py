"""The share of a thread: the calls that it makes, and the bodies that it receives, count there. Without a share nothing waits."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from kinesis_core.budget.byte_budget import ByteShare


class _Thread(threading.local):
    share: ByteShare | None = None


_thread = _Thread()


@contextmanager
def receiving(share: ByteShare | None) -> Iterator[None]:
    """Let what this thread receives in the block count in *share*; None if it counts nowhere."""
    before, _thread.share = _thread.share, share
    try:
        yield
    finally:
        _thread.share = before


def release() -> None:
    """Give back what the thread's share has."""
    if _thread.share is not None:
        _thread.share.release()


def reserve(body_bytes: int | None) -> None:
    """Wait, before a call, as `ByteShare.reserve` does."""
    if _thread.share is not None:
        _thread.share.reserve(body_bytes)


def admit(body_bytes: int | None) -> None:
    """Wait, before a body is received, as `ByteShare.admit` does."""
    if _thread.share is not None:
        _thread.share.admit(body_bytes)
