"""Records the calls that an emulator receives, for tests of credentials and regions."""

from __future__ import annotations

import threading
from collections.abc import Callable

from attrs import define, field, frozen

from kinesis_emulator.faults import Fault
from kinesis_emulator.requests import Request


@frozen
class Call:
    """One call that the emulator received."""

    action: str
    stream: str | None
    access_key: str
    region: str


@define
class Callers:
    """All calls of an emulator. Use it as its `settings.fault`; *refuse* may add faults."""

    refuse: Callable[[Request], Fault | None] = lambda _: None
    calls: list[Call] = field(factory=list, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def __call__(self, request: Request) -> Fault | None:
        with self._lock:
            self.calls.append(Call(request.action, request.stream_name, request.access_key, request.region))
            return self.refuse(request)

    def keys(self, action: str | None = None) -> set[str]:
        """Return the access keys that signed calls of *action*, or of any action."""
        return {call.access_key for call in self.calls if action in (None, call.action)}

    def regions(self, stream: str) -> set[str]:
        """Return the regions in which *stream* was called."""
        return {call.region for call in self.calls if call.stream == stream}
