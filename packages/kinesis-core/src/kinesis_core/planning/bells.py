"""
Bells: subscriptions that tell the planner of new records, so that it need not look for them.

An idle shard is looked at every 400 ms, so a record waits for half of that on average. A consumer of enhanced fan-out is told of it at
once. Nothing that a subscription brings is read: a bell only ends the rest of its shard, and the planner looks as always. So a bell that
rings without need changes no batch, and where one fails, the shard is looked at as often as without it.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Collection, Iterable
from contextlib import closing
from functools import partial

from attrs import define, field

from kinesis_core.aws import RESUBSCRIBE_S, SubscribeApi
from kinesis_core.clock import Clock
from kinesis_core.errors import ProcessLimitError, ServiceError
from kinesis_core.model import Latest
from kinesis_core.shards import SubscriptionPolicy
from kinesis_core.threads import start_thread
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")

POLICY = SubscriptionPolicy(RESUBSCRIBE_S, longest_pause_s=60.0)
"""The shard is looked at meanwhile, so another reader's subscription can be waited for."""
MOST = 500
"""Each takes a socket, and Linux gives a process 1,024 by default. A plan of more shards takes longer than a bell saves."""

Start = Callable[[Callable[[], object], str], object]
"""Starts a thread with a function and a name."""


@define(eq=False)
class Bells:
    """
    The bells of one stream, by subscriptions of *api*'s consumer.

    Each has a thread, which receives its events. One thread at a time, which plans, calls the methods; another one may call `close`.
    """

    stream: str
    api: SubscribeApi
    clock: Clock
    rng: random.Random
    rang: threading.Event
    """Set when a bell has rung. The streams of a planner share it."""
    start: Start = start_thread
    make_end: Callable[[], threading.Event] = threading.Event
    """Makes what ends a bell. Between two subscriptions the bell waits for it."""
    most: int = MOST
    """How many shards may have a bell."""
    _rung: dict[str, None] = field(factory=dict, init=False)
    _watched: dict[str, threading.Event] = field(factory=dict, init=False)
    """By shard what ends its bell."""
    _is_closed: bool = field(default=False, init=False)

    def take(self) -> set[str]:
        """Return the shards whose bells have rung since the last call."""
        rung = set[str]()
        while self._rung:
            rung.add(self._rung.popitem()[0])
        return rung

    def watch(self, readable: Collection[str], idle: Iterable[str]) -> None:
        """Hang a bell for each of the *idle* shards that has none. The bells of shards that are not *readable* any more end."""
        for shard_id in self._watched.keys() - set(readable):
            self._watched.pop(shard_id).set()
        for shard_id in idle:
            if len(self._watched) >= self.most or self._is_closed:
                return
            if shard_id not in self._watched:
                over = self._watched[shard_id] = self.make_end()
                try:
                    self.start(partial(self._listen, shard_id, over), f"kinesis-bell-{shard_id}")
                except ProcessLimitError as error:
                    self.most = 0
                    self._log_failure(shard_id, "ProcessLimit", error)
                if self._is_closed:  # in the meantime
                    over.set()

    def close(self) -> None:
        """End all bells, and hang no more. A thread ends with the next event, which comes within 5 seconds."""
        self._is_closed = True
        for over in list(self._watched.values()):
            over.set()

    def _listen(self, shard_id: str, over: threading.Event) -> None:
        """Ring for the records of one shard, through one subscription after the other, until *over* is set."""
        failures, code = 0, ""
        while not over.is_set():
            began_s, pause_s = self.clock.now_s(), 0.0
            try:
                with closing(self.api.subscribe(shard_id, Latest(), with_data=False)) as events:
                    for page in events:
                        failures = 0
                        if page.records or page.is_shard_end:
                            self._rung[shard_id] = None
                            self.rang.set()
                        if page.is_shard_end or over.is_set():
                            return
                code = ""
            except ServiceError as error:
                if over.is_set():  # the consumer may have been removed meanwhile
                    return
                if error.code != code:
                    code = error.code
                    self._log_failure(shard_id, code, error)
                if not POLICY.passes(error):
                    return
                failures += 1
                pause_s = POLICY.pause_after_s(failures) * self.rng.uniform(1, 2)
            passed_s = max(0.0, self.clock.now_s() - began_s)
            over.wait(max(pause_s, RESUBSCRIBE_S - passed_s))

    def _log_failure(self, shard_id: str, code: str, error: Exception) -> None:
        facts = {"consumer": self.api.consumer, "code": code, "reason": error}
        log.warning("bell.failed", stream=self.stream, shard=shard_id, **facts)
