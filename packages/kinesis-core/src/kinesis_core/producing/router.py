"""Routes user records to the queues of their shards."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from attrs import define, field

from kinesis_core.producing.counts import Buffer
from kinesis_core.producing.rows import RowColumns, Rows
from kinesis_core.producing.shard_map import ShardMap, hash_of
from kinesis_core.producing.shard_queue import ShardQueue
from kinesis_core.producing.write_window import Patience, WriteWindow
from kinesis_core.throttled import Throttled

_REMEMBERED_KEYS = 65_536
"""Of all producers that share a buffer."""

Groups = dict[ShardQueue, Rows]
"""Rows by the queue of their shard."""


@define(eq=False)
class Router:
    """The queues of the shards that the shard map has as open."""

    stream: str
    shards: ShardMap
    ttl_s: float
    """The TTL of `Patience`."""
    random_keys: Iterator[str]
    """For user records without a key."""
    is_auto: bool = False
    """Whether Kinesis chooses the shards, so that a row may go into any queue."""
    buffer: Buffer = field(factory=Buffer)
    """Which the producers share that share also the memory for known keys."""
    _turn: int = field(default=0, init=False)
    """Number of queues that rows were spread over so far: the next rows begin at the next queue."""
    _queues: dict[str, ShardQueue] = field(factory=dict, init=False)
    _routes: dict[str, ShardQueue] = field(factory=dict, init=False)
    """By partition key. Hashing a key takes twenty times as long as this lookup."""

    @property
    def queues(self) -> Collection[ShardQueue]:
        return self._queues.values()

    @property
    def known_keys(self) -> Collection[str]:
        return self._routes

    def queue(self, shard_id: str) -> ShardQueue:
        """Return the queue of a shard."""
        queue = self._queues.get(shard_id)
        if queue is None:
            throttled, patience = Throttled(self.stream, shard_id), Patience(self.ttl_s)
            queue = self._queues[shard_id] = ShardQueue(shard_id, WriteWindow(), patience, throttled)
        return queue

    def group(self, rows: Rows) -> Groups:
        """Return *rows* by queue. The rows of a queue keep their order."""
        return self._spread(rows) if self.is_auto else self._sort(rows.with_keys(self.random_keys))

    def _spread(self, rows: Rows) -> Groups:
        """Return *rows* in equal parts. The windows of the queues then show how much the whole stream accepts."""
        shards = self.shards.open_shards
        parts = min(len(shards), len(rows))
        first, self._turn = self._turn, self._turn + parts
        bounds = [len(rows) * part // parts for part in range(parts + 1)]
        return {
            self.queue(shards[(first + part) % len(shards)]): rows.part(bounds[part], bounds[part + 1])
            for part in range(parts)
        }

    def _sort(self, rows: Rows) -> Groups:
        found = rows.native.group(self.shards.start_bytes) if isinstance(rows, RowColumns) else None
        if found is not None:
            return {self.queue(self.shards.open_shards[shard]): RowColumns(part) for shard, part in found}
        indexes: defaultdict[ShardQueue, list[int]] = defaultdict(list)
        for index, queue in enumerate(self._queues_of(rows)):
            indexes[queue].append(index)
        if len(indexes) == 1:
            return dict.fromkeys(indexes, rows)
        return {queue: rows.pick(chosen) for queue, chosen in indexes.items()}

    def _queues_of(self, rows: Rows) -> Iterable[ShardQueue]:
        if rows.hash_keys is not None:
            pairs = zip(rows.keys, rows.hash_keys, strict=True)
            return [self._route(key) if h is None else self._queue_of(int(h)) for key, h in pairs]
        try:
            return list(map(self._routes.__getitem__, rows.keys))
        except KeyError:
            known = self._routes.get
            return [known(key) or self._route(key) for key in rows.keys]

    def _route(self, key: str) -> ShardQueue:
        queue = self._routes.get(key)
        if queue is None:
            if len(self._routes) >= _REMEMBERED_KEYS * self.buffer.share:
                self._routes.clear()
            queue = self._routes[key] = self._queue_of(hash_of(key))
        return queue

    def _queue_of(self, hash_key: int) -> ShardQueue:
        return self.queue(self.shards.shard_of(hash_key))

    def use(self, shards: ShardMap) -> list[ShardQueue]:
        """Route by *shards* from now on. Returns the queues of shards that are closed or belong to another stream."""
        is_other = self.shards.contradicts(shards)
        self.shards = shards
        opened = frozenset(() if is_other else shards.open_shards)
        return self._retire(queue for queue in self.queues if queue.shard_id not in opened)

    def distribute(self, *, is_auto: bool) -> list[ShardQueue]:
        """Begin or end to let Kinesis choose the shards. Returns all queues so far."""
        self.is_auto = is_auto
        return self._retire(self.queues)

    def _retire(self, queues: Iterable[ShardQueue]) -> list[ShardQueue]:
        gone = list(queues)
        for queue in gone:
            queue.is_gone = True
            del self._queues[queue.shard_id]
        self._routes.clear()
        return gone

    def misplaced(self, rows: Rows, shard_id: str) -> int:
        """Return how many of *rows* the shard does not own. All of them if the shard is unknown."""
        if shard_id not in self.shards.ranges:
            return len(rows)
        hashes = (hash_of(key, rows.hash_key(index)) for index, key in enumerate(rows.keys))
        return sum(not self.shards.owns(shard_id, hash_key) for hash_key in hashes)
