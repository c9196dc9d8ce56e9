"""Records SubscribeToShard calls, for tests of enhanced fan-out."""

from __future__ import annotations

import threading
from collections.abc import Callable

from attrs import define, field

from kinesis_emulator import Emulator, Fault, Request

NO_SHARD = "shardId-999999999999"
"""The shard of the driver's permission check."""


@define
class SubscribeCalls:
    """Every SubscribeToShard that a task called. Use it as an emulator's `settings.fault`; *then* may add faults."""

    emulator: Emulator
    then: Callable[[Request], Fault | None] = lambda _: None
    asked: list[Request] = field(factory=list, init=False)
    overlaps: list[Request] = field(factory=list, init=False)
    """The calls that came while the same consumer had a subscription to the same shard."""
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def __attrs_post_init__(self) -> None:
        self.emulator.settings.fault = self

    def __call__(self, request: Request) -> Fault | None:
        if request.shard_id == NO_SHARD:
            return None
        if request.action == "SubscribeToShard":
            with self._lock:
                self.asked.append(request)
                if self._is_open(request):
                    self.overlaps.append(request)
        return self.then(request)

    def _is_open(self, request: Request) -> bool:
        name = request.params["ConsumerARN"].partition("/consumer/")[2].partition(":")[0]
        return (name, request.shard_id) in self.emulator.subscriptions(request.stream_name or "")

    @property
    def shards(self) -> list[str | None]:
        """The shards that were subscribed to, in the order of calls."""
        return [request.shard_id for request in self.asked]
