"""Who called the emulator: what tests of credentials and regions look at."""

from __future__ import annotations

import threading
from collections.abc import Callable

from attrs import define, field, frozen

from kinesis_emulator.faults import Fault
from kinesis_emulator.requests import Request


@frozen
class Call:
    """One call as the emulator saw it."""

    action: str
    stream: str | None
    access_key: str
    region: str


@define
class Callers:
    """Every call that was made; to be an emulator's `settings.fault`, which *refuse* may add to."""

    refuse: Callable[[Request], Fault | None] = lambda _: None
    calls: list[Call] = field(factory=list, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def __call__(self, request: Request) -> Fault | None:
        with self._lock:
            self.calls.append(Call(request.action, request.stream_name, request.access_key, request.region))
            return self.refuse(request)

    def keys(self, action: str | None = None) -> set[str]:
        """Return the access keys that signed calls of *action*, or any."""
        return {call.access_key for call in self.calls if action in (None, call.action)}

    def regions(self, stream: str) -> set[str]:
        """Return the regions that *stream* was called in."""
        return {call.region for call in self.calls if call.stream == stream}
