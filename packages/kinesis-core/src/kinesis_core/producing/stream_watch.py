"""Detects that a producer's stream changed: it was recreated, or it distributes its records in another way."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence

from attrs import define, field

from kinesis_core.aws import ReadRateLimiter
from kinesis_core.clock import Clock
from kinesis_core.errors import InvalidRequestError, ServiceError, StreamNotFoundError
from kinesis_core.model import PutEntry, PutResult
from kinesis_core.producing.reshards import Reshards
from kinesis_core.producing.responses import ResponseHandler
from kinesis_core.producing.rows import NO_KEY
from kinesis_core.producing.shard_map import ShardMap, hash_of
from kinesis_core.producing.shard_queue import ShardBatch

_SILENCE_S = 5.0
"""After so long without a response, the stream may have been deleted and recreated. AWS takes longer for that."""
_CHECK_EVERY_S, _CHECKS_AT_ONCE = 0.2, 10
"""All producers of a stream together may call ListShards 1,000 times a second."""
_SHARD_IDS_EVERY_S = 10.0
"""How often a response must name the shards of plain records. A response for aggregates always does."""
_STRATEGY_EVERY_S = 30.0
"""Minimum time between two checks of the strategy of a stream that seems not to choose the shards any more."""
_STRATEGY_OF_ONE_SHARD_EVERY_S = 600.0
"""The same for a stream with one open shard: every record belongs to it, so the streak proves nothing."""
_STREAK = 20
"""Of two shards chosen at random, so many records in a row go to the shards of their keys once in a million times."""


@define(eq=False)
class StreamWatch:
    """
    Checks the shards before aggregates are sent after a flush or a silence, and when the stream refuses a request.

    ListShards shows a recreated stream if its shards have other hash keys, and only then it matters. Comparing the
    creation time would cost a DescribeStreamSummary: all producers of an account share 20 of them a second.
    """

    reshards: Reshards
    clock: Clock
    lock: threading.RLock
    _last_response_s: float = field(init=False)
    """Time of the last response of the stream. Responses after a silence count only from the next check on."""
    _was_flushed: bool = field(default=False, init=False)
    """Whether everything was flushed since the last check."""
    _check_limiter: ReadRateLimiter = field(
        factory=lambda: ReadRateLimiter(_CHECK_EVERY_S, _CHECKS_AT_ONCE), init=False
    )
    _check_lock: threading.Lock = field(factory=threading.Lock, init=False)
    _next_shard_ids_s: float = field(default=-math.inf, init=False)
    """When the next response must name the shards of plain records."""
    _strategy_limiter: ReadRateLimiter = field(factory=lambda: ReadRateLimiter(_STRATEGY_EVERY_S), init=False)
    _one_shard_limiter: ReadRateLimiter = field(
        factory=lambda: ReadRateLimiter(_STRATEGY_OF_ONE_SHARD_EVERY_S), init=False
    )
    _streak: int = field(default=0, init=False)
    """Records in a row that went to the shards of their keys, on a stream that distributes its records itself."""

    def __attrs_post_init__(self) -> None:
        self._last_response_s = self.clock.now_s()

    @property
    def _responses(self) -> ResponseHandler:
        return self.reshards.responses

    def on_flushed(self) -> None:
        """Remember that everything is written, because the next record may come much later. The caller holds the lock."""
        self._was_flushed = True

    def is_current(self, request: Sequence[ShardBatch]) -> bool:
        """
        Return whether *request* may be sent: it matches the shards, which are checked first if a check is due.

        Otherwise its records are rerouted. If the shards cannot be listed, the producer fails.
        """
        if any(batch.is_aggregate for batch in request) and self._is_check_due():
            try:
                with self._check_lock:  # other threads wait for the result of this check
                    self._check()
            except ServiceError as error:
                with self.lock:
                    self._responses.fail_unlisted(request, error, are_sent=False)
        with self.lock:
            is_gone = any(batch.queue.is_gone for batch in request)
            if is_gone or self._responses.accumulator.failure is not None:
                self._responses.on_not_sent(request)
                return False
        return True

    def _is_check_due(self) -> bool:
        with self.lock:
            is_doubtful = self._was_flushed or self._is_silent() or self.reshards.is_outdated
            return is_doubtful and not self._check_limiter.wait_s(self.clock.now_s())

    def _is_silent(self) -> bool:
        return self.clock.now_s() - self._last_response_s > _SILENCE_S

    def _check(self) -> None:
        """
        Make the shard map match the open shards. Failed calls are repeated until the patience is over.

        After a recent response one call is enough, unless it shows other open shards.
        """
        if not self._is_check_due():
            return
        if self._is_silent() or not self._check_once():
            self._list_open(is_patient=True)
        with self.lock:
            self._was_flushed = False
            self._check_limiter.spend(self.clock.now_s())

    def _check_once(self) -> bool:
        """Return whether one call was enough."""
        try:
            self._list_open(is_patient=False)
        except ServiceError as error:
            if not error.retryable:
                raise
            return not (self._is_silent() or self.reshards.is_outdated)
        return True

    def _list_open(self, *, is_patient: bool) -> None:
        self.reshards.check_open(is_patient=is_patient)
        with self.lock:
            self._last_response_s = self.clock.now_s()

    def needs_shards(self, request: Sequence[ShardBatch]) -> bool:
        """Return whether the response to *request* must name the shards that its records went to."""
        with self.lock:
            now_s = self.clock.now_s()
            is_time = now_s >= self._next_shard_ids_s
            if is_time:
                self._next_shard_ids_s = now_s + _SHARD_IDS_EVERY_S
        is_auto = self._responses.accumulator.router.is_auto
        return is_time or is_auto or any(batch.is_aggregate for batch in request)

    def explains(self, request: Sequence[ShardBatch], error: ServiceError) -> bool:
        """Return whether a change of the stream explains *error*, so that *request* may be sent again."""
        try:
            if isinstance(error, StreamNotFoundError):
                self.reshards.list_again()
                return True
            if isinstance(error, InvalidRequestError) and _lacks_keys(request):
                self.reshards.recheck_strategy()
                return not self._responses.accumulator.router.is_auto
        except ServiceError:
            return False  # the first error is the clearer one
        return False

    def on_response(self, entries: Sequence[PutEntry], results: Sequence[PutResult]) -> None:
        """Handle a response. If the stream seems not to choose the shards any more, check its strategy."""
        router = self._responses.accumulator.router
        with self.lock:
            now_s = self.clock.now_s()
            if not self._is_silent():  # after a silence, plain records may have gone to a recreated stream
                self._last_response_s = now_s
            if not router.is_auto:
                return
            self._streak = _extend_streak(self._streak, router.shards, entries, results)
            limiter = (
                self._strategy_limiter if len(router.shards.open_shards) > 1 else self._one_shard_limiter
            )
            if self._streak < _STREAK or limiter.wait_s(now_s):
                return
            self._streak = 0
            limiter.spend(now_s)
        self.reshards.check_strategy_once()


def _lacks_keys(request: Sequence[ShardBatch]) -> bool:
    return any(entry.partition_key == NO_KEY for batch in request for entry in batch.entries)


def _extend_streak(
    streak: int, shards: ShardMap, entries: Sequence[PutEntry], results: Sequence[PutResult]
) -> int:
    """Return how many records in a row went to the shards of their keys, after *streak* earlier ones."""
    for entry, result in zip(entries, results, strict=False):  # a response may be without results
        if streak >= _STREAK:
            break
        if entry.partition_key == NO_KEY or result.shard_id is None:
            continue
        is_owner = shards.shard_of(hash_of(entry.partition_key, entry.explicit_hash_key)) == result.shard_id
        streak = streak + 1 if is_owner else 0
        if not is_owner:
            break
    return streak
