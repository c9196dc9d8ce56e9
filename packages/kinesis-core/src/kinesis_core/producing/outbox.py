"""
What a producer holds, and what is to be done with it next: pure state, without threads, calls or a clock.

User records are offered, gathered in boxes, become parcels in the lane of their shard, are sent, and are then in the
stream, or in a lane again. They leave in no other way, but for a failure that everybody hears of.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from attrs import define, evolve, field

from kinesis_core.aggregation import AggregateBuilder
from kinesis_core.errors import PutError, ServiceError, ThrottledError
from kinesis_core.producing.failures import THROTTLED, put_error
from kinesis_core.producing.fates import fates
from kinesis_core.producing.lanes import Lane
from kinesis_core.producing.ledger import Ledger
from kinesis_core.producing.parcels import Box, Label, Parcel, plain_parcel
from kinesis_core.producing.router import Groups, Router
from kinesis_core.producing.routing import ShardMap
from kinesis_core.producing.rows import Rows
from kinesis_core.producing.settings import ProducerSettings
from kinesis_core.puts import MAX_PUT_RECORDS, PutAnswer
from kinesis_core.service_errors import is_retryable

REQUEST_BYTES = 2 * 1024 * 1024
"""
A request that holds so much is not filled up to the 10 MiB it may have: each connection needs the memory for it, and
larger ones are hardly faster.
"""
_PART_OF_TTL = 4
"""What waits for a shard shall be written in this part of the time that a record has."""
_NEVER_SENT = frozenset({"EndpointConnectionError", "ConnectTimeoutError", "ProxyConnectionError"})

Landing = tuple[Parcel, str]
"""An aggregate, and the shard that it came to, which is another than it was made for."""


@define(eq=False)
class Outbox:
    """The records of one producer. The caller sees to it that one thread at a time uses it."""

    stream: str
    settings: ProducerSettings
    max_record_bytes: int
    router: Router
    rng: random.Random
    hurry: int = field(default=0, init=False)
    """How many callers wait: as long as some do, nothing waits for others to share a request with."""
    failure: PutError | None = field(default=None, init=False)
    ledger: Ledger = field(factory=Ledger, init=False)
    _generation: int = field(default=0, init=False)

    @classmethod
    def open(
        cls,
        stream: str,
        shards: ShardMap,
        settings: ProducerSettings,
        max_record_bytes: int,
        rng: random.Random,
    ) -> Outbox:
        longest_window_s = settings.record_ttl_s / _PART_OF_TTL
        return cls(stream, settings, max_record_bytes, Router(shards, longest_window_s), rng)

    # Putting

    def offer(self, groups: Groups, now_s: float) -> Groups:
        """Take in the groups that there is room for, and return the others."""
        left: Groups = {}
        for lane, rows in self._regrouped(groups):
            if lane.is_full or self.is_full:
                left[lane] = rows
            else:
                self._take_in(lane, rows, now_s)
        if self.is_full and 2 * self.ledger.boxed_bytes >= self.ledger.held_bytes:
            self.seal()  # what fills the buffer has to get out of it
        return left

    @property
    def is_full(self) -> bool:
        return self.ledger.held_bytes >= self.settings.buffer_bytes

    def _regrouped(self, groups: Groups) -> Iterator[tuple[Lane, Rows]]:
        """Yield the groups; for a shard that is gone by now, by the shards that took its place."""
        for lane, rows in groups.items():
            yield from self.router.group(rows).items() if lane.is_gone else ((lane, rows),)

    def _take_in(self, lane: Lane, rows: Rows, now_s: float) -> None:
        settings = self.settings
        due_s = now_s + settings.record_max_buffered_time_s
        label = Label(due_s, now_s + settings.record_ttl_s, self._generation)
        if not settings.aggregation_enabled:
            parcel = plain_parcel(lane.shard_id, rows, label)
            self.ledger.enter(parcel)
            lane.put_or_merge(parcel, now_s)
            return
        before_bytes = lane.box.held_bytes if lane.box else 0
        lane.box = self._fill_boxes(lane, rows, label, lane.box)
        self.ledger.boxed_bytes += (lane.box.held_bytes if lane.box else 0) - before_bytes

    def _fill_boxes(self, lane: Lane, rows: Rows, label: Label, box: Box | None) -> Box | None:
        """Put *rows* into *box* and further ones, let the full ones wait as parcels, and return the last, if open."""
        place = 0
        while place < len(rows):
            box = box or self._new_box(label)
            place = box.extend(rows, place)
            if place == len(rows):
                return box
            if box.builder.count:
                self._enqueue(lane, box.close(lane.shard_id))
            else:  # too large to share an aggregate with anything
                self._enqueue(lane, plain_parcel(lane.shard_id, rows.part(place, place + 1), label))
                place += 1
            box = None
        return None

    def _new_box(self, label: Label) -> Box:
        return Box(
            AggregateBuilder(min(self.settings.aggregation_max_size, self.max_record_bytes - 1)), label
        )

    def _enqueue(self, lane: Lane, parcel: Parcel) -> None:
        self.ledger.enter(parcel)
        lane.put(parcel)

    def _seal(self, lane: Lane) -> None:
        box, lane.box = lane.box, None
        if box is not None:
            self.ledger.boxed_bytes -= box.held_bytes
            self._enqueue(lane, box.close(lane.shard_id))

    def seal(self) -> None:
        """Close all boxes: nothing waits for more to come."""
        for lane in self.router.lanes:
            self._seal(lane)

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
                self._seal(lane)
        late = [parcel for lane in self.router.lanes for parcel in lane.expired(now_s)]
        if late:
            self._give_up(late, f"they were not written within {self.settings.record_ttl_s:g} s")
        lanes = [lane for lane in self.router.lanes if lane.can_fly and lane.pace.rests_until_s <= now_s]
        return self._fill_request(lanes) if self._is_worth_a_request(lanes, now_s) else []

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
        self.ledger.tally["requests"] += 1
        return request

    def wait_s(self, now_s: float) -> float | None:
        """Return in how many seconds to call `take`, if nothing else happens before; None: never."""
        lanes = self.router.lanes
        times = [lane.next_s(hurry=bool(self.hurry)) for lane in lanes if lane.queue]
        times += [lane.box.label.due_s for lane in lanes if lane.box is not None]
        return max(0.0, min(times) - now_s) if times else None

    # What became of it

    def settle(self, request: Sequence[Parcel], answer: PutAnswer, now_s: float) -> list[Landing]:
        """
        Note the answer to a request. Returns the aggregates that came to another shard than they were made for:
        they wait for `place`.
        """
        landings: list[Landing] = []
        refused: list[Parcel] = []
        for parcel, fate in zip(request, fates(request, answer), strict=True):
            self.router.lane(parcel.shard_id).landed(parcel)
            if fate.elsewhere is not None:
                landings.append((parcel, fate.elsewhere))
            elif fate.written is not None:
                self._note_written(fate.written)
            if fate.refused is not None:
                refused.append(fate.refused)
        self._pace(request, refused, now_s)
        self._send_again(refused)
        return landings

    def bounce(self, request: Sequence[Parcel], error: ServiceError, now_s: float) -> None:
        """Note that a request failed as a whole."""
        is_throttled = isinstance(error, ThrottledError)
        is_unsure = error.retryable and not is_throttled and error.code not in _NEVER_SENT
        for parcel in request:
            self.router.lane(parcel.shard_id).landed(parcel)
            parcel.label = parcel.label.again(error.code, str(error), is_unsure=is_unsure)
        self._pace(request, request, now_s, is_throttled=is_throttled)
        self._send_again(request, is_hopeless=not error.retryable)

    def _pace(
        self,
        request: Sequence[Parcel],
        refused: Sequence[Parcel],
        now_s: float,
        *,
        is_throttled: bool = False,
    ) -> None:
        """Let each shard of a request go faster or slower."""
        throttled = {
            parcel.shard_id for parcel in refused if is_throttled or parcel.label.reason == THROTTLED
        }
        failed = {parcel.shard_id for parcel in refused} - throttled
        for shard_id in throttled:
            self.router.lane(shard_id).pace.throttled(now_s, self.rng)
        for shard_id in failed:
            self.router.lane(shard_id).pace.failed(now_s, self.rng)
        for parcel in request:
            if parcel.shard_id not in throttled | failed:
                self.router.lane(parcel.shard_id).pace.accepted(len(parcel.entries), parcel.size_bytes)
        for parcel in refused:
            name = "throttled" if parcel.shard_id in throttled else "failed"
            self.ledger.tally[name] += len(parcel.entries)

    def _send_again(self, refused: Sequence[Parcel], *, is_hopeless: bool = False) -> None:
        if self.failure is not None:
            return
        lost = [parcel for parcel in refused if is_hopeless or not is_retryable(parcel.label.reason)]
        if lost:
            self._give_up(lost, "Kinesis refused them")
            return
        for parcel in reversed(refused):  # those that waited longest stay in front
            lane = self.router.lane(parcel.shard_id)
            if lane.is_gone:
                self._scatter(parcel)
            else:
                lane.put(parcel, first=True)

    def _note_written(self, parcel: Parcel) -> None:
        self.ledger.note_written(parcel)
        if self.failure is None:
            self.ledger.strike_out(parcel)

    def give_up(self, failure: PutError) -> None:
        """Let everybody know of *failure*, and send no more."""
        self.failure = self.failure or failure
        self.ledger.clear()
        for lane in self.router.lanes:
            lane.box = None
            lane.clear()

    def _give_up(self, lost: Sequence[Parcel], why: str) -> None:
        self.seal()
        others = self.ledger.unwritten - sum(parcel.user_records for parcel in lost)
        self.give_up(put_error(self.stream, why, lost, others))

    # When the stream is resharded

    def knows_why(self, landings: Sequence[Landing]) -> bool:
        """Return whether the shard map explains that these aggregates came to other shards."""
        shards = self.router.shards
        return all(
            shard_id in shards.ranges and parcel.shard_id not in shards.open_shards
            for parcel, shard_id in landings
        )

    def use(self, shards: ShardMap) -> None:
        """Go by a new shard map: what waits for a shard that is no longer open is sorted anew."""
        for lane in self.router.use(shards):
            self._seal(lane)
            for parcel in lane.clear():
                self._scatter(parcel)

    def place(self, landings: Sequence[Landing]) -> None:
        """
        Decide on aggregates that came to another shard: they are written if all their user records belong there.

        If one does not, all are sent again: the KCL drops the whole of such an aggregate.
        """
        for parcel, shard_id in landings:
            if self.failure is not None or not self.router.misplaced(parcel.rows(), shard_id):
                self._note_written(parcel)
            else:
                self.ledger.tally["misplaced"] += parcel.user_records
                parcel.label = parcel.label.again("Misplaced", "", is_unsure=False)
                self._scatter(parcel)

    def lose(self, landings: Sequence[Landing], error: ServiceError) -> None:
        """Give up: where these aggregates belong cannot be found out."""
        for parcel, _ in landings:
            parcel.label = parcel.label.again(error.code, str(error), is_unsure=False)
        if self.failure is None:
            self._give_up(
                [parcel for parcel, _ in landings], "the shards that they belong to cannot be listed"
            )

    def _scatter(self, parcel: Parcel) -> None:
        """Sort the user records of a parcel into the lanes of the shards that are open now."""
        self.ledger.strike_out(parcel)
        for lane, rows in self.router.group(parcel.rows()).items():
            if not self.settings.aggregation_enabled:
                self._enqueue(lane, plain_parcel(lane.shard_id, rows, parcel.label))
                continue
            box = self._fill_boxes(lane, rows, parcel.label, None)
            if box is not None:
                self._enqueue(lane, box.close(lane.shard_id))
