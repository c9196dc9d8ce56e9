"""The service's clock, learned from the Date headers of its answers."""

from __future__ import annotations

import threading
from collections import deque
from email.utils import parsedate_to_datetime

from attrs import define, field

from kinesis_core.clock import Clock

_REMEMBERED = 64
_STEP_MS = 3000
"""An answer that says so much less than earlier ones was very slow, or our own clock was set forward since."""
_DOUBT_MS = 2000
"""How far behind our own clock the service's is assumed to be before its first answer."""


@define
class ServiceClock:
    """
    A lower bound of the service's clock: Kinesis refuses to look for records of the future.

    A Date header is cut to the second, so each answer says at least how far the service is ahead of us. The best of
    the last answers is right within the length of a call, however wrong our own clock is.
    """

    _clock: Clock
    _ahead_ms: deque[float] = field(factory=lambda: deque(maxlen=_REMEMBERED), init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def note(self, date: str | None) -> None:
        """Learn from the Date header of an answer that was just received; a missing or malformed one says nothing."""
        try:
            service_s = parsedate_to_datetime(date or "").timestamp()
        except (TypeError, ValueError, OverflowError):
            return
        with self._lock:
            ahead_ms = (service_s - self._clock.now_s()) * 1000
            if max(self._ahead_ms, default=ahead_ms) > ahead_ms + _STEP_MS:
                self._ahead_ms.clear()
            self._ahead_ms.append(ahead_ms)

    def forget(self) -> None:
        """Forget what was learned: a request was refused, which may be for a time that is not the service's past."""
        with self._lock:
            self._ahead_ms.clear()

    def now_ms(self) -> int:
        with self._lock:
            ahead_ms = max(self._ahead_ms, default=-_DOUBT_MS)
        return int(self._clock.now_s() * 1000 + ahead_ms)
