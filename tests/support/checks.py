"""The calls of the permission check before a query starts, and how to leave them out of counts."""

from __future__ import annotations

import threading
from collections import Counter

from attrs import define, field

from kinesis_emulator.faults import Fault
from kinesis_emulator.requests import Request


def is_check(request: Request) -> bool:
    """Return whether a call belongs to such a check. It is made once and reads and writes nothing."""
    return "DryRun" in request.params or request.params.get("MaxResults") == 1


@define
class CarriedOut:
    """Counts the calls of a query without its permission check. Use it as an emulator's `settings.fault`."""

    calls: Counter[str] = field(factory=Counter)
    _lock: threading.Lock = field(factory=threading.Lock)

    def __call__(self, request: Request) -> Fault | None:
        with self._lock:
            self.calls[request.action] += not is_check(request)
        return None
