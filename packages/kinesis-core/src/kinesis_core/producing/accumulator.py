"""
The records that a producer holds, and which of them the next request sends: state only, without threads, calls or a clock.

User records are offered and packed into the batches of their shard's queue. Requests take batches out, and
`responses.py` handles the responses. A user record leaves when it is written, or when the producer fails and every
caller gets the error.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from attrs import define, evolve, field, frozen, validators

from kinesis_core.errors import PutError
from kinesis_core.model import MAX_PUT_RECORDS
from kinesis_core.producing.counts import Buffer, InFlightCounts
from kinesis_core.producing.packer import AGGREGATE_KEY, Packer
from kinesis_core.producing.router import Groups, Router
from kinesis_core.producing.rows import Rows, random_keys
from kinesis_core.producing.shard_map import ShardMap
from kinesis_core.producing.shard_queue import REQUEST_BYTES, SendState, ShardBatch, ShardQueue
from kinesis_credentials import Advice
from kinesis_credentials.logs import get_logger

_MIB = 1024 * 1024

MOST_CONNECTIONS = 32
"""The largest `max_connections`. No stream needs more requests in flight from one producer."""


@frozen
class ProducerSettings:
    """Settings of a producer. The defaults suit most streams. Set `aggregation_enabled=False` if a consumer cannot unpack aggregates."""

    aggregation_enabled: bool = True
    """
    Whether many user records share one record, in the format of the Kinesis Producer Library (KPL). The KCL, Firehose
    and this library unpack such records. Lambda functions need AWS's modules for it, and not every source of Flink does
    it. Consumers of the plain API do not.
    """
    aggregation_max_size: int = field(default=51_200, validator=validators.ge(64))
    """Maximum bytes of an aggregate, framing included. A larger user record becomes a separate record."""
    record_max_buffered_time_s: float = field(default=1.0, validator=validators.ge(0))
    """Maximum time a user record is buffered to share an aggregate or a request with others."""
    max_connections: int = field(default=8, validator=[validators.ge(1), validators.le(MOST_CONNECTIONS)])
    """Maximum number of requests in flight. Each has a thread."""
    record_ttl_s: float = field(default=30.0, validator=validators.gt(0))
    """
    For how long the requests for a shard may fail. The producer fails if the shard accepts nothing for that long. A shard
    that throttles is waited for, 20 times as long if it accepts nothing at all. A record has no time limit of its own.
    """
    buffer_bytes: int = field(default=16 * _MIB, validator=validators.ge(1))
    """
    Data and keys of user records that are put and not yet written. Putting waits while the buffer is full. An eighth
    of the size, or one record, may exceed it. Requests in flight need about two and a half times the size of their
    records in addition.
    """


log = get_logger("kinesis_core")


MAY_BE_MISSING = ("Records since the last flush may be missing.", Advice.WRITE_AGAIN)


@define(eq=False)
class RecordAccumulator:
    """The records of one producer. The caller makes sure that one thread at a time uses it."""

    stream: str
    settings: ProducerSettings
    router: Router
    rng: random.Random
    counts: InFlightCounts
    packer: Packer
    created_ms: int
    """When the stream was created, as it was described first."""
    waiting_callers: float = field(default=0, init=False)
    """Callers that wait for room or for a flush. While there are some, batches are sent before they are due. inf at the end."""
    failure: PutError | None = field(default=None, init=False)
    lost_records: int = field(default=0, init=False)
    """Number of user records that the failure dropped, without those that are confirmed as written since."""
    _generation: int = field(default=0, init=False)
    _has_warned: bool = field(default=False, init=False)
    """Whether the log says already that explicit hash keys are ignored."""

    @classmethod
    def open(
        cls,
        stream: str,
        shards: ShardMap,
        settings: ProducerSettings,
        max_record_bytes: int,
        rng: random.Random,
        *,
        created_ms: int,
        is_auto: bool = False,
        buffer: Buffer | None = None,
    ) -> RecordAccumulator:
        counts = InFlightCounts(buffer or Buffer())
        router = Router(stream, shards, settings.record_ttl_s, random_keys(rng), is_auto, counts.buffer)
        most_bytes = min(settings.aggregation_max_size, max_record_bytes - len(AGGREGATE_KEY))
        packer = Packer(most_bytes, counts, settings.aggregation_enabled and not is_auto)
        return cls(stream, settings, router, rng, counts, packer, created_ms)

    # Putting

    def group(self, rows: Rows) -> Groups:
        """Return *rows* by the queue that they belong to."""
        if self.router.is_auto and rows.hash_keys is not None and not self._has_warned:
            self._has_warned = True
            log.warning("hash_keys.ignored", stream=self.stream, strategy="AUTO")
        return self.router.group(rows)

    def offer(self, groups: Groups, now_s: float) -> Groups:
        """Add the groups that there is room for, and return the others."""
        state = SendState(now_s + self.settings.record_max_buffered_time_s, self._generation)
        left: Groups = {}
        for queue, rows in self._regrouped(groups).items():
            if queue.is_full or self.is_full:
                left[queue] = rows
            else:
                self.packer.pack(queue, rows, state, now_s)
        return left

    @property
    def held_records(self) -> int:
        """Number of user records that are put and not confirmed as written."""
        return self.counts.unwritten + sum(aggregate.count for aggregate in self.packer.opened.values())

    @property
    def is_full(self) -> bool:
        return self.counts.buffer.held_bytes >= self.settings.buffer_bytes

    @property
    def _is_filled_by_aggregates(self) -> bool:
        """Whether the buffer is full of open aggregates: only batches can be sent."""
        buffer = self.counts.buffer
        return self.is_full and 2 * buffer.open_aggregate_bytes >= buffer.held_bytes

    def _regrouped(self, groups: Groups) -> Groups:
        """Return the groups. Rows of shards that are gone by now are grouped by the shards that are open."""
        if not any(queue.is_gone for queue in groups):
            return groups
        regrouped: Groups = {}
        for group in groups.values():
            for queue, rows in self.router.group(group).items():
                regrouped[queue] = regrouped[queue].joined(rows) if queue in regrouped else rows
        return regrouped

    def seal(self) -> None:
        """Close all open aggregates, so that they can be sent."""
        self.packer.seal()

    def begin_generation(self) -> int:
        """
        Begin the next generation, and return the number of the one that ends.

        All user records offered so far belong to that one or to an earlier one.
        """
        self.seal()
        self._generation += 1
        return self._generation - 1

    # Sending

    def take(self, now_s: float) -> list[ShardBatch]:
        """Return the batches of the next request. Empty if there are no batches to send yet."""
        self.packer.seal(math.inf if self._is_filled_by_aggregates else now_s)
        queues = self._ready(now_s)
        return self._fill_request(queues, now_s) if self._is_worth_a_request(queues, now_s) else []

    def _ready(self, now_s: float) -> list[ShardQueue]:
        return [
            queue for queue in self.router.queues if queue.is_sendable and queue.window.rests_until_s <= now_s
        ]

    def _is_worth_a_request(self, queues: Sequence[ShardQueue], now_s: float) -> bool:
        if any(self.waiting_callers or queue.batches[0].state.due_s <= now_s for queue in queues):
            return True
        records = sum(queue.waiting_records for queue in queues)
        return records >= MAX_PUT_RECORDS or sum(queue.waiting_bytes for queue in queues) >= REQUEST_BYTES

    def _fill_request(self, queues: Sequence[ShardQueue], now_s: float) -> list[ShardBatch]:
        first = self.rng.randrange(len(queues))  # so that no queue is always the last
        request: list[ShardBatch] = []
        room_records, room_bytes = MAX_PUT_RECORDS, REQUEST_BYTES
        for queue in (*queues[first:], *queues[:first]):
            if room_records <= 0 or room_bytes <= 0:
                break  # thousands of other queues need not be asked
            for batch in queue.take(room_records, room_bytes, at_least_one=not request):
                room_records -= len(batch.entries)
                room_bytes -= batch.size_bytes
                request.append(batch)
        for batch in request:
            batch.queue.window.sent_s = now_s
            if batch.state.is_unsure:
                self.counts.totals["resent"] += batch.user_records
                batch.state = evolve(batch.state, is_unsure=False)
        self.counts.totals["requests"] += bool(request)
        return request

    def wait_s(self, now_s: float) -> float | None:
        """Return the seconds after which `take` must be called again if nothing else happens, or None for never."""
        if self._is_worth_a_request(self._ready(now_s), now_s):
            return 0.0
        queues = self.router.queues
        times = [queue.next_s(is_urgent=bool(self.waiting_callers)) for queue in queues if queue.is_sendable]
        opened = [aggregate.state.due_s for aggregate in self.packer.opened.values()]
        times += [now_s] * len(opened) if self._is_filled_by_aggregates else opened
        return max(0.0, min(times) - now_s) if times else None

    # Batches whose request is over

    def mark_written(self, batch: ShardBatch) -> None:
        self.counts.count_written(batch)
        if self.failure is None:
            self.counts.remove(batch)
        else:
            self.lost_records -= batch.user_records

    def put_back(self, batch: ShardBatch) -> None:
        """Put *batch* into its queue again, as the first. It is rerouted if the queue is gone."""
        if batch.queue.is_gone:
            self.reroute(batch)
        else:
            batch.queue.put(batch, first=True)

    def reroute(self, batch: ShardBatch, *, is_plain: bool = False) -> None:
        """Pack the user records of *batch* again, for the shards that are open now. *is_plain*: without aggregates."""
        self.counts.remove(batch)
        for queue, rows in self.router.group(batch.rows()).items():
            self.packer.repack(queue, rows, batch.state, is_plain=is_plain)

    def use(self, shards: ShardMap) -> None:
        """
        Route by a new shard map. What waits for a shard that is no longer open is rerouted.

        The producer fails if the map is of a recreated stream and aggregates were written since the last flush. Those
        may be in wrong shards of the new stream, and the producer no longer holds them.
        """
        if self.router.shards.contradicts(shards):
            log.warning("stream.recreated", stream=self.stream)
            written = self.counts.totals["user_records"]
            if written > self.counts.totals["records"]:
                self.fail(_recreated(self.stream, written))
        self._reroute_all(self.router.use(shards))

    def distribute(self, *, is_auto: bool) -> None:
        """Begin or end to let Kinesis choose the shards. Everything that waits is packed again."""
        if is_auto == self.router.is_auto:
            return
        queues = self.router.distribute(is_auto=is_auto)
        self.packer.aggregates = self.settings.aggregation_enabled and not is_auto
        self._reroute_all(queues)
        log.info("strategy.changed", stream=self.stream, strategy="AUTO" if is_auto else "USER_PARTITION_KEY")

    def _reroute_all(self, queues: Sequence[ShardQueue]) -> None:
        for queue in queues:
            self.packer.close(queue)
            for batch in queue.clear():
                self.reroute(batch)

    # Failing

    def fail(self, failure: PutError) -> None:
        """Drop everything and send no more. Every caller gets the first *failure*."""
        self.failure = self.failure or failure
        self.lost_records += self.held_records
        self.counts.clear()
        self.packer.opened.clear()
        for queue in self.router.queues:
            queue.clear()


def _recreated(stream: str, written: int) -> PutError:
    """Return the error for a recreated stream, after *written* user records were written since the last flush."""
    return PutError(
        f"Stream {stream} was deleted and recreated while it was written to. {written} user records of the time since the last "
        "flush went to the deleted stream, or to wrong shards of the new stream.",
        {"StreamRecreated": written},
        advice=Advice.WRITE_AGAIN,
        stream=stream,
    )
