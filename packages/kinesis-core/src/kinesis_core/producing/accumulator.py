"""
What a producer holds, and what is to be done with it next: pure state, without threads, calls or a clock.

User records are offered, packed into parcels in the lane of their shard, and sent; `answers.py` says what then becomes
of them. They leave in no other way, but for a failure that everybody hears of.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from attrs import define, evolve, field

from kinesis_core.errors import PutError
from kinesis_core.logs import get_logger
from kinesis_core.model import MAX_PUT_RECORDS
from kinesis_core.producing.failures import put_error, recreated
from kinesis_core.producing.in_flight import InFlightCounts
from kinesis_core.producing.packer import Packer
from kinesis_core.producing.router import Groups, Router
from kinesis_core.producing.rows import Rows
from kinesis_core.producing.settings import ProducerSettings
from kinesis_core.producing.shard_batch import SendState, ShardBatch
from kinesis_core.producing.shard_map import ShardMap, random_keys
from kinesis_core.producing.shard_queue import REQUEST_BYTES, ShardQueue

log = get_logger("kinesis_core")

_PART_OF_TTL = 4
"""What waits for a shard shall be written in this part of the time that a record has, and waits for others no longer."""


@define(eq=False)
class RecordAccumulator:
    """The records of one producer. The caller sees to it that one thread at a time uses it."""

    stream: str
    settings: ProducerSettings
    router: Router
    rng: random.Random
    counts: InFlightCounts
    packer: Packer
    hurry: int = field(default=0, init=False)
    """How many callers wait: as long as some do, nothing waits for others to share a request with."""
    failure: PutError | None = field(default=None, init=False)
    _generation: int = field(default=0, init=False)
    _is_logged: bool = field(default=False, init=False)
    """Whether it was logged that explicit hash keys are ignored."""

    @classmethod
    def open(
        cls,
        stream: str,
        shards: ShardMap,
        settings: ProducerSettings,
        max_record_bytes: int,
        rng: random.Random,
        *,
        is_auto: bool = False,
    ) -> RecordAccumulator:
        counts = InFlightCounts()
        router = Router(shards, settings.record_ttl_s / _PART_OF_TTL, random_keys(rng), is_auto)
        packer = Packer(settings, max_record_bytes, counts, settings.aggregation_enabled and not is_auto)
        return cls(stream, settings, router, rng, counts, packer)

    # Putting

    def group(self, rows: Rows) -> Groups:
        """Return *rows* by the lane that they are to go to."""
        if self.router.is_auto and rows.hash_keys is not None and not self._is_logged:
            self._is_logged = True
            log.warning("hash_keys.ignored", stream=self.stream, strategy="AUTO")
        return self.router.group(rows)

    def offer(self, groups: Groups, now_s: float) -> Groups:
        """Take in the groups that there is room for, and return the others."""
        settings = self.settings
        buffered_s = min(settings.record_max_buffered_time_s, settings.record_ttl_s / _PART_OF_TTL)
        state = SendState(now_s + buffered_s, now_s + settings.record_ttl_s, self._generation)
        left: Groups = {}
        for queue, rows in self._regrouped(groups).items():
            if queue.is_full or self.is_full:
                left[queue] = rows
            else:
                self.packer.pack(queue, rows, state, now_s)
        if self.is_full and 2 * self.counts.open_aggregate_bytes >= self.counts.held_bytes:
            self.seal()  # what fills the buffer has to get out of it
        return left

    @property
    def is_full(self) -> bool:
        return self.counts.held_bytes >= self.settings.buffer_bytes

    def _regrouped(self, groups: Groups) -> Groups:
        """Return the groups; those for shards that are gone by now go to the shards that took their place."""
        if not any(queue.is_gone for queue in groups):
            return groups
        regrouped: Groups = {}
        for group in groups.values():
            for queue, rows in self.router.group(group).items():
                regrouped[queue] = regrouped[queue].joined(rows) if queue in regrouped else rows
        return regrouped

    def seal(self) -> None:
        """Close all boxes: nothing waits for more to come."""
        for queue in self.router.queues:
            self.packer.seal(queue)

    def begin_generation(self) -> int:
        """Return the number of the generation that ends now: everything taken in before, nothing taken in later."""
        self.seal()
        self._generation += 1
        return self._generation - 1

    # Sending

    def take(self, now_s: float) -> list[ShardBatch]:
        """Return what the next request shall hold; nothing when there is nothing, or when it is better to wait."""
        for queue in self.router.queues:
            if queue.open_aggregate is not None and queue.open_aggregate.state.due_s <= now_s:
                self.packer.seal(queue)
        late = [batch for queue in self.router.queues for batch in queue.expired(now_s)]
        if late:
            self.give_up_batches(late, f"they were not written within {self.settings.record_ttl_s:g} s")
        queues = self._ready(now_s)
        return self._fill_request(queues) if self._is_worth_a_request(queues, now_s) else []

    def _ready(self, now_s: float) -> list[ShardQueue]:
        return [
            queue for queue in self.router.queues if queue.is_sendable and queue.window.rests_until_s <= now_s
        ]

    def _is_worth_a_request(self, queues: Sequence[ShardQueue], now_s: float) -> bool:
        if any(self.hurry or queue.batches[0].state.due_s <= now_s for queue in queues):
            return True
        records = sum(queue.waiting_records for queue in queues)
        return records >= MAX_PUT_RECORDS or sum(queue.waiting_bytes for queue in queues) >= REQUEST_BYTES

    def _fill_request(self, queues: Sequence[ShardQueue]) -> list[ShardBatch]:
        first = self.rng.randrange(len(queues))  # so that no lane is always the last
        request: list[ShardBatch] = []
        room_records, room_bytes = MAX_PUT_RECORDS, REQUEST_BYTES
        for queue in (*queues[first:], *queues[:first]):
            for batch in queue.take(room_records, room_bytes, must=not request):
                room_records -= len(batch.entries)
                room_bytes -= batch.size_bytes
                request.append(batch)
        for batch in request:
            if batch.state.is_unsure:
                self.counts.tally["resent"] += batch.user_records
                batch.state = evolve(batch.state, is_unsure=False)
        self.counts.tally["requests"] += bool(request)
        return request

    def wait_s(self, now_s: float) -> float | None:
        """Return in how many seconds to call `take`, if nothing else happens before; None: never."""
        if self._is_worth_a_request(self._ready(now_s), now_s):
            return 0.0
        queues = self.router.queues
        times = [queue.next_s(hurry=bool(self.hurry)) for queue in queues if queue.batches]
        times += [queue.open_aggregate.state.due_s for queue in queues if queue.open_aggregate is not None]
        return max(0.0, min(times) - now_s) if times else None

    # Coming back

    def note_written(self, batch: ShardBatch) -> None:
        self.counts.note_written(batch)
        if self.failure is None:
            self.counts.remove(batch)

    def put_back(self, batch: ShardBatch) -> None:
        """Let *parcel* wait again, before all others of its shard."""
        if batch.queue.is_gone:
            self.reroute(batch)
        else:
            batch.queue.put(batch, first=True)

    def reroute(self, batch: ShardBatch, *, is_plain: bool = False) -> None:
        """Sort the user records of a parcel into the lanes of the shards that are open now; *is_plain* packs each alone."""
        self.counts.remove(batch)
        for queue, rows in self.router.group(batch.rows()).items():
            self.packer.repack(queue, rows, batch.state, is_plain=is_plain)

    def use(self, shards: ShardMap) -> None:
        """
        Go by a new shard map: what waits for a shard that is no longer open is sorted anew.

        If the map is of another stream, aggregates that are not flushed yet may have come to the wrong shards of
        that one, and nobody has them any more: that is a failure.
        """
        if self.router.shards.contradicts(shards):
            log.warning("stream.recreated", stream=self.stream)
            written = self.counts.tally["user_records"]
            if written and self.packer.aggregates:
                self.give_up(recreated(self.stream, written))
        self._sort_anew(self.router.use(shards))

    def distribute(self, *, is_auto: bool) -> None:
        """Let Kinesis choose the shards from now on, or no longer: all that waits is packed and sorted anew."""
        if is_auto == self.router.is_auto:
            return
        queues = self.router.distribute(is_auto=is_auto)
        for queue in queues:
            self.packer.seal(queue)
        self.packer.aggregates = self.settings.aggregation_enabled and not is_auto
        self._sort_anew(queues)
        log.info("strategy.changed", stream=self.stream, strategy="AUTO" if is_auto else "USER_PARTITION_KEY")

    def _sort_anew(self, queues: Sequence[ShardQueue]) -> None:
        for queue in queues:
            self.packer.seal(queue)
            for batch in queue.clear():
                self.reroute(batch)

    # Giving up

    def give_up_batches(self, lost: Sequence[ShardBatch], why: str) -> None:
        """Give up because *lost*, some of what is held, cannot be written."""
        self.seal()
        others = self.counts.unwritten - sum(batch.user_records for batch in lost)
        self.give_up(put_error(self.stream, why, lost, others))

    def give_up(self, failure: PutError) -> None:
        """Let everybody know of *failure*, and send no more."""
        self.failure = self.failure or failure
        self.counts.clear()
        for queue in self.router.queues:
            queue.open_aggregate = None
            queue.clear()
