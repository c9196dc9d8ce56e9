"""Streams that are full before a reader starts."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from threading import Event, Thread

from attrs import define, field

from kinesis_core import Producer, ProducerSettings
from support.streams import connection_to

_AT_ONCE = 20_000


def fill(stream: str, kinesis_url: str, records: int, record_bytes: int, *, aggregate: bool) -> None:
    """Put *records* user records with random keys, plain or in aggregates."""
    settings = ProducerSettings(aggregation_enabled=aggregate)
    data = b"x" * record_bytes
    with Producer.open(stream, **connection_to(kinesis_url), settings=settings) as producer:
        for first in range(0, records, _AT_ONCE):
            count = min(_AT_ONCE, records - first)
            producer.put_columns([data] * count, [uuid.uuid4().hex[:8] for _ in range(count)])


@define
class Trickle:
    """Puts records by *put* again and again, in a thread. With a period of 0 it puts none. A context manager."""

    put: Callable[[], object]
    period_s: float
    _is_over: Event = field(factory=Event, init=False)
    _thread: Thread = field(init=False)

    def __enter__(self) -> Trickle:
        self._thread = Thread(target=self._run, name="trickle", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        while self.period_s and not self._is_over.wait(self.period_s):
            self.put()
