"""Notices that a stream is no longer what a producer takes it for: made anew, or distributing its records in another way."""

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
from kinesis_core.producing.shard_batch import ShardBatch
from kinesis_core.producing.shard_map import ShardMap, hash_of

_SILENCE_S = 5.0
"""So long nothing was heard of the stream, and it may have been deleted and made anew: AWS takes longer for both."""
_LOOK_EVERY_S, _LOOKS_AT_ONCE = 0.2, 10
"""ListShards may be called 1,000 times a second on a stream, by all its producers."""
_WHERE_EVERY_S = 10.0
"""So often plain records are asked which shards they came to; aggregates are always asked."""
_DOUBT_EVERY_S = 30.0
"""So often it is asked at most whether the stream still chooses the shards, when it seems not to."""
_BLIND_DOUBT_EVERY_S = 600.0
"""The same where a single shard is open, and every record is at home there anyway."""
_STREAK = 20
"""So many records in a row come to the shards of their keys by chance once in a million times, if there are two shards."""


@define(eq=False)
class StreamWatch:
    """
    Looks at the stream before aggregates go to it after a flush or a silence, and when it refuses a request.

    ListShards tells whether a stream was made anew, as far as that matters: its shards have other hash keys. The
    creation time would cost a DescribeStreamSummary, of which all producers of an account have 20 a second.
    """

    reshards: Reshards
    clock: Clock
    lock: threading.RLock
    _heard_s: float = field(init=False)
    """When the stream last answered, without a silence since the last look."""
    _is_taken_up: bool = field(default=False, init=False)
    """Whether everything was flushed since the last look."""
    _looks: ReadRateLimiter = field(
        factory=lambda: ReadRateLimiter(_LOOK_EVERY_S, _LOOKS_AT_ONCE), init=False
    )
    _looking: threading.Lock = field(factory=threading.Lock, init=False)
    _where_s: float = field(default=-math.inf, init=False)
    """When plain records are next asked where they came to."""
    _doubts: ReadRateLimiter = field(factory=lambda: ReadRateLimiter(_DOUBT_EVERY_S), init=False)
    _blind_doubts: ReadRateLimiter = field(factory=lambda: ReadRateLimiter(_BLIND_DOUBT_EVERY_S), init=False)
    _at_home: int = field(default=0, init=False)
    """Records in a row that came to the shards of their keys, on a stream that distributes them itself."""

    def __attrs_post_init__(self) -> None:
        self._heard_s = self.clock.now_s()

    @property
    def _responses(self) -> ResponseHandler:
        return self.reshards.responses

    def note_flush(self) -> None:
        """Note that everything is written: what comes next may come much later. The caller holds the lock."""
        self._is_taken_up = True

    def is_current(self, request: Sequence[ShardBatch]) -> bool:
        """
        Return whether *request* may be sent: it goes by the shards as they are, after a look at them if one is due.

        Otherwise its records are sorted anew, or, if the shards cannot be listed, given up.
        """
        if any(batch.is_aggregate for batch in request) and self._is_look_due():
            try:
                with self._looking:  # the others wait for what one finds
                    self._look(min(batch.state.deadline_s for batch in request))
            except ServiceError as error:
                with self.lock:
                    self._responses.give_up_misrouted([(batch, batch.shard_id) for batch in request], error)
        with self.lock:
            is_gone = any(batch.queue.is_gone for batch in request)
            if is_gone or self._responses.accumulator.failure is not None:
                self._responses.on_not_sent(request)
                return False
        return True

    def _is_look_due(self) -> bool:
        with self.lock:
            is_doubtful = self._is_taken_up or self._is_silent() or self.reshards.is_outdated
            return is_doubtful and not self._looks.wait_s(self.clock.now_s())

    def _is_silent(self) -> bool:
        return self.clock.now_s() - self._heard_s > _SILENCE_S

    def _look(self, deadline_s: float) -> None:
        """
        See that the open shards are those of the map; try until *deadline_s*.

        If the stream was heard a moment ago, one try is enough, unless that shows other open shards.
        """
        if not self._is_look_due():
            return
        if self._is_silent() or not self._look_once():
            self._list_open(deadline_s)
        with self.lock:
            self._is_taken_up = False
            self._looks.spend(self.clock.now_s())

    def _look_once(self) -> bool:
        """Return whether that was enough."""
        try:
            self._list_open(-math.inf)
        except ServiceError as error:
            if not error.retryable:
                raise
            return not (self._is_silent() or self.reshards.is_outdated)
        return True

    def _list_open(self, deadline_s: float) -> None:
        self.reshards.check_open(deadline_s)
        with self.lock:
            self._heard_s = self.clock.now_s()

    def needs_shards(self, request: Sequence[ShardBatch]) -> bool:
        """Return whether the answer to *request* is to say which shards its records went to."""
        with self.lock:
            now_s = self.clock.now_s()
            is_time = now_s >= self._where_s
            if is_time:
                self._where_s = now_s + _WHERE_EVERY_S
        is_auto = self._responses.accumulator.router.is_auto
        return is_time or is_auto or any(batch.is_aggregate for batch in request)

    def explains(self, request: Sequence[ShardBatch], error: ServiceError) -> bool:
        """Return whether *request* may be sent again after *error*, because of what was learned of the stream by now."""
        deadline_s = min(batch.state.deadline_s for batch in request)
        try:
            if isinstance(error, StreamNotFoundError):
                self.reshards.list_again(deadline_s)
                return True
            if isinstance(error, InvalidRequestError) and _lacks_keys(request):
                self.reshards.ask_again(deadline_s)
                return not self._responses.accumulator.router.is_auto
        except ServiceError:
            return False  # what the stream said first says more
        return False

    def note_response(self, entries: Sequence[PutEntry], results: Sequence[PutResult]) -> None:
        """Note what the stream answered. If it does not choose the shards after all, records share aggregates again."""
        router = self._responses.accumulator.router
        with self.lock:
            now_s = self.clock.now_s()
            if not self._is_silent():  # after a silence, plain records may have come to another stream
                self._heard_s = now_s
            if not router.is_auto:
                return
            self._at_home = _streak(self._at_home, router.shards, entries, results)
            doubts = self._doubts if len(router.shards.open_shards) > 1 else self._blind_doubts
            if self._at_home < _STREAK or doubts.wait_s(now_s):
                return
            self._at_home = 0
            doubts.spend(now_s)
        self.reshards.ask_once()


def _lacks_keys(request: Sequence[ShardBatch]) -> bool:
    return any(entry.partition_key == NO_KEY for batch in request for entry in batch.entries)


def _streak(streak: int, shards: ShardMap, entries: Sequence[PutEntry], results: Sequence[PutResult]) -> int:
    """Return how many records in a row came to the shards of their keys, with *streak* of them before these."""
    for entry, result in zip(entries, results, strict=False):  # an answer may be without results
        if streak >= _STREAK:
            break
        if entry.partition_key == NO_KEY or result.shard_id is None:
            continue
        is_at_home = shards.shard_of(hash_of(entry.partition_key, entry.explicit_hash_key)) == result.shard_id
        streak = streak + 1 if is_at_home else 0
        if not is_at_home:
            break
    return streak
