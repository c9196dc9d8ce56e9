"""Reads one range of one shard by SubscribeToShard: event after event, through as many subscriptions as it takes."""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator
from contextlib import closing

from attrs import define, field

from kinesis_core.aws import RESUBSCRIBE_S, SubscribeApi, log_retry
from kinesis_core.clock import Clock
from kinesis_core.errors import ServiceError, ThrottledError, UnavailableError
from kinesis_core.model import At, Cut, Page, ShardRange, SubscribedPage, is_before
from kinesis_core.reading.progress import RangeProgress
from kinesis_core.reading.record_check import RecordCheck
from kinesis_core.reading.settings import FanOutSettings
from kinesis_core.shards import SubscriptionPolicy
from kinesis_credentials import Advice

MAX_IDLE_EVENTS = 6
"""Events in a row without records or progress after which a check shows whether records have expired. One comes every 5 s."""
_PAUSE_S = 1.0
"""The shortest pause before the next attempt: AWS allows one a second per consumer and shard. The longest one is twice as long."""


@define
class SubscriptionReader:
    """
    Reads one range through one subscription after the other. Each one continues where the last one ended.

    Attributes:
        progress: How far the range has been read; after an error polling continues from there.
    """

    api: SubscribeApi
    range: ShardRange
    settings: FanOutSettings
    fail_on_data_loss: bool
    clock: Clock
    rng: random.Random
    check: RecordCheck
    """It polls: a check by subscription would end the subscription that is read."""
    with_data: bool = True
    progress: RangeProgress = field(init=False)
    _policy: SubscriptionPolicy = field(init=False)
    _continuation: int | None = field(default=None, init=False)
    _free_s: float = field(default=0.0, init=False)
    """The earliest time of the next subscription."""
    _served_s: float = field(init=False)
    """The time of the last event, or when the caller had processed it."""
    _attempts: int = field(default=0, init=False)
    """Subscriptions since the last event."""

    def __attrs_post_init__(self) -> None:
        self.progress = RangeProgress(self.range, self.fail_on_data_loss, MAX_IDLE_EVENTS)
        self._served_s, given = self.clock.now_s(), self.settings
        waits = not given.fallback_to_polling
        self._policy = SubscriptionPolicy(_PAUSE_S, _PAUSE_S, waits, given.retries, given.timeout_s)

    def pages(self) -> Iterator[Page]:
        """
        Yield the events of the range that have records, in order and trimmed to the range.

        Raises:
            DataLossError: Records of the range expired (unless `fail_on_data_loss` is off).
            ServiceError: No subscription brought an event in time, or events bring nothing for too long. `progress` holds how far
                the range was read.
        """
        while not self.progress.is_done:
            try:
                with closing(self._subscribe()) as events:
                    yield from self._take(events)
            except ServiceError as error:
                self.progress.counts.throttles += isinstance(error, ThrottledError)
                now_s = self.clock.now_s()
                if not self._policy.passes(error, self._attempts, now_s - self._served_s):
                    raise
                pause_s = self._policy.pause_after_s(self._attempts) * self.rng.uniform(1, 2)
                self._free_s = max(self._free_s, now_s + pause_s)
                self._log_retry(error)

    def _log_retry(self, error: ServiceError) -> None:
        wait_s = self._free_s - self.clock.now_s()
        facts = {"stream": self.range.stream, "shard": self.range.shard_id, "consumer": self.api.consumer}
        log_retry("SubscribeToShard", error.code, max(1, self._attempts), wait_s, **facts)

    def _subscribe(self) -> Generator[SubscribedPage, None, None]:
        self.clock.sleep(self._free_s - self.clock.now_s())
        self._attempts += 1
        self.progress.counts.calls += 1
        events = self.api.subscribe(self.range.shard_id, self._next_cut(), self.with_data)
        self._free_s = self.clock.now_s() + RESUBSCRIBE_S
        return events

    def _next_cut(self) -> Cut:
        """
        Return the cut to continue from: after the last record, or at a later continuation of an event without records.

        AWS does not document whether the record of a continuation was delivered. So it is requested once more, and dropped
        if it was delivered.
        """
        if self.progress.is_lost:
            return self.progress.next_cut
        reached, continuation = self.progress.reached, self._continuation
        if isinstance(reached, At) or continuation is None or continuation <= reached.number:
            return reached
        return At(continuation) if is_before(continuation, self.range.end) else reached

    def _take(self, events: Iterator[SubscribedPage]) -> Iterator[Page]:
        for page in events:
            self._served_s, self._attempts = self.clock.now_s(), 0
            self._continuation = page.continues_after
            was_lost = self.progress.is_lost
            self.progress.take(page)
            if not self.check.verify(self.progress):
                self._poll_rest()
            if page.records:
                yield page
                self._served_s = self.clock.now_s()  # the caller's time does not count as silence
            del page  # it would stay in memory while the next event is received
            if self.progress.is_done or (self.progress.is_lost and not was_lost):
                return
        if self._attempts:
            raise self._no_event_error()

    def _poll_rest(self) -> None:
        """Poll the rest where subscriptions make no progress; wait where they are all that is allowed, if nothing is lost."""
        if self.settings.fallback_to_polling and not self.progress.is_lost:
            raise self.check.stall.error(self.progress.reached, self.progress.gap.stalled_pages)

    def _no_event_error(self) -> UnavailableError:
        stream, shard, waited_s = self.range.stream, self.range.shard_id, self.clock.now_s() - self._served_s
        return UnavailableError(
            f"Shard {shard} of {stream}: no subscription brought an event (attempts made: {self._attempts}, in "
            f"{waited_s:.0f} s).",
            code="NoEvent",
            advice=Advice.POLL,
            stream=stream,
            shard=shard,
            consumer=self.api.consumer,
        )
