"""ShardCalls: calls on one shard, at a rate that leaves its quota to others."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from attrs import define, field

from kinesis_core.aws import ReadRateLimiter, StreamApi, log_retry
from kinesis_core.clock import Clock
from kinesis_core.errors import IteratorExpiredError, ServiceError, ThrottledError
from kinesis_core.model import Cut, Page
from kinesis_core.throttled import Throttled

CLOCK_MARGIN_MS = 2000
"""How exactly the service's clock is known before its first responses have corrected it."""


@define
class ShardCalls:
    """Waits before a call, and decides whether a throttle is waited out or ends the plan."""

    api: StreamApi
    shard_id: str
    clock: Clock
    limiter: ReadRateLimiter
    rng: random.Random
    stream: str = ""
    """The stream's name in logs."""
    on_expired: Callable[[], None] = lambda: None
    """Called before an iterator is renewed: the old one may be of a stream that was deleted since."""
    crosses_gaps: bool = False
    """Whether a plan follows a gap to its end, because no later plan is known to continue where it stops."""
    _is_patient: bool = field(default=False, init=False)
    _is_in_gap: bool = field(default=False, init=False)
    """Whether the last page was empty, and not at the tip."""
    throttled: Throttled = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.throttled = Throttled(self.stream, self.shard_id)

    @contextmanager
    def patiently(self) -> Iterator[None]:
        """Wait out throttles meanwhile: a task of many calls would never end if each throttle restarted it."""
        was_patient, self._is_patient = self._is_patient, True
        try:
            yield
        finally:
            self._is_patient = was_patient

    @property
    def is_thorough(self) -> bool:
        """Whether this plan has to do what takes many calls."""
        return self._is_patient or self.crosses_gaps

    def now_ms(self) -> int:
        return self.api.now_ms()

    def reaches(self, epoch_ms: int) -> bool:
        """
        Wait until the service's clock has reached *epoch_ms*, if that is soon. Return whether it has.

        The clock that is known is a lower bound. So a time that seems to be soon may have passed, and records may be after it.
        """
        ahead_ms = epoch_ms - self.now_ms()
        if ahead_ms > CLOCK_MARGIN_MS:
            return False
        self.clock.sleep(max(0, ahead_ms) / 1000)
        return True

    def new_iterator(self, cut: Cut) -> str:
        """
        Return a new iterator. A call of GetRecords follows each, so the rate of those bounds the rate of these.

        Raises:
            ThrottledError: The quota is used up. The next call waits longer.
        """
        while True:
            try:
                return self.api.get_iterator(self.shard_id, cut)
            except ThrottledError as error:
                self._back_off("GetShardIterator", error)
            self.clock.sleep(self.limiter.wait_s(self.clock.now_s()))

    def get_page(self, iterator: str, limit: int) -> Page:
        """
        Call GetRecords when the rate allows it.

        Raises:
            ThrottledError: The quota is used up. The next call waits longer.
            IteratorExpiredError: The caller continues with a new iterator.
        """
        clock, limiter = self.clock, self.limiter
        while True:
            clock.sleep(limiter.wait_s(clock.now_s()))
            limiter.spend(clock.now_s())
            try:
                page = self.api.get_records(iterator, limit, shard_id=self.shard_id)
            except ThrottledError as error:
                self._back_off("GetRecords", error)
                continue
            except IteratorExpiredError as error:
                self.on_expired()
                # Plans so far apart would each start the same gap from its beginning.
                self.crosses_gaps = True
                self._log_retry("GetRecords", error, 1)
                raise
            limiter.succeeded()
            self.throttled.clear()
            self._is_in_gap = page.is_in_gap
            return page

    def _back_off(self, call: str, error: ThrottledError) -> None:
        """Make the next call wait longer; raise *error* unless throttles are waited out."""
        self.limiter.throttled(self.clock.now_s(), self.rng)
        self.throttled.refused(self.clock.now_s())
        self._log_retry(call, error, self.limiter.throttles)
        if not (self._is_patient or (self.crosses_gaps and self._is_in_gap)):
            raise error

    def _log_retry(self, call: str, error: ServiceError, attempt: int) -> None:
        wait_s = self.limiter.wait_s(self.clock.now_s())
        log_retry(call, error.code, attempt, wait_s, stream=self.stream, shard=self.shard_id)
