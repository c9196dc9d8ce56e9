"""The calls that check permissions before a query starts, and how to leave them out where calls are counted."""

from __future__ import annotations

import threading
from collections import Counter

from attrs import define, field

from kinesis_emulator.faults import Fault
from kinesis_emulator.requests import Request


def is_check(request: Request) -> bool:
    """Return whether a call is of such a check: it is made once, whatever comes of it, and reads and writes nothing."""
    return "DryRun" in request.params or request.params.get("MaxResults") == 1


@define
class CarriedOut:
    """Counts the calls of a query that are not of its check; to be an emulator's `settings.fault`."""

    calls: Counter[str] = field(factory=Counter)
    _lock: threading.Lock = field(factory=threading.Lock)

    def __call__(self, request: Request) -> Fault | None:
        with self._lock:
            self.calls[request.action] += not is_check(request)
        return None
