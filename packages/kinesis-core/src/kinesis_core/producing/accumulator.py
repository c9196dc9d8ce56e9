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
from kinesis_core.producing.in_flight import Ledger
from kinesis_core.producing.packer import Packer
from kinesis_core.producing.router import Groups, Router
from kinesis_core.producing.rows import Rows
from kinesis_core.producing.settings import ProducerSettings
from kinesis_core.producing.shard_batch import Label, Parcel
from kinesis_core.producing.shard_map import ShardMap, random_keys
from kinesis_core.producing.shard_queue import REQUEST_BYTES, Lane

log = get_logger("kinesis_core")

_PART_OF_TTL = 4
"""What waits for a shard shall be written in this part of the time that a record has, and waits for others no longer."""


@define(eq=False)
class Outbox:
    """The records of one producer. The caller sees to it that one thread at a time uses it."""

    stream: str
    settings: ProducerSettings
    router: Router
    rng: random.Random
    ledger: Ledger
    packer: Packer
    hurry: int = field(default=0, init=False)
    """How many callers wait: as long as some do, nothing waits for others to share a request with."""
    failure: PutError | None = field(default=None, init=False)
    _generation: int = field(default=0, init=False)
    _is_told: bool = field(default=False, init=False)
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
    ) -> Outbox:
        ledger = Ledger()
        router = Router(shards, settings.record_ttl_s / _PART_OF_TTL, random_keys(rng), is_auto)
        packer = Packer(settings, max_record_bytes, ledger, settings.aggregation_enabled and not is_auto)
        return cls(stream, settings, router, rng, ledger, packer)

    # Putting

    def group(self, rows: Rows) -> Groups:
        """Return *rows* by the lane that they are to go to."""
        if self.router.is_auto and rows.hash_keys is not None and not self._is_told:
            self._is_told = True
            log.warning("hash_keys.ignored", stream=self.stream, strategy="AUTO")
        return self.router.group(rows)

    def offer(self, groups: Groups, now_s: float) -> Groups:
        """Take in the groups that there is room for, and return the others."""
        settings = self.settings
        buffered_s = min(settings.record_max_buffered_time_s, settings.record_ttl_s / _PART_OF_TTL)
        label = Label(now_s + buffered_s, now_s + settings.record_ttl_s, self._generation)
        left: Groups = {}
        for lane, rows in self._regrouped(groups).items():
            if lane.is_full or self.is_full:
                left[lane] = rows
            else:
                self.packer.pack(lane, rows, label, now_s)
        if self.is_full and 2 * self.ledger.boxed_bytes >= self.ledger.held_bytes:
            self.seal()  # what fills the buffer has to get out of it
        return left

    @property
    def is_full(self) -> bool:
        return self.ledger.held_bytes >= self.settings.buffer_bytes

    def _regrouped(self, groups: Groups) -> Groups:
        """Return the groups; those for shards that are gone by now go to the shards that took their place."""
        if not any(lane.is_gone for lane in groups):
            return groups
        regrouped: Groups = {}
        for group in groups.values():
            for lane, rows in self.router.group(group).items():
                regrouped[lane] = regrouped[lane].joined(rows) if lane in regrouped else rows
        return regrouped

    def seal(self) -> None:
        """Close all boxes: nothing waits for more to come."""
        for lane in self.router.lanes:
            self.packer.seal(lane)

    def begin_generation(self) -> int:
        """Return the number of the generation that ends now: everything taken in before, nothing taken in later."""
        self.seal()
        self._generation += 1
        return self._generation - 1

    # Sending

    def take(self, now_s: float) -> list[Parcel]:
        """Return what the next request shall hold; nothing when there is nothing, or when it is better to wait."""
        for lane in self.router.lanes:
            if lane.box is not None and lane.box.label.due_s <= now_s:
                self.packer.seal(lane)
        late = [parcel for lane in self.router.lanes for parcel in lane.expired(now_s)]
        if late:
            self.give_up_parcels(late, f"they were not written within {self.settings.record_ttl_s:g} s")
        lanes = self._ready(now_s)
        return self._fill_request(lanes) if self._is_worth_a_request(lanes, now_s) else []

    def _ready(self, now_s: float) -> list[Lane]:
        return [lane for lane in self.router.lanes if lane.can_fly and lane.pace.rests_until_s <= now_s]

    def _is_worth_a_request(self, lanes: Sequence[Lane], now_s: float) -> bool:
        if any(self.hurry or lane.queue[0].label.due_s <= now_s for lane in lanes):
            return True
        records = sum(lane.waiting_records for lane in lanes)
        return records >= MAX_PUT_RECORDS or sum(lane.waiting_bytes for lane in lanes) >= REQUEST_BYTES

    def _fill_request(self, lanes: Sequence[Lane]) -> list[Parcel]:
        first = self.rng.randrange(len(lanes))  # so that no lane is always the last
        request: list[Parcel] = []
        room_records, room_bytes = MAX_PUT_RECORDS, REQUEST_BYTES
        for lane in (*lanes[first:], *lanes[:first]):
            for parcel in lane.take(room_records, room_bytes, must=not request):
                room_records -= len(parcel.entries)
                room_bytes -= parcel.size_bytes
                request.append(parcel)
        for parcel in request:
            if parcel.label.is_unsure:
                self.ledger.tally["resent"] += parcel.user_records
                parcel.label = evolve(parcel.label, is_unsure=False)
        self.ledger.tally["requests"] += bool(request)
        return request

    def wait_s(self, now_s: float) -> float | None:
        """Return in how many seconds to call `take`, if nothing else happens before; None: never."""
        if self._is_worth_a_request(self._ready(now_s), now_s):
            return 0.0
        lanes = self.router.lanes
        times = [lane.next_s(hurry=bool(self.hurry)) for lane in lanes if lane.queue]
        times += [lane.box.label.due_s for lane in lanes if lane.box is not None]
        return max(0.0, min(times) - now_s) if times else None

    # Coming back

    def note_written(self, parcel: Parcel) -> None:
        self.ledger.note_written(parcel)
        if self.failure is None:
            self.ledger.strike_out(parcel)

    def put_back(self, parcel: Parcel) -> None:
        """Let *parcel* wait again, before all others of its shard."""
        if parcel.lane.is_gone:
            self.scatter(parcel)
        else:
            parcel.lane.put(parcel, first=True)

    def scatter(self, parcel: Parcel, *, is_plain: bool = False) -> None:
        """Sort the user records of a parcel into the lanes of the shards that are open now; *is_plain* packs each alone."""
        self.ledger.strike_out(parcel)
        for lane, rows in self.router.group(parcel.rows()).items():
            self.packer.repack(lane, rows, parcel.label, is_plain=is_plain)

    def use(self, shards: ShardMap) -> None:
        """
        Go by a new shard map: what waits for a shard that is no longer open is sorted anew.

        If the map is of another stream, aggregates that are not flushed yet may have come to the wrong shards of
        that one, and nobody has them any more: that is a failure.
        """
        if self.router.shards.contradicts(shards):
            log.warning("stream.recreated", stream=self.stream)
            written = self.ledger.tally["user_records"]
            if written and self.packer.aggregates:
                self.give_up(recreated(self.stream, written))
        self._sort_anew(self.router.use(shards))

    def distribute(self, *, is_auto: bool) -> None:
        """Let Kinesis choose the shards from now on, or no longer: all that waits is packed and sorted anew."""
        if is_auto == self.router.is_auto:
            return
        lanes = self.router.distribute(is_auto=is_auto)
        for lane in lanes:
            self.packer.seal(lane)
        self.packer.aggregates = self.settings.aggregation_enabled and not is_auto
        self._sort_anew(lanes)
        log.info("strategy.changed", stream=self.stream, strategy="AUTO" if is_auto else "USER_PARTITION_KEY")

    def _sort_anew(self, lanes: Sequence[Lane]) -> None:
        for lane in lanes:
            self.packer.seal(lane)
            for parcel in lane.clear():
                self.scatter(parcel)

    # Giving up

    def give_up_parcels(self, lost: Sequence[Parcel], why: str) -> None:
        """Give up because *lost*, some of what is held, cannot be written."""
        self.seal()
        others = self.ledger.unwritten - sum(parcel.user_records for parcel in lost)
        self.give_up(put_error(self.stream, why, lost, others))

    def give_up(self, failure: PutError) -> None:
        """Let everybody know of *failure*, and send no more."""
        self.failure = self.failure or failure
        self.ledger.clear()
        for lane in self.router.lanes:
            lane.box = None
            lane.clear()
