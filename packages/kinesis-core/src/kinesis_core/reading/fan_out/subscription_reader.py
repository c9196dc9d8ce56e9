"""Reads exactly one range of one shard by SubscribeToShard: event after event, whatever ends a subscription."""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator
from contextlib import closing

from attrs import define, field

from kinesis_core.aws import SubscribeApi, log_retry
from kinesis_core.clock import Clock
from kinesis_core.errors import ResourceInUseError, ServiceError, UnavailableError
from kinesis_core.model import At, Cut, Page, ShardRange, SubscribedPage, TrimHorizon, is_before
from kinesis_core.reading.progress import RangeProgress
from kinesis_core.reading.record_check import RecordCheck
from kinesis_core.reading.settings import FanOutSettings

PATIENCE = 6
"""Events in a row that bring a range no further before its missing end is called data loss; one comes every 5 s."""
SEAT_S = 5.0
"""For so long after a subscription nobody can have another one to the shard, ourselves included."""
_WAITS_S = (1.0, 2.0)
"""Before the next attempt: AWS allows one a second for each consumer and shard."""


@define
class SubscriptionReader:
    """
    Reads one range through one subscription after the other, each behind what the one before it brought.

    Attributes:
        progress: What is left of the range when no subscription can be had.
    """

    api: SubscribeApi
    range: ShardRange
    settings: FanOutSettings
    fail_on_data_loss: bool
    clock: Clock
    rng: random.Random
    check: RecordCheck
    """A look by subscription would take the place of the one that is read."""
    with_data: bool = True
    progress: RangeProgress = field(init=False)
    _continuation: int | None = field(default=None, init=False)
    _free_s: float = field(default=0.0, init=False)
    """When the next subscription may be made."""
    _served_s: float = field(init=False)
    """When the last event came, or the consumer was done with it."""
    _in_vain: int = field(default=0, init=False)
    """Subscriptions since then."""

    def __attrs_post_init__(self) -> None:
        self.progress = RangeProgress(self.range, self.fail_on_data_loss, PATIENCE)
        self._served_s = self.clock.now_s()

    def pages(self) -> Iterator[Page]:
        """
        Yield the events of the range that have records, in order and trimmed to it.

        Raises:
            DataLossError: A record that the range names is gone (unless `fail_on_data_loss` is off).
            ServiceError: The subscription cannot be had, or not in time. `progress` says what is left.
        """
        while not self.progress.is_done:
            try:
                with closing(self._subscribe()) as events:
                    yield from self._take(events)
            except ServiceError as error:
                if not self._may_try_again(error):
                    raise
                self._free_s = max(self._free_s, self.clock.now_s() + self.rng.uniform(*_WAITS_S))
                self._log_retry(error)

    def _log_retry(self, error: ServiceError) -> None:
        wait_s = self._free_s - self.clock.now_s()
        place = {"stream": self.range.stream, "shard": self.range.shard_id, "consumer": self.api.consumer}
        log_retry("SubscribeToShard", error.code, max(1, self._in_vain), wait_s, **place)

    def _subscribe(self) -> Generator[SubscribedPage, None, None]:
        self.clock.sleep(self._free_s - self.clock.now_s())
        self._in_vain += 1
        events = self.api.subscribe(self.range.shard_id, self._place(), self.with_data)
        self._free_s = self.clock.now_s() + SEAT_S
        return events

    def _place(self) -> Cut:
        """
        Return where to go on: behind the last record, or farther on where events without records got to.

        Whether a continuation was delivered is not documented, so it is asked for once more, and dropped if it was.
        """
        if self.progress.is_lost:
            return TrimHorizon()
        reached, continuation = self.progress.reached, self._continuation
        if isinstance(reached, At) or continuation is None or continuation <= reached.number:
            return reached
        return At(continuation) if is_before(continuation, self.range.end) else reached

    def _take(self, events: Iterator[SubscribedPage]) -> Iterator[Page]:
        for page in events:
            self._served_s, self._in_vain = self.clock.now_s(), 0
            self._continuation = page.continues_after
            was_lost = self.progress.is_lost
            page.records = self.progress.take(page)
            self._prove()
            if page.records:
                yield page
                self._served_s = self.clock.now_s()  # what the consumer took is no silence of the service
            if self.progress.is_done or (self.progress.is_lost and not was_lost):
                return
        if self._in_vain:
            raise UnavailableError(
                f"A subscription ended without an event. [stream={self.range.stream} shard={self.range.shard_id} "
                f"consumer={self.api.consumer}]",
                code="NoEvent",
            )

    def _prove(self) -> None:
        """See that nothing left the stream before the event came."""
        number = self.progress.to_prove(self.check.api.now_ms())
        if number is not None:
            self.progress.prove(is_left=self.check.is_left(number))

    def _may_try_again(self, error: ServiceError) -> bool:
        waits = error.retryable or (
            isinstance(error, ResourceInUseError) and not self.settings.fallback_to_polling
        )
        is_late = self.clock.now_s() - self._served_s > self.settings.timeout_s
        return waits and not is_late and self._in_vain <= self.settings.retries
