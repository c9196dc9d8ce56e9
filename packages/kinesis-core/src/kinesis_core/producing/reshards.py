"""What a producer does when its stream is resharded: it learns the new shards, and sees where its aggregates belong."""

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
from kinesis_core.logs import get_logger
from kinesis_core.producing.responses import Misrouted, ResponseHandler
from kinesis_core.producing.shard_listing import listed_map, pause_s

log = get_logger("kinesis_core")

_LISTINGS = 5
"""So often is looked for a reason why records came to a shard that is listed, while their own is still open."""
_ASK_EVERY_S, _ASKS_AT_ONCE = 15.0, 5
"""DescribeStreamSummary may be called 20 times a second by all producers of an account."""
_NOT_DUE = "NotDue"
"""The code of the error where it was asked so often that the next call has to wait."""
_REFRESH_EVERY_S = 5.0
"""So often it is looked at most why plain records came to other shards."""


@define(eq=False)
class Reshards:
    """Keeps the shard map of an outbox, which is only touched under *lock*; called by several threads."""

    api: PutApi
    responses: ResponseHandler
    clock: Clock
    lock: threading.RLock
    is_stopped: Callable[[], bool]
    is_outdated: bool = field(default=False, init=False)
    """Whether other shards were listed as open than those in the map, and the map could not be renewed yet."""
    _listing: threading.Lock = field(factory=threading.Lock, init=False)
    _asking: ReadRateLimiter = field(factory=lambda: ReadRateLimiter(_ASK_EVERY_S, _ASKS_AT_ONCE), init=False)
    _refreshing: ReadRateLimiter = field(factory=lambda: ReadRateLimiter(_REFRESH_EVERY_S), init=False)

    def settle_misrouted(self, misrouted: Sequence[Misrouted]) -> None:
        """Decide on aggregates that came to other shards than they were made for, once it is known why."""
        try:
            with self._listing:  # the others wait, and then find the map that one has fetched
                self._learn(misrouted)
        except ServiceError as error:
            with self.lock:
                self.responses.give_up_misrouted(misrouted, error)
            return
        with self.lock:
            self.responses.settle_misrouted(misrouted)

    def refresh(self, misrouted: Sequence[Misrouted]) -> None:
        """Look now and then why plain records came to other shards: they are where they belong all the same."""
        with self.lock:
            now_s = self.clock.now_s()
            if self._refreshing.wait_s(now_s):
                return
            self._refreshing.spend(now_s)
        with self._listing:
            self._explain(misrouted, 1, is_urgent=False)

    def list_again(self, deadline_s: float) -> None:
        """
        List the shards, again while that may help.

        Raises:
            ServiceError: They cannot be listed, or not until then.
        """
        with self._listing:
            self._persist(self._list, "ListShards", deadline_s)

    def check_open(self, deadline_s: float) -> None:
        """List the open shards, and all if the open ones are others than before; raises as `list_again` does."""
        with self._listing:
            self._persist(self._check_open, "ListShards", deadline_s)

    def ask_again(self, deadline_s: float) -> None:
        """Ask whether the stream still chooses the shards, unless that is known by now; raises as `list_again` does."""
        with self._listing:
            if self.responses.accumulator.router.is_auto:
                self._persist(self._ask, "DescribeStreamSummary", deadline_s)

    def ask_once(self) -> None:
        """Ask whether the stream still chooses the shards; nothing depends on the answer but speed."""
        with self._listing:
            self._try(self._ask, "DescribeStreamSummary", 1, is_urgent=False)

    def _learn(self, misrouted: Sequence[Misrouted]) -> None:
        """
        Look for what explains *landings*: a reshard, or a stream that distributes records itself.

        Raises:
            ServiceError: The shards cannot be listed, or not before the first of these aggregates has to be written.
        """
        deadline_s = min(batch.state.deadline_s for batch, _ in misrouted)
        error: ServiceError | None = None
        for attempt in count():
            with self.lock:
                unknown = self.responses.unknown_shards(misrouted)
                knows_why = self.responses.knows_why(misrouted)
            if knows_why or self.is_stopped() or (attempt >= _LISTINGS and not unknown):
                return
            if attempt and self.clock.now_s() >= deadline_s:
                if unknown:
                    raise error or _not_listed(unknown)
                return
            self.clock.sleep(pause_s(attempt, self.responses.accumulator.rng))
            error = self._explain(misrouted, attempt + 1)

    def _explain(
        self, misrouted: Sequence[Misrouted], attempt: int, *, is_urgent: bool = True
    ) -> ServiceError | None:
        """List the shards; if they do not explain *landings*, ask who chooses them. Returns why they cannot be listed now."""
        error = self._try(self._list, "ListShards", attempt, is_urgent=is_urgent)
        with self.lock:
            is_known = self.responses.knows_why(misrouted) or self.responses.unknown_shards(misrouted)
        if error is not None or is_known:
            return error
        self._try(self._ask, "DescribeStreamSummary", attempt, is_urgent=is_urgent)
        return None

    def _persist(self, step: Callable[[], None], call: str, deadline_s: float) -> None:
        """Do *step*, which makes a *call*, again while that may help; the last error is raised."""
        for attempt in count(1):
            error = self._try(step, call, attempt)
            if error is None or self.is_stopped():
                return
            if self.clock.now_s() >= deadline_s:
                raise error
            self.clock.sleep(pause_s(attempt, self.responses.accumulator.rng))

    def _try(
        self, step: Callable[[], None], call: str, attempt: int, *, is_urgent: bool = True
    ) -> ServiceError | None:
        """Do *step* and return the error that may pass; any other is raised if the step *is_urgent*."""
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
            opened = None  # the listing of all shards says more
        is_same = opened is not None and opened.has_same_open(accumulator.router.shards)
        if is_same and not self.is_outdated:
            return
        self.is_outdated = True
        self._list()
        if opened is not None and not opened.has_same_open(accumulator.router.shards):
            raise UnavailableError("Two answers of ListShards name other open shards.", "ShardsDiffer")
        self.is_outdated = False

    def _ask(self) -> None:
        with self.lock:
            now_s = self.clock.now_s()
            wait_s = self._asking.wait_s(now_s)
            if wait_s:
                raise ThrottledError(f"The next question is due in {wait_s:.1f} s.", _NOT_DUE)
            self._asking.spend(now_s)
        summary = self.api.describe(with_retries=False)
        with self.lock:
            self.responses.accumulator.distribute(is_auto=summary.is_auto_distributed)


def _not_listed(shard_ids: Sequence[str]) -> UnavailableError:
    return UnavailableError(
        f"Records came to {', '.join(shard_ids)}, which ListShards does not name.", "ShardNotListed"
    )
