"""A stream in memory with faults at chosen records, and a list of the calls that it got."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import define, field

from kinesis_core.errors import IteratorExpiredError, ServiceError, ThrottledError
from kinesis_core.model import Cut, Page, Record, Shard, StreamSummary
from support.fake_stream import FakeClock, FakeStream

ITERATOR_LIFE_S = 300.0


def throttle() -> ThrottledError:
    return ThrottledError("Rate exceeded", "ProvisionedThroughputExceededException")


@define
class Call:
    """One call that the stream was asked for."""

    at_s: float
    action: str
    shard_id: str
    cut: Cut | None = None


@define
class ScriptedStream(FakeStream):
    """A `FakeStream` with gaps, faults and trimming where a test wants them."""

    log: list[Call] = field(factory=list)
    gaps: dict[tuple[str, int], int] = field(factory=dict)
    """How many empty pages come before the record at an index of a shard; after the last one: before the tip."""
    is_stuck_when_trimmed: bool = False
    """Whether a position that was trimmed gives empty pages for ever, and not the oldest record."""
    stale_listings: list[list[Shard]] = field(factory=list)
    """The first responses of ListShards, before the true one."""
    stall_at_call: int | None = None
    """After so many calls the first shard stalls, for 5 minutes."""
    served: int = 0
    """Records that GetRecords has returned."""
    _faults: dict[tuple[str, str], list[ServiceError]] = field(factory=dict, init=False)
    _later: list[tuple[str, str, str, ServiceError]] = field(factory=list, init=False)
    _passed: dict[str, int] = field(factory=dict, init=False)
    """Empty pages that an iterator has passed."""
    _made_s: dict[str, float] = field(factory=dict, init=False)
    _stuck: set[str] = field(factory=set, init=False)

    def fail(self, action: str, shard_id: str, errors: Iterable[ServiceError]) -> None:
        """Let the next calls of *action* on a shard raise *errors*, one each."""
        self._faults.setdefault((action, shard_id), []).extend(errors)

    def fail_after_next(self, first: str, shard_id: str, then: str, error: ServiceError) -> None:
        """Let *error* come at the first call of *then* after the next call of *first*."""
        self._later.append((first, shard_id, then, error))

    def put_many(self, shard_id: str, count: int, every_s: float = 0.0, data: bytes = b"x") -> list[Record]:
        """Put records; each advances the clock by *every_s*."""
        put = []
        for _ in range(count):
            put.append(self.put(shard_id, data))
            self.clock.sleep(every_s)
        return put

    def leave_out(self, *shard_ids: str, responses: int) -> None:
        """Leave these shards out of the next *responses* of ListShards."""
        left = [shard for shard in FakeStream.list_shards(self) if shard.shard_id not in shard_ids]
        self.stale_listings = [left] * responses

    def calls_of(self, action: str, shard_id: str | None = None) -> list[Call]:
        return [c for c in self.log if c.action == action and shard_id in (None, c.shard_id)]

    # What the core calls

    def describe(self) -> StreamSummary:
        self.log.append(Call(self.clock.now, "DescribeStreamSummary", ""))
        return super().describe()

    def list_shards(self) -> list[Shard]:
        self.log.append(Call(self.clock.now, "ListShards", ""))
        listed = super().list_shards()
        return self.stale_listings.pop(0) if self.stale_listings else listed

    def get_iterator(self, shard_id: str, cut: Cut) -> str:
        self.log.append(Call(self.clock.now, "GetShardIterator", shard_id, cut))
        self._maybe_fail("GetShardIterator", shard_id)
        iterator = super().get_iterator(shard_id, cut)
        shard = self.shards[shard_id]
        if self.is_stuck_when_trimmed and hasattr(cut, "number") and self._index(shard, cut) < shard.trimmed:
            self._stuck.add(iterator)
        return iterator

    def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
        self.forget()
        shard_id, index = self._location_of(iterator)
        self.log.append(Call(self.clock.now, "GetRecords", shard_id))
        self._maybe_fail("GetRecords", shard_id)
        if self.clock.now - self._made_s[iterator] > ITERATOR_LIFE_S:
            raise IteratorExpiredError("Iterator expired", "ExpiredIteratorException")
        if self.stall_at_call is not None and len(self.log) > self.stall_at_call:
            self.stall_at_call = None
            self.stall(shard_id, 300)
        if self.stall_of(shard_id):
            return super().get_records(iterator, limit, with_data)
        if self.is_stuck_when_trimmed and index < self.shards[shard_id].trimmed:
            self._stuck.add(iterator)
        if iterator in self._stuck:
            return Page([], self.retention_hours * 3_600_000, iterator)
        if self._passed.get(iterator, 0) < self.gaps.get((shard_id, index), 0):
            return self._gap_page(iterator)
        page = super().get_records(iterator, self._up_to_next_gap(shard_id, index, limit), with_data)
        self.served += len(page.records)
        return page

    def _gap_page(self, iterator: str) -> Page:
        shard_id, index = self._iterators[int(iterator)]
        passed = self._passed.get(iterator, 0) + 1
        further = self._iterator(shard_id, index)
        self._passed[further] = passed
        left = self.gaps[shard_id, index] - passed
        following = self.shards[shard_id].records[
            index : index + 1
        ]  # further from the tip than the gap's end
        lag_ms = max((self.now_ms() - (record.arrived_ms or 0) for record in following), default=0)
        return Page([], lag_ms + 1000 * left + 1, further)

    def _up_to_next_gap(self, shard_id: str, index: int, limit: int) -> int:
        ahead = [gap - index for shard, gap in self.gaps if shard == shard_id and gap > index]
        return min([limit, *ahead])

    def _iterator(self, shard_id: str, index: int) -> str:
        iterator = super()._iterator(shard_id, index)
        self._made_s[iterator] = self.clock.now
        return iterator

    def _maybe_fail(self, action: str, shard_id: str) -> None:
        waiting = self._faults.get((action, shard_id))
        if waiting:
            raise waiting.pop(0)
        for fault in [f for f in self._later if f[:2] == (action, shard_id)]:
            self._later.remove(fault)
            self.fail(fault[2], shard_id, [fault[3]])


def scripted_stream(shards: int = 1, name: str = "orders", clock: FakeClock | None = None) -> ScriptedStream:
    """Return a new stream without faults."""
    stream = ScriptedStream(clock or FakeClock(), name=name)
    stream.create(shards)
    return stream
