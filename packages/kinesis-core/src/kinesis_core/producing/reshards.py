"""What a producer does when its stream is resharded: it learns the new shards, and sees where its aggregates belong."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import count

from attrs import define, field

from kinesis_core.clock import Clock
from kinesis_core.errors import ServiceError, UnavailableError
from kinesis_core.logs import get_logger
from kinesis_core.producing.answers import Answers, Landing
from kinesis_core.producing.routing import ShardMap
from kinesis_core.retry import log_retry
from kinesis_core.stream_api import PutApi

log = get_logger("kinesis_core")

_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 2.0
"""A listing may be older than the answer that told of a new shard: the n-th is made n pauses after the one before."""
_LISTINGS = 5
"""So often is looked for a reason why records came to a shard that is listed, while their own is still open."""


@define(eq=False)
class Reshards:
    """Keeps the shard map of an outbox, which is only touched under *lock*; called by several threads."""

    api: PutApi
    answers: Answers
    clock: Clock
    lock: threading.RLock
    is_stopped: Callable[[], bool]
    _listing: threading.Lock = field(factory=threading.Lock, init=False)

    def place(self, landings: Sequence[Landing]) -> None:
        """Decide on aggregates that came to other shards than they were made for, once it is known why."""
        try:
            with self._listing:  # the others wait, and then find the map that one has fetched
                self._learn(landings)
        except ServiceError as error:
            with self.lock:
                self.answers.lose(landings, error)
            return
        with self.lock:
            self.answers.place(landings)

    def refresh(self) -> None:
        """List the shards again, because plain records came to others: they are where they belong all the same."""
        with self._listing:
            try:
                self._list()
            except ServiceError as error:
                log_retry("ListShards", error.code, 1, 0.0, stream=self.answers.outbox.stream)

    def _learn(self, landings: Sequence[Landing]) -> None:
        """
        List the shards until they explain *landings*.

        Raises:
            ServiceError: They do not before the first of these aggregates has to be written, or cannot be listed.
        """
        deadline_s = min(parcel.label.deadline_s for parcel, _ in landings)
        error: ServiceError | None = None
        for attempt in count():
            with self.lock:
                unknown = self.answers.unknown_shards(landings)
                knows_why = self.answers.knows_why(landings)
            if knows_why or self.is_stopped() or (attempt >= _LISTINGS and not unknown):
                return
            if attempt and self.clock.now_s() >= deadline_s:
                if unknown:
                    raise error or _not_listed(unknown)
                return
            self.clock.sleep(min(_LONGEST_PAUSE_S, _PAUSE_S * attempt))
            try:
                self._list()
            except ServiceError as raised:
                if not raised.retryable:
                    raise
                error = raised
                log_retry("ListShards", error.code, attempt + 1, 0.0, stream=self.answers.outbox.stream)

    def _list(self) -> None:
        shards = ShardMap.of(self.api.list_shards(with_retries=False))
        with self.lock:
            self.answers.outbox.use(shards)
        log.info("shards.discovered", stream=self.answers.outbox.stream, shards=len(shards.open_shards))


def _not_listed(shard_ids: Sequence[str]) -> UnavailableError:
    return UnavailableError(
        f"Records came to {', '.join(shard_ids)}, which ListShards does not name.", "ShardNotListed"
    )
