"""Pages by enhanced fan-out, and by polling where a subscription cannot be had."""

from __future__ import annotations

import queue
from collections.abc import Callable
from contextlib import closing

from attrs import define, field

from kinesis_core import ServiceError
from kinesis_core.aws import RESUBSCRIBE_S, SubscribeApi
from kinesis_core.clock import Clock
from kinesis_core.model import After, Cut, Page, ShardOffset, SubscribedPage, TrimHorizon, drop_before
from kinesis_core.planning import ShardPage, ShardPages
from kinesis_core.shards import SubscriptionPolicy
from kinesis_core.threads import start_thread
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_consumer")

POLICY = SubscriptionPolicy(RESUBSCRIBE_S, longest_pause_s=60.0)
"""The shard is polled meanwhile, so it can wait for another reader's subscription to end."""
QUIET_S = 5.0
"""An event without records comes about as often. The time until the next check whether the subscription has ended."""
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


def _nothing() -> None:
    pass


@define
class _Shard:
    subscription: ShardSubscription | None = None
    started_s: float = float("-inf")
    """When the last subscription began."""
    retry_s: float = float("-inf")
    """The earliest time of the next one."""
    failures: int = 0
    """Subscriptions in a row that failed soon."""
    code: str = ""
    """Why the last one of them failed."""
    lag_ms: int | None = None
    arrived: Callable[[], None] = _nothing


@define
class SubscribedPages:
    """
    The pages of one stream, by subscriptions of *api*'s consumer. Threads may share it, as long as each shard is read by one at a time.

    Each subscription begins where a polled page ended: that page shows whether records were lost before. While a subscription is
    not to be had, the shard is polled. An error that does not pass, such as a consumer that was removed, ends reading.
    """

    polled: ShardPages
    api: SubscribeApi
    clock: Clock
    _shards: dict[str, _Shard] = field(factory=dict, init=False)

    def next(self, shard_id: str, start: ShardOffset, max_records: int) -> ShardPage:
        shard = self._shard(shard_id)
        refusal = self._settle(shard_id, shard)
        if shard.subscription is not None:
            event = shard.subscription.take()
            return (
                ShardPage(Page([], 0), start, start, is_tip=False, is_last=False)
                if event is None
                else self._page(shard, start, event)
            )
        page = self.polled.next(shard_id, start, max_records)
        if refusal is not None and not page.is_last:  # it is not the shard that is gone
            raise refusal
        shard.lag_ms = self.polled.lag_ms(shard_id)
        if not page.is_last:
            self._subscribe(shard_id, shard, page.end.cut)
        return page

    def due_s(self, shard_id: str) -> float:
        subscription = self._shard(shard_id).subscription
        if subscription is None:
            return self.polled.due_s(shard_id)
        return 0.0 if subscription.has_event else QUIET_S  # sooner when an event arrives

    def lag_ms(self, shard_id: str) -> int | None:
        return self._shard(shard_id).lag_ms

    def watch(self, shard_id: str, arrived: Callable[[], None]) -> None:
        self._shards[shard_id] = _Shard(arrived=arrived)

    def forget(self, shard_id: str, arrived: Callable[[], None]) -> None:
        shard = self._shards.get(shard_id)
        if shard is not None and shard.arrived == arrived:
            del self._shards[shard_id]
            if shard.subscription is not None:
                shard.subscription.close()

    def _shard(self, shard_id: str) -> _Shard:
        return self._shards.setdefault(shard_id, _Shard())

    def _subscribe(self, shard_id: str, shard: _Shard, cut: Cut) -> None:
        """Subscribe from *cut* on, if that is possible and it is time to."""
        now_s = self.clock.now_s()
        if not isinstance(cut, (After, TrimHorizon)) or now_s < shard.retry_s:
            return
        shard.subscription = ShardSubscription(self.api, shard_id, cut, shard.arrived)
        shard.started_s, shard.retry_s = now_s, now_s + RESUBSCRIBE_S
        shard.subscription.start()
        if self._shards.get(shard_id) is not shard:  # it was forgotten in the meantime
            shard.subscription.close()

    def _settle(self, shard_id: str, shard: _Shard) -> ServiceError | None:
        """
        Drop a subscription that has ended. Returns the error of a subscription that AWS refuses permanently.

        Raises:
            Exception: Our own code failed.
        """
        subscription = shard.subscription
        if subscription is None or not subscription.is_over:
            return None
        shard.subscription = None
        error, now_s = subscription.error, self.clock.now_s()
        if error is None or now_s - shard.started_s > POLICY.longest_pause_s:
            shard.failures, shard.code = 0, ""
        if error is None:
            return None
        if not isinstance(error, ServiceError):
            raise error
        if not POLICY.passes(error):
            return error
        shard.failures += 1
        shard.retry_s = now_s + POLICY.pause_after_s(shard.failures)
        if error.code != shard.code:
            shard.code = error.code
            facts = {"consumer": self.api.consumer, "code": error.code, "reason": error}
            log.warning("subscription.failed", shard=shard_id, **facts)
        return None

    def _page(self, shard: _Shard, start: ShardOffset, event: SubscribedPage) -> ShardPage:
        drop_before(event, start.cut)
        shard.lag_ms = event.millis_behind
        is_tip, is_last = event.millis_behind == 0, event.is_shard_end
        if not event.records:
            # It may have waited while records came, so it does not show until when nothing had come. The next polled page does.
            return ShardPage(Page([], event.millis_behind), start, start, is_tip or is_last, is_last)
        first, last = event.records[0], event.records[-1]
        end = ShardOffset(After(last.number), last.arrived_ms, first.number)
        return ShardPage(Page(event.records, event.millis_behind), start, end, is_tip or is_last, is_last)
