"""One stream that `kinesis top` watches: its open shards, what comes in, and who reads."""

from __future__ import annotations

import random
from collections.abc import Sequence

from attrs import define, evolve, field

from kinesis_cli.live.meter import ShardMeter
from kinesis_cli.live.views import LiveReader, ReadersOf, ShardLine, StreamView
from kinesis_cli.output import show_number
from kinesis_cli.parallel import call_each
from kinesis_core import AccessDeniedError
from kinesis_core.aws import Connection, StreamApi, consumer_client
from kinesis_core.clock import Clock
from kinesis_core.model import Shard, StreamSummary, first_hole

MAX_SHARDS = 100
"""Shards that are read."""
LIST_EVERY_S = 30.0
"""How often shards and consumers are listed again."""
READERS_EVERY_S = 5.0
_FAN_OUT = "enhanced fan-out"


@define
class WatchedStream:
    """Each step that fails is repeated by the next call."""

    connection: Connection
    api: StreamApi
    clock: Clock
    _summary: StreamSummary | None = field(default=None, init=False)
    _lines: tuple[ShardLine, ...] = field(default=(), init=False)
    """Open shards in the order of their hash keys."""
    _meters: dict[str, ShardMeter] = field(factory=dict, init=False)
    _consumers: tuple[LiveReader, ...] = field(default=(), init=False)
    _readers: tuple[LiveReader, ...] = field(default=(), init=False)
    _list_at_s: float = field(default=0.0, init=False)
    _readers_at_s: float = field(default=0.0, init=False)

    def list_shards(self) -> None:
        """List shards and consumers, if a shard has ended or some time has passed. Shards that are open still keep their meters."""
        now_s = self.clock.now_s()
        if now_s < self._list_at_s and not any(meter.has_ended for meter in self._meters.values()):
            return
        summary = self.api.describe()
        opened = [shard for shard in self.api.list_shards() if shard.is_open]
        opened.sort(key=lambda shard: shard.hash_start)
        is_new = self._summary is None or self._summary.created_ms != summary.created_ms
        self._summary = summary
        self._watch(opened, is_new=is_new)
        self._consumers = self._list_consumers(summary.consumers)
        is_whole = first_hole(opened) is None  # otherwise the listing lags behind a split or a merge
        self._list_at_s = now_s + LIST_EVERY_S if is_whole else now_s

    def read(self) -> None:
        """Read each shard that may be read again."""
        call_each(ShardMeter.poll, list(self._meters.values()))

    def measure(self, readers_of: ReadersOf, name_or_arn: str) -> None:
        """Measure the lag of readers, if some time has passed."""
        now_s = self.clock.now_s()
        if now_s >= self._readers_at_s:
            self._readers = tuple(readers_of(name_or_arn))
            self._readers_at_s = now_s + READERS_EVERY_S

    def view(self) -> StreamView:
        """Return what is known."""
        summary, meters = self._summary or self.api.describe(), self._meters
        lines = tuple(
            evolve(line, sample=meters[line.shard_id].sample()) if line.shard_id in meters else line
            for line in self._lines
        )
        readers = (*self._readers, *self._consumers)
        return StreamView(summary, self.api.now_ms(), lines, readers, len(lines) - len(meters))

    def _watch(self, opened: Sequence[Shard], *, is_new: bool) -> None:
        """Read these shards. Meters of a stream that was deleted and created again are of no use, nor are ended ones."""
        kept = {} if is_new else {key: one for key, one in self._meters.items() if not one.has_ended}
        rng = random.Random()  # noqa: S311 # jitter, not a secret
        self._lines = tuple(ShardLine(one.shard_id, one.hash_start, one.hash_end) for one in opened)
        self._meters = {
            one.shard_id: kept.get(one.shard_id) or ShardMeter(self.api, one, self.clock, rng)
            for one in opened[:MAX_SHARDS]
        }

    def _list_consumers(self, count: int) -> tuple[LiveReader, ...]:
        if not count:
            return ()
        try:
            listed = consumer_client(self.connection, self.connection.streams[0]).list_consumers()
        except AccessDeniedError:  # all else can be shown without this permission
            name = show_number(count, "consumer")
            return (LiveReader(name, _FAN_OUT, status="kinesis:ListStreamConsumers is denied"),)
        return tuple(LiveReader(one.name, _FAN_OUT, status=one.status) for one in listed)
