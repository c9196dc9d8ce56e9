"""
Decides which call a producer makes next: a request, or one that finds out how the stream changed.

It is a state machine: `take` returns a call, `on_result` is told what the call returned, and the lock, the threads and the
calls themselves are the caller's. Any number of requests may be out at once, and their results may come in any order.

The open questions are written down as steps, one after the other. Steps yield a call and get its result, like
`yield ListShards()`, so everything else may happen between two of them. What waits for them are records, never threads.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable, Generator, Sequence
from functools import partial
from itertools import count
from typing import Any

from attrs import define, field, frozen

from kinesis_core.aws import PutApi, ReadRateLimiter, log_retry
from kinesis_core.clock import Clock
from kinesis_core.errors import (
    InvalidRequestError,
    ServiceError,
    StreamNotFoundError,
    ThrottledError,
    UnavailableError,
)
from kinesis_core.model import PutResponse, PutResult, StreamSummary, join_entries
from kinesis_core.producing.accumulator import RecordAccumulator
from kinesis_core.producing.responses import Misrouted, ResponseHandler
from kinesis_core.producing.rows import NO_KEY
from kinesis_core.producing.shard_map import ShardMap, hash_of
from kinesis_core.producing.shard_queue import ShardBatch
from kinesis_core.producing.write_window import Patience
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")

_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 2.0
"""A listing may be older than a reshard, so it is repeated: the n-th time after at most n pauses."""
_MAX_LISTINGS = 5
"""Listings without an explanation, when records went to a listed shard while their own shard is still open."""
_DESCRIBE_EVERY_S, _DESCRIBES_AT_ONCE = 15.0, 5
"""All producers of an account together may call DescribeStreamSummary 20 times a second."""
_REFRESH_EVERY_S = 5.0
"""Minimum time between two searches for the reason why plain records went to other shards."""
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


@frozen
class Put:
    """PutRecords, for the batches of a request."""

    batches: Sequence[ShardBatch]
    with_results: bool
    """Whether the response must name the shards that the records went to."""


@frozen
class ListShards:
    """ListShards, once. With *only_open*, closed shards may be missing in the map."""

    only_open: bool = False


@frozen
class Describe:
    """DescribeStreamSummary, once."""


StreamCall = Put | ListShards | Describe
CallResult = PutResponse | ShardMap | StreamSummary | ServiceError
CallSteps = Generator[ListShards | Describe, Any, Any]
"""Calls one after the other. Each is sent its result, or raises its error."""


def make(api: PutApi, stream: str, call: StreamCall) -> CallResult:
    """Make *call*, and return its result or its error."""
    try:
        match call:
            case Put(batches, with_results):
                return api.put_records(join_entries([batch.entries for batch in batches]), with_results)
            case ListShards(only_open):
                return ShardMap.of(api.list_shards(with_retries=False, only_open=only_open), stream)
            case Describe():
                return api.describe(with_retries=False)
    except ServiceError as error:
        return error


@define(eq=False)
class Dispatcher:
    """
    The calls of one producer. The caller makes sure that one thread at a time uses it.

    Aggregates must not go to a shard that does not own their keys. So the open shards are listed before the first aggregates
    after a flush or a pause. ListShards shows a recreated stream if its shards have other hash keys, and only then it matters.
    Comparing the creation time would cost a DescribeStreamSummary: all producers of an account share 20 of them a second.
    """

    accumulator: RecordAccumulator
    clock: Clock
    responses: ResponseHandler = field(init=False)
    was_flushed: bool = field(default=False, init=False)
    """Whether everything was written since the last check, so that the next record may come much later."""
    is_outdated: bool = field(default=False, init=False)
    """Whether a listing had other open shards than the map, and the map could not be replaced yet."""
    _is_checking: bool = field(default=False, init=False)
    _held: Sequence[ShardBatch] = field(default=(), init=False)
    """A request that waits for a check of the shards. No other is taken in this time."""
    _findings: deque[CallSteps] = field(factory=deque, init=False)
    """The open questions. Only the steps of the first are under way."""
    _next: ListShards | Describe | None = field(default=None, init=False)
    """Their next call, unless it is out."""
    _due_s: float = field(default=-math.inf, init=False)
    """When that call is due."""
    _last_response_s: float = field(init=False)
    """Time of the last response of the stream. Responses after a silence count only from the next check on."""
    _next_shard_ids_s: float = field(default=-math.inf, init=False)
    """When the next response must name the shards of plain records."""
    _streak: int = field(default=0, init=False)
    """Records in a row that went to the shards of their keys, on a stream that distributes its records itself."""
    _checks: ReadRateLimiter = field(
        factory=partial(ReadRateLimiter, _CHECK_EVERY_S, _CHECKS_AT_ONCE), init=False
    )
    _describes: ReadRateLimiter = field(
        factory=partial(ReadRateLimiter, _DESCRIBE_EVERY_S, _DESCRIBES_AT_ONCE), init=False
    )
    _refreshes: ReadRateLimiter = field(factory=partial(ReadRateLimiter, _REFRESH_EVERY_S), init=False)
    _strategies: ReadRateLimiter = field(factory=partial(ReadRateLimiter, _STRATEGY_EVERY_S), init=False)
    _one_shard: ReadRateLimiter = field(
        factory=partial(ReadRateLimiter, _STRATEGY_OF_ONE_SHARD_EVERY_S), init=False
    )

    def __attrs_post_init__(self) -> None:
        self.responses = ResponseHandler(self.accumulator)
        self._last_response_s = self.clock.now_s()

    # Calls out, results in

    def take(self, now_s: float) -> StreamCall | None:
        """Return the next call, or None if there is none yet."""
        return self._take_finding(now_s) or self._take_request(now_s)

    def wait_s(self, now_s: float) -> float | None:
        """Return the seconds after which `take` must be called again if nothing else happens, or None for never."""
        waits = [None if self._is_checking else self.accumulator.wait_s(now_s)]
        if self._next is not None:
            waits.append(max(0.0, self._due_s - now_s))
        return min((wait_s for wait_s in waits if wait_s is not None), default=None)

    def on_result(self, call: StreamCall, result: CallResult, now_s: float) -> None:
        """Handle the *result* of a call that `take` returned."""
        match call, result:
            case Put(request), ServiceError():
                self._on_refused(request, result, now_s)
            case Put(request), PutResponse():
                self._on_response(request, result, now_s)
            case _:
                self._advance(result)

    def find_out(self, steps: CallSteps) -> None:
        """Take *steps* once those of all earlier findings are taken."""
        self._findings.append(steps)
        if len(self._findings) == 1:
            self._advance(None)

    def _advance(self, result: CallResult | None) -> None:
        """Continue with the first findings. Their last call had this *result*."""
        while self._findings:
            steps = self._findings[0]
            try:
                self._next = steps.throw(result) if isinstance(result, ServiceError) else steps.send(result)
                return
            except StopIteration:
                self._findings.popleft()
                result, self._due_s = None, -math.inf

    def _take_finding(self, now_s: float) -> StreamCall | None:
        if self._next is None or now_s < self._due_s:
            return None
        call, self._next = self._next, None
        return call

    def _take_request(self, now_s: float) -> StreamCall | None:
        while not self._is_checking:
            request, self._held = self._held or self.accumulator.take(now_s), ()
            if not request:
                break
            if any(batch.is_aggregate for batch in request) and self._is_check_due(now_s):
                self._held, self._is_checking = request, True
                self.find_out(self._check())
                return self._take_finding(now_s)
            if self.accumulator.failure is None and not any(batch.queue.is_gone for batch in request):
                return Put(request, self._needs_shards(request, now_s))
            self.responses.on_not_sent(request)
        return None

    # Requests

    def _needs_shards(self, request: Sequence[ShardBatch], now_s: float) -> bool:
        """Return whether the response to *request* must name the shards that its records went to."""
        is_time = now_s >= self._next_shard_ids_s
        if is_time:
            self._next_shard_ids_s = now_s + _SHARD_IDS_EVERY_S
        return is_time or self.accumulator.router.is_auto or any(batch.is_aggregate for batch in request)

    def _on_refused(self, request: Sequence[ShardBatch], error: ServiceError, now_s: float) -> None:
        """Handle a request that failed as a whole. A change of the stream may be why, and then it is sent again."""
        if isinstance(error, StreamNotFoundError) or (
            isinstance(error, InvalidRequestError) and _lacks_keys(request)
        ):
            self.find_out(self._explain(request, error))
        else:
            self.responses.on_request_failed(request, error, now_s)

    def _on_response(self, request: Sequence[ShardBatch], response: PutResponse, now_s: float) -> None:
        misrouted = self.responses.on_response(request, response, now_s)
        if not self._is_silent(now_s):  # after a silence, plain records may have gone to a recreated stream
            self._last_response_s = now_s
        if self.accumulator.router.is_auto:
            self._count_streak(request, response.results, now_s)
        aggregates = [misroute for misroute in misrouted if misroute[0].is_aggregate]
        if aggregates:
            self.find_out(self._settle(aggregates))
        elif misrouted and not self._refreshes.wait_s(now_s):
            self._refreshes.spend(now_s)
            self.find_out(self._find_explanation(misrouted, 1, is_urgent=False))

    def _count_streak(
        self, request: Sequence[ShardBatch], results: Sequence[PutResult], now_s: float
    ) -> None:
        """Check the strategy if the stream seems not to choose the shards any more."""
        shards = self.accumulator.router.shards
        self._streak = _extend_streak(self._streak, shards, request, results)
        limiter = self._strategies if len(shards.open_shards) > 1 else self._one_shard
        if self._streak >= _STREAK and not limiter.wait_s(now_s):
            self._streak = 0
            limiter.spend(now_s)
            self.find_out(self._check_strategy_once(1))

    # The check before aggregates

    def _is_silent(self, now_s: float) -> bool:
        return now_s - self._last_response_s > _SILENCE_S

    def _is_check_due(self, now_s: float) -> bool:
        is_doubtful = self.was_flushed or self._is_silent(now_s) or self.is_outdated
        return is_doubtful and not self._checks.wait_s(now_s)

    def _check(self) -> CallSteps:
        """
        Make the shard map match the open shards. Failed calls are repeated until the patience is over.

        After a recent response one call is enough, unless it shows other open shards.
        """
        try:
            is_patient = self._is_silent(self.clock.now_s())
            if not is_patient and (yield from self._try(self._list_open(), "ListShards", 1)):
                is_patient = self._is_silent(self.clock.now_s()) or self.is_outdated
            if is_patient:
                yield from self._repeat(self._list_open, "ListShards")
            self.was_flushed = False
            self._checks.spend(self.clock.now_s())
        except ServiceError as error:
            self.responses.fail_unlisted(self._held, error, are_sent=False)
        finally:
            self._is_checking = False

    # Findings about requests

    def _settle(self, misrouted: Sequence[Misrouted]) -> CallSteps:
        """Find out why aggregates went to other shards than their own, then decide about them."""
        try:
            yield from self._await_explanation(misrouted)
            self.responses.settle_misrouted(misrouted)
        except ServiceError as error:
            self.responses.fail_unlisted([batch for batch, _ in misrouted], error, are_sent=True)

    def _await_explanation(self, misrouted: Sequence[Misrouted]) -> CallSteps:
        """
        Repeat until *misrouted* is explained by a reshard, or by a stream that distributes its records itself.

        Raises:
            ServiceError: The shards cannot be listed before the patience is over.
        """
        patience, error = self._patience(), None
        for attempt in count():
            unknown = self.responses.unknown_shards(misrouted)
            if self.responses.is_explained(misrouted) or (attempt >= _MAX_LISTINGS and not unknown):
                return
            if patience.is_over:
                if unknown:
                    raise error or (yield from self._unlisted(unknown))
                return
            self._rest(attempt)
            error = yield from self._find_explanation(misrouted, attempt + 1)
            patience.failed(self.clock.now_s(), is_throttled=isinstance(error, ThrottledError))

    def _unlisted(self, shard_ids: Sequence[str]) -> Generator[Describe, StreamSummary, UnavailableError]:
        """Return the error for shards that ListShards does not name. They may be those of a stream that was deleted."""
        stream = self.accumulator.stream
        summary = yield Describe()
        if summary.created_ms != self.accumulator.created_ms:
            return UnavailableError(
                f"Stream {stream} was deleted and recreated while it was written to. Records went to {', '.join(shard_ids)} of the "
                "deleted stream.",
                "StreamRecreated",
                stream=stream,
            )
        return UnavailableError(
            f"Records went to {', '.join(shard_ids)}, which ListShards does not name. Check that the stream is ACTIVE, then "
            "start again.",
            "ShardNotListed",
            stream=stream,
        )

    def _find_explanation(
        self, misrouted: Sequence[Misrouted], attempt: int, *, is_urgent: bool = True
    ) -> CallSteps:
        """
        List the shards. If they do not explain *misrouted*, check whether Kinesis chooses them.

        Returns the error if the shards cannot be listed now.
        """
        error = yield from self._try(self._list(), "ListShards", attempt, is_urgent=is_urgent)
        is_known = self.responses.is_explained(misrouted) or self.responses.unknown_shards(misrouted)
        if error is None and not is_known:
            yield from self._check_strategy_once(attempt, is_urgent=is_urgent)
        return error

    def _explain(self, request: Sequence[ShardBatch], error: ServiceError) -> CallSteps:
        """Find out whether a change of the stream explains *error*. Then *request* is sent again; else it has failed."""
        router, may_pass = self.accumulator.router, False
        try:
            if isinstance(error, StreamNotFoundError):
                yield from self._repeat(self._list, "ListShards")
                may_pass = True
            else:
                if router.is_auto:
                    yield from self._repeat(self._check_strategy, "DescribeStreamSummary")
                may_pass = not router.is_auto
        except ServiceError:
            pass  # the first error is the clearer one
        self.responses.on_request_failed(request, error, self.clock.now_s(), may_pass=may_pass)

    # Steps

    def _patience(self) -> Patience:
        return Patience(self.accumulator.settings.record_ttl_s)

    def _rest(self, attempt: int) -> None:
        """Delay the next call, after *attempt* listings without success."""
        self._due_s = self.clock.now_s() + pause_s(attempt, self.accumulator.rng)

    def _repeat(self, step: Callable[[], CallSteps], call: str) -> CallSteps:
        """Take *step* until it succeeds. Raises its last error once the patience is over."""
        patience = self._patience()
        for attempt in count(1):
            error = yield from self._try(step(), call, attempt)
            if error is None:
                return
            patience.failed(self.clock.now_s(), is_throttled=isinstance(error, ThrottledError))
            if patience.is_over:
                raise error
            self._rest(attempt)

    def _try(self, step: CallSteps, call: str, attempt: int, *, is_urgent: bool = True) -> CallSteps:
        """Take *step* and return its error, if any. If it *is_urgent*, an error that is not retryable is raised."""
        try:
            yield from step
        except ServiceError as error:
            if is_urgent and not error.retryable:
                raise
            log_retry(call, error.code, attempt, 0.0, stream=self.accumulator.stream)
            return error
        return None

    def _list(self) -> CallSteps:
        """List all shards, and route by them."""
        shards = yield ListShards()
        if shards != self.accumulator.router.shards:
            self.accumulator.use(shards)
            log.info("shards.discovered", stream=self.accumulator.stream, shards=len(shards.open_shards))

    def _list_open(self) -> CallSteps:
        """List the open shards, and all shards if the open ones differ from the map."""
        accumulator = self.accumulator
        try:
            opened = yield ListShards(only_open=True)
        except (StreamNotFoundError, InvalidRequestError):
            opened = None  # the listing of all shards has a clearer result
        if self.is_outdated or opened is None or not opened.has_same_open(accumulator.router.shards):
            self.is_outdated = True
            yield from self._list()
            if opened is not None and not opened.has_same_open(accumulator.router.shards):
                raise UnavailableError(
                    "Two ListShards responses name different open shards.",
                    "ShardsDiffer",
                    stream=accumulator.stream,
                )
            self.is_outdated = False
        self._last_response_s = self.clock.now_s()

    def _check_strategy(self) -> CallSteps:
        """Check whether Kinesis chooses the shards, once that may be asked again."""
        now_s = self.clock.now_s()
        self._due_s = max(self._due_s, now_s + self._describes.wait_s(now_s))
        self._describes.spend(now_s)
        summary = yield Describe()
        self.accumulator.distribute(is_auto=summary.is_auto_distributed)

    def _check_strategy_once(self, attempt: int, *, is_urgent: bool = False) -> CallSteps:
        """Check whether Kinesis chooses the shards, if that may be asked now. Otherwise, and after an error, never mind."""
        if not self._describes.wait_s(self.clock.now_s()):
            yield from self._try(
                self._check_strategy(), "DescribeStreamSummary", attempt, is_urgent=is_urgent
            )


def _lacks_keys(request: Sequence[ShardBatch]) -> bool:
    return any(entry.partition_key == NO_KEY for batch in request for entry in batch.entries)


def _extend_streak(
    streak: int, shards: ShardMap, request: Sequence[ShardBatch], results: Sequence[PutResult]
) -> int:
    """Return how many records in a row went to the shards of their keys, after *streak* earlier ones."""
    entries = (entry for batch in request for entry in batch.entries)
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


def pause_s(attempt: int, rng: random.Random) -> float:
    """Return how long to wait after *attempt* listings without success."""
    longest_s = min(_LONGEST_PAUSE_S, _PAUSE_S * attempt)
    return rng.uniform(longest_s / 2, longest_s)


def first_map(api: PutApi, stream: str, clock: Clock, rng: random.Random, patience_s: float) -> ShardMap:
    """
    List the shards and return their map. While the open ones do not cover all hash keys, list again for *patience_s*.

    Raises:
        ServiceError: The shards cannot be listed, or the open ones still do not cover all hash keys.
    """
    patience = Patience(patience_s)
    for attempt in count(1):
        shards = api.list_shards()
        try:
            return ShardMap.of(shards, stream)
        except UnavailableError as error:
            patience.failed(clock.now_s())
            if patience.is_over:
                raise
            wait_s = pause_s(attempt, rng)
            log_retry("ListShards", error.code, attempt, wait_s, stream=stream)
            clock.sleep(wait_s)
    raise AssertionError("counting does not end")
