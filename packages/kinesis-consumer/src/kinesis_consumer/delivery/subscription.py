"""One subscription of enhanced fan-out: a thread receives its events until it ends."""

from __future__ import annotations

import queue
from collections.abc import Callable
from contextlib import closing

from attrs import define, field

from kinesis_core.aws import SubscribeApi
from kinesis_core.model import Cut, SubscribedPage
from kinesis_core.threads import start_thread

EVENTS_AHEAD = 2
"""Events in the queue; the thread holds one more. An event has at most 10 MiB."""
_LOOK_S = 0.5
"""How often a thread with a full queue looks whether the subscription was closed."""


@define(eq=False)
class ShardSubscription:
    """Receives events of one shard from *cut* on. AWS ends it after 5 minutes, and it may break at any time."""

    api: SubscribeApi
    shard_id: str
    cut: Cut
    arrived: Callable[[], None]
    """Called when there is an event, and at the end."""
    error: Exception | None = field(default=None, init=False)
    """Why it ended, if it broke."""
    _events: queue.Queue[SubscribedPage] = field(init=False)
    _is_over: bool = field(default=False, init=False)
    _is_closed: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._events = queue.Queue(EVENTS_AHEAD)

    def start(self) -> None:
        """Start to receive, in a thread of its own."""
        start_thread(self._receive, f"kinesis-subscription-{self.shard_id}")

    @property
    def is_over(self) -> bool:
        """Whether it ended and all events were taken."""
        return self._is_over and self._events.empty()

    @property
    def has_event(self) -> bool:
        """Whether there is an event to take, or the end to see."""
        return self._is_over or not self._events.empty()

    def take(self) -> SubscribedPage | None:
        """Return the next event; None if there is none now."""
        try:
            return self._events.get_nowait()
        except queue.Empty:
            return None

    def close(self) -> None:
        """Receive no more. The thread ends with the next event, which comes within 5 seconds."""
        self._is_closed = True

    def _receive(self) -> None:
        try:
            with closing(self.api.subscribe(self.shard_id, self.cut)) as events:
                for page in events:
                    if not self._put(page):
                        return
                    self.arrived()
        except Exception as error:  # noqa: BLE001 - it surfaces where the shard is read
            self.error = error
        finally:
            self._is_over = True
            self.arrived()

    def _put(self, page: SubscribedPage) -> bool:
        while not self._is_closed:
            try:
                self._events.put(page, timeout=_LOOK_S)
            except queue.Full:
                continue
            return True
        return False
