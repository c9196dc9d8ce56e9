"""Handles reshards of a producer's stream: lists the new shards, and finds out which shards its aggregates belong to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import count

from attrs import define, field

from kinesis_core.aws import PutApi, ReadRateLimiter, log_retry
from kinesis_core.clock import Clock
from kinesis_core.errors import (
    InvalidRequestError,
    ServiceError,
    StreamNotFoundError,
    ThrottledError,
    UnavailableError,
)
from kinesis_core.producing.responses import Misrouted, ResponseHandler
from kinesis_core.producing.shard_listing import listed_map, pause_s
from kinesis_core.producing.write_window import Patience
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")

_MAX_LISTINGS = 5
"""Listings without an explanation, when records went to a listed shard while their own shard is still open."""
_DESCRIBE_EVERY_S, _DESCRIBES_AT_ONCE = 15.0, 5
"""All producers of an account together may call DescribeStreamSummary 20 times a second."""
_NOT_DUE = "NotDue"
"""The error code for a call that this producer's own rate limit delays."""
_REFRESH_EVERY_S = 5.0
"""Minimum time between two searches for the reason why plain records went to other shards."""


@define(eq=False)
class Reshards:
    """Keeps the shard map of an accumulator, which it uses only under *lock*. Several threads may call it."""

    api: PutApi
    responses: ResponseHandler
    clock: Clock
    lock: threading.RLock
    is_stopped: Callable[[], bool]
    is_outdated: bool = field(default=False, init=False)
    """Whether a listing had other open shards than the map, and the map could not be replaced yet."""
    _listing_lock: threading.Lock = field(factory=threading.Lock, init=False)
    _describe_limiter: ReadRateLimiter = field(
        factory=lambda: ReadRateLimiter(_DESCRIBE_EVERY_S, _DESCRIBES_AT_ONCE), init=False
    )
    _refresh_limiter: ReadRateLimiter = field(factory=lambda: ReadRateLimiter(_REFRESH_EVERY_S), init=False)

    def settle_misrouted(self, misrouted: Sequence[Misrouted]) -> None:
        """Find out why aggregates went to other shards than their own, then decide about them."""
        try:
            with self._listing_lock:  # other threads wait, and then use the map that this one gets
                self._await_explanation(misrouted)
        except ServiceError as error:
            with self.lock:
                self.responses.fail_unlisted([batch for batch, _ in misrouted], error, are_sent=True)
            return
        with self.lock:
            self.responses.settle_misrouted(misrouted)

    def refresh(self, misrouted: Sequence[Misrouted]) -> None:
        """Find out, every few seconds at most, why plain records went to other shards. The records are written anyway."""
        with self.lock:
            now_s = self.clock.now_s()
            if self._refresh_limiter.wait_s(now_s):
                return
            self._refresh_limiter.spend(now_s)
        with self._listing_lock:
            self._find_explanation(misrouted, 1, is_urgent=False)

    def list_again(self) -> None:
        """
        List all shards. A call that fails with a retryable error is repeated until the patience is over.

        Raises:
            ServiceError: The shards cannot be listed.
        """
        with self._listing_lock:
            self._repeat(self._list, "ListShards", self._patience())

    def check_open(self, *, is_patient: bool) -> None:
        """List the open shards, and all shards if the open ones differ from the map. Raises as `list_again` does."""
        with self._listing_lock:
            self._repeat(self._check_open, "ListShards", self._patience() if is_patient else Patience(0))

    def recheck_strategy(self) -> None:
        """Check whether Kinesis still chooses the shards, if the producer assumes it. Raises as `list_again` does."""
        with self._listing_lock:
            if self.responses.accumulator.router.is_auto:
                self._repeat(self._check_strategy, "DescribeStreamSummary", self._patience())

    def check_strategy_once(self) -> None:
        """Check whether Kinesis still chooses the shards. An error is logged: only speed depends on the result."""
        with self._listing_lock:
            self._try(self._check_strategy, "DescribeStreamSummary", 1, is_urgent=False)

    def _await_explanation(self, misrouted: Sequence[Misrouted]) -> None:
        """
        Repeat until *misrouted* is explained by a reshard, or by a stream that distributes its records itself.

        Raises:
            ServiceError: The shards cannot be listed before the patience is over.
        """
        patience = self._patience()
        error: ServiceError | None = None
        for attempt in count():
            with self.lock:
                unknown = self.responses.unknown_shards(misrouted)
                is_explained = self.responses.is_explained(misrouted)
            if is_explained or self.is_stopped() or (attempt >= _MAX_LISTINGS and not unknown):
                return
            if patience.is_over:
                if unknown:
                    raise error or _not_listed(self.responses.accumulator.stream, unknown)
                return
            self.clock.sleep(pause_s(attempt, self.responses.accumulator.rng))
            error = self._find_explanation(misrouted, attempt + 1)
            patience.failed(self.clock.now_s(), is_throttled=isinstance(error, ThrottledError))

    def _find_explanation(
        self, misrouted: Sequence[Misrouted], attempt: int, *, is_urgent: bool = True
    ) -> ServiceError | None:
        """
        List the shards. If they do not explain *misrouted*, check whether Kinesis chooses them.

        Returns the error if the shards cannot be listed now.
        """
        error = self._try(self._list, "ListShards", attempt, is_urgent=is_urgent)
        with self.lock:
            is_known = self.responses.is_explained(misrouted) or self.responses.unknown_shards(misrouted)
        if error is not None or is_known:
            return error
        self._try(self._check_strategy, "DescribeStreamSummary", attempt, is_urgent=is_urgent)
        return None

    def _patience(self) -> Patience:
        return Patience(self.responses.accumulator.settings.record_ttl_s)

    def _repeat(self, step: Callable[[], None], call: str, patience: Patience) -> None:
        """Do *step*, which makes a *call*, until it succeeds. Raises its last error once *patience* is over."""
        for attempt in count(1):
            error = self._try(step, call, attempt)
            if error is None or self.is_stopped():
                return
            patience.failed(self.clock.now_s(), is_throttled=isinstance(error, ThrottledError))
            if patience.is_over:
                raise error
            self.clock.sleep(pause_s(attempt, self.responses.accumulator.rng))

    def _try(
        self, step: Callable[[], None], call: str, attempt: int, *, is_urgent: bool = True
    ) -> ServiceError | None:
        """Do *step* and return its error, if any. If the step *is_urgent*, an error that is not retryable is raised."""
        try:
            step()
        except ServiceError as error:
            if is_urgent and not error.retryable:
                raise
            if error.code != _NOT_DUE:
                log_retry(call, error.code, attempt, 0.0, stream=self.responses.accumulator.stream)
            return error
        return None

    def _list(self) -> None:
        accumulator = self.responses.accumulator
        shards = listed_map(self.api, accumulator.stream)
        with self.lock:
            if shards == accumulator.router.shards:
                return
            accumulator.use(shards)
        log.info("shards.discovered", stream=accumulator.stream, shards=len(shards.open_shards))

    def _check_open(self) -> None:
        accumulator = self.responses.accumulator
        try:
            opened = listed_map(self.api, accumulator.stream, only_open=True)
        except (StreamNotFoundError, InvalidRequestError):
            opened = None  # the listing of all shards has a clearer result
        is_same = opened is not None and opened.has_same_open(accumulator.router.shards)
        if is_same and not self.is_outdated:
            return
        self.is_outdated = True
        self._list()
        if opened is not None and not opened.has_same_open(accumulator.router.shards):
            raise UnavailableError(
                f"Two ListShards responses name different open shards. [stream={accumulator.stream}]",
                "ShardsDiffer",
            )
        self.is_outdated = False

    def _check_strategy(self) -> None:
        with self.lock:
            now_s = self.clock.now_s()
            wait_s = self._describe_limiter.wait_s(now_s)
            if wait_s:
                raise ThrottledError(f"The next DescribeStreamSummary is due in {wait_s:.1f} s.", _NOT_DUE)
            self._describe_limiter.spend(now_s)
        summary = self.api.describe(with_retries=False)
        with self.lock:
            self.responses.accumulator.distribute(is_auto=summary.is_auto_distributed)


def _not_listed(stream: str, shard_ids: Sequence[str]) -> UnavailableError:
    return UnavailableError(
        f"Records went to {', '.join(shard_ids)}, which ListShards does not name. Check that the stream is ACTIVE, then "
        f"start again. [stream={stream}]",
        "ShardNotListed",
    )
