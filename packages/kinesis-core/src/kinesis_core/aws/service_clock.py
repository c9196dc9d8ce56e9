"""The service's clock, learned from the Date headers of its responses."""

from __future__ import annotations

import threading
from collections import deque
from email.utils import parsedate_to_datetime
from functools import lru_cache

from attrs import define, field

from kinesis_core.clock import Clock

_REMEMBERED = 64
_STEP_MS = 3000
"""If a response shows a time this much earlier than others did, it was very slow, or our own clock was set forward."""
_DOUBT_MS = 2000
"""How far behind our own clock the service's clock is assumed to be before its first response."""


@define
class ServiceClock:
    """
    A lower bound of the service's clock. It is needed because Kinesis refuses timestamps in the future.

    A Date header is cut to the second, so each response shows the least by which the service is ahead of our clock. The
    largest of the last values is right to within the length of a call, however wrong our own clock is.
    """

    _clock: Clock
    _ahead_ms: deque[float] = field(factory=lambda: deque(maxlen=_REMEMBERED), init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def note(self, date: str | None) -> None:
        """Learn from the Date header of a response that has just come; a missing or malformed header changes nothing."""
        service_s = _epoch_s(date or "")
        if service_s is None:
            return
        with self._lock:
            ahead_ms = (service_s - self._clock.now_s()) * 1000
            if max(self._ahead_ms, default=ahead_ms) > ahead_ms + _STEP_MS:
                self._ahead_ms.clear()
            self._ahead_ms.append(ahead_ms)

    def forget(self) -> None:
        """Forget all headers: a request was refused, perhaps because its time is in the service's future."""
        with self._lock:
            self._ahead_ms.clear()

    def now_ms(self) -> int:
        with self._lock:
            ahead_ms = max(self._ahead_ms, default=-_DOUBT_MS)
        return int(self._clock.now_s() * 1000 + ahead_ms)


@lru_cache(maxsize=4)
def _epoch_s(date: str) -> float | None:
    """Return the seconds of a Date header; None if it is malformed. All responses of a second have the same one."""
    try:
        return parsedate_to_datetime(date).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
