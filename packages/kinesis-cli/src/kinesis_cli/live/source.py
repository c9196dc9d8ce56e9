"""The streams of an account, called for `kinesis top`."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from attrs import define, evolve, field

from kinesis_cli.live.meter import ShardMeter
from kinesis_cli.live.views import Reader, ReadersOf, ShardLine, StreamLine, StreamView, no_readers
from kinesis_cli.traffic import call_each
from kinesis_core.aws import Connection, StreamApi, consumer_client, list_streams, stream_client
from kinesis_core.clock import Clock, SystemClock
from kinesis_core.model import StreamSummary

MAX_SHARDS = 100
"""Shards that are read."""
THREADS = 16
LIST_EVERY_S = 30.0
"""How often streams, shards and consumers are listed again."""
READERS_EVERY_S = 5.0
DESCRIBED_AT_ONCE = 10
"""Streams that are described per call: an account may make 20 such calls a second."""


@define
class _Watched:
    """One stream."""

    connection: Connection
    api: StreamApi
    clock: Clock
    summary: StreamSummary | None = None
    consumers: tuple[Reader, ...] = ()
    readers: tuple[Reader, ...] = ()
    meters: dict[str, ShardMeter] = field(factory=dict)
    order: tuple[ShardLine, ...] = ()
    """Open shards in the order of their hash keys."""
    list_at_s: float = 0.0
    readers_at_s: float = 0.0

    def refresh(self) -> None:
        """List shards and consumers again. Shards that are open still keep their meters."""
        self.summary = self.api.describe()
        opened = sorted(
            (one for one in self.api.list_shards() if one.is_open), key=lambda one: one.hash_start
        )
        self.order = tuple(ShardLine(one.shard_id, one.hash_start, one.hash_end) for one in opened)
        rng = random.Random()  # noqa: S311 # jitter, not a secret
        self.meters = {
            one.shard_id: self.meters.get(one.shard_id) or ShardMeter(self.api, one, self.clock, rng)
            for one in opened[:MAX_SHARDS]
        }
        if self.summary.consumers:
            listed = consumer_client(self.connection, self.connection.streams[0]).list_consumers()
            self.consumers = tuple(
                Reader(one.name, "enhanced fan-out", status=one.status)
                for one in sorted(listed, key=lambda one: one.name)
            )
        else:
            self.consumers = ()

    def view(self) -> StreamView:
        summary = self.summary or self.api.describe()
        lines = tuple(
            evolve(line, sample=self.meters[line.shard_id].sample()) if line.shard_id in self.meters else line
            for line in self.order
        )
        unread = len(lines) - len(self.meters)
        return StreamView(summary, self.api.now_ms(), lines, (*self.readers, *self.consumers), unread)


@define
class KinesisSource:
    """
    Calls Kinesis. Each stream is watched from the first call for it on.

    *connect* returns the connection to a stream, *account* the one to the account, if streams are listed.
    """

    connect: Callable[[str], Connection]
    account: Callable[[], Connection]
    readers_of: ReadersOf = no_readers
    clock: Clock = field(factory=SystemClock)
    _watched: dict[str, _Watched] = field(factory=dict, init=False)
    _names: list[str] = field(factory=list, init=False)
    _due: list[str] = field(factory=list, init=False)
    """Streams that will be described next."""
    _summaries: dict[str, StreamSummary] = field(factory=dict, init=False)
    _list_at_s: float = field(default=0.0, init=False)

    def streams(self) -> Sequence[StreamLine]:
        """Return all streams. Each call describes some that are not described yet."""
        now_s = self.clock.now_s()
        if now_s >= self._list_at_s and not self._due:
            self._names = list_streams(self.account())
            self._due = sorted(self._names, key=lambda name: name in self._summaries)
            self._list_at_s = now_s + LIST_EVERY_S
        described, self._due = self._due[:DESCRIBED_AT_ONCE], self._due[DESCRIBED_AT_ONCE:]
        self._summaries.update(call_each(self._describe, described, THREADS))
        return [StreamLine(name, self._summaries.get(name)) for name in self._names]

    def stream(self, name_or_arn: str) -> StreamView:
        """Return one stream, with what was written since the last call."""
        watched = self._watched.get(name_or_arn) or self._watch(name_or_arn)
        now_s = self.clock.now_s()
        if now_s >= watched.list_at_s or any(meter.has_ended for meter in watched.meters.values()):
            watched.refresh()
            watched.list_at_s = now_s + LIST_EVERY_S
        call_each(ShardMeter.poll, list(watched.meters.values()), THREADS)
        if now_s >= watched.readers_at_s:
            watched.readers = tuple(self.readers_of(name_or_arn))
            watched.readers_at_s = now_s + READERS_EVERY_S
        return watched.view()

    def _watch(self, name_or_arn: str) -> _Watched:
        connection = self.connect(name_or_arn)
        api = stream_client(connection, connection.streams[0])
        watched = self._watched[name_or_arn] = _Watched(connection, api, self.clock)
        return watched

    def _describe(self, name: str) -> tuple[str, StreamSummary]:
        connection = self.connect(name)
        return name, stream_client(connection, connection.streams[0]).describe()
