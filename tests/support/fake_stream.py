"""A stream in memory that implements the API of AWS, as unhelpful as Kinesis may be, with time as an argument."""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right

from attrs import define, evolve, field, frozen

from kinesis_core.errors import InvalidRequestError, IteratorExpiredError, StreamNotFoundError, ThrottledError
from kinesis_core.model import (
    After,
    At,
    AtTimestamp,
    Cut,
    Page,
    Record,
    Shard,
    ShardEnd,
    StreamSummary,
    TrimHorizon,
)

HASHES = 2**128
STALE_IN_A_ROW = 6
STALLS_S = (1.0, 15.0, 120.0, 400.0)
BETWEEN_STALLS_S = 60.0
STALL_LAGS_MS = (1, 90_000, 7 * 86_400_000)
STEP = 2**80
"""Neighbouring sequence numbers are this far apart."""


@define
class FakeClock:
    """A clock that moves only when somebody sleeps or says so."""

    now: float = 1_790_000_000.0

    def now_s(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += max(0.0, seconds)


@define
class FakeShard:
    shard_id: str
    parents: tuple[str, ...]
    hash_start: int
    hash_end: int
    first_number: int
    records: list[Record] = field(factory=list)
    trimmed: int = 0
    is_closed: bool = False
    closed_ms: int = 0

    def index_of(self, cut: At | After) -> int:
        """Return how many records lie before *cut*; their numbers increase, so that it need not look at each."""
        find = bisect_left if isinstance(cut, At) else bisect_right
        return find(self.records, cut.number, key=lambda record: record.number)


@frozen
class Mood:
    """How often, of 100 calls, the service is unhelpful."""

    throttles: int = 0
    empty_pages: int = 0
    short_pages: int = 0
    expiries: int = 0
    end_page_of_its_own: bool = False
    jitter_ms: int = 0
    """How far arrival times may be off, in both directions."""
    stalls: int = 0
    """How often a page of a shard begins a stall, for at most 400 s. A minute is between two."""
    boasts: int = 0
    """How often a full page claims that it is at the tip, as kinesis-local does."""
    early: int = 0
    """How many records before its record an iterator begins."""
    stale_listings: int = 0
    """How often ListShards lags behind the last reshards, or leaves out shards of any reshard; in a few responses in a row at most."""


@frozen
class Stall:
    """Until a time, all pages of a shard are empty, and their lag stays as it is."""

    until_s: float
    lag_ms: int


@define
class FakeStream:
    """One stream; implements `kinesis_core.aws.stream_api.StreamApi`."""

    clock: FakeClock
    rng: random.Random = field(factory=lambda: random.Random(0))
    mood: Mood = field(factory=Mood)
    name: str = "orders"
    created_ms: int = 1_780_000_000_000
    retention_hours: int = 24
    shards: dict[str, FakeShard] = field(factory=dict)
    gone: dict[str, FakeShard] = field(factory=dict)
    """Shards that the stream has forgotten."""
    stalls: dict[str, Stall] = field(factory=dict)
    """Shards that bring empty pages for a while, whatever is in them; also those that did."""
    calls: dict[str, int] = field(factory=dict)
    by_shard: dict[str, int] = field(factory=dict)
    """GetRecords calls by shard."""
    forgets: bool = False
    """Whether records leave the stream at the end of their retention, and closed shards after the last of them."""
    _number: int = 49_600_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000
    _iterators: list[tuple[str, int]] = field(factory=list)
    _created_number: int = 0
    """Sequence numbers below it are those of an earlier stream of this name."""
    _created_iterator: int = 0
    _stale: int = 0
    """Stale listings in a row."""

    def create(self, shards: int) -> FakeStream:
        width = HASHES // shards
        for i in range(shards):
            self._add((), i * width, HASHES - 1 if i == shards - 1 else (i + 1) * width - 1)
        return self

    def recreate(self, shards: int) -> FakeStream:
        """Delete the stream, and create another one of the same name."""
        self.shards.clear()
        self.created_ms = self.now_ms()
        self._created_number, self._created_iterator = self._next_number(), len(self._iterators)
        return self.create(shards)

    def put(self, shard_id: str, data: bytes, key: str | None = "k") -> Record:
        shard = self.shards[shard_id]
        assert not shard.is_closed, "a closed shard takes no records"
        off_ms = self.rng.randint(-self.mood.jitter_ms, self.mood.jitter_ms)
        arrived_s = int(self.clock.now * 1000 + off_ms) / 1000
        record = Record(str(self._next_number()), data, key, arrived_s)
        shard.records.append(record)
        return record

    def split(self, shard_id: str) -> list[str]:
        shard = self._close(shard_id)
        middle = (shard.hash_start + shard.hash_end) // 2
        spans = ((shard.hash_start, middle), (middle + 1, shard.hash_end))
        return [self._add((shard_id,), *span) for span in spans]

    def merge(self, first: str, second: str) -> str:
        one, two = self._close(first), self._close(second)
        return self._add(
            (first, second), min(one.hash_start, two.hash_start), max(one.hash_end, two.hash_end)
        )

    def open_shards(self) -> list[str]:
        return [s.shard_id for s in self.shards.values() if not s.is_closed]

    def ancestors(self, shard_id: str) -> set[str]:
        """Return the parents of a shard, their parents and so on, also those that have left the stream."""
        shard = self.shards.get(shard_id) or self.gone.get(shard_id)
        parents = shard.parents if shard else ()
        return {*parents, *(older for parent in parents for older in self.ancestors(parent))}

    def trim(self, shard_id: str, count: int) -> None:
        """Let the oldest *count* records fall out of retention."""
        self.shards[shard_id].trimmed = count

    def stall(self, shard_id: str, seconds: float, lag_ms: int = 90_000) -> None:
        """Let a shard bring nothing for so long, from its oldest record neither."""
        self.stalls[shard_id] = Stall(self.clock.now + seconds, lag_ms)

    def stall_at_random(self, shard_id: str) -> Stall | None:
        """Return the stall that a shard is in, and let one begin now and then."""
        last = self.stalls.get(shard_id)
        is_free = last is None or self.clock.now >= last.until_s + BETWEEN_STALLS_S
        if self.mood.stalls and is_free and self._happens(self.mood.stalls):
            self.stall(shard_id, self.rng.choice(STALLS_S), self.rng.choice(STALL_LAGS_MS))
        return self.stall_of(shard_id)

    def stall_of(self, shard_id: str) -> Stall | None:
        """Return the stall that a shard is in now."""
        stall = self.stalls.get(shard_id)
        return stall if stall is not None and self.clock.now < stall.until_s else None

    def forget(self) -> None:
        """Let what is older than the retention go, if the stream forgets."""
        if not self.forgets:
            return
        kept_ms = self.now_ms() - self.retention_hours * 3_600_000
        for shard in self.shards.values():
            left = (i for i, record in enumerate(shard.records) if (record.arrived_ms or 0) >= kept_ms)
            shard.trimmed = max(shard.trimmed, next(left, len(shard.records)))
        gone = [s for s, shard in self.shards.items() if shard.is_closed and shard.closed_ms < kept_ms]
        self.gone.update((shard_id, self.shards.pop(shard_id)) for shard_id in gone)

    def retain(self, hours: int) -> None:
        """Change the retention. What has expired by the old one does not come back, and a shorter one lets records expire at once."""
        self.forget()
        self.retention_hours = hours
        self.forget()

    # What the core calls

    def now_ms(self) -> int:
        return int(self.clock.now * 1000)

    def describe(self) -> StreamSummary:
        self._count("DescribeStreamSummary")
        arn = f"arn:aws:kinesis:eu-west-1:000000000000:stream/{self.name}"
        return StreamSummary(self.name, arn, "ACTIVE", self.created_ms, self.retention_hours)

    def list_shards(self) -> list[Shard]:
        self._count("ListShards")
        self.forget()
        listed = [self._describe(shard) for shard in self.shards.values()]
        self.rng.shuffle(listed)
        is_stale = self.mood.stale_listings and self._happens(self.mood.stale_listings)
        self._stale = self._stale + 1 if is_stale and self._stale < STALE_IN_A_ROW else 0
        return self._staled(listed) if self._stale else listed

    def _staled(self, listed: list[Shard]) -> list[Shard]:
        """Leave out up to 3 shards of reshards, or the newest ones; some of their parents look open then."""
        resharded = sorted(s.shard_id for s in listed if s.parents or not s.is_open)
        count = self.rng.randint(0, min(3, len(resharded)))
        is_older = self._happens(50)
        out = resharded[len(resharded) - count :] if is_older else self.rng.sample(resharded, count)
        left = [shard for shard in listed if shard.shard_id not in out]
        followed = {parent for shard in left for parent in shard.parents}
        return [s if s.shard_id in followed or not is_older else evolve(s, ending_number=None) for s in left]

    def get_iterator(self, shard_id: str, cut: Cut) -> str:
        self._count("GetShardIterator")
        self.forget()
        if shard_id not in self.shards:
            raise StreamNotFoundError(f"Shard {shard_id} does not exist", "ResourceNotFoundException")
        if isinstance(cut, AtTimestamp) and cut.epoch_ms > self.now_ms():
            raise InvalidRequestError("a time in the future", "InvalidArgumentException")
        if isinstance(cut, (At, After)) and cut.number < self._created_number:
            raise InvalidRequestError("it did not come from this stream", "InvalidArgumentException")
        shard = self.shards[shard_id]
        early = self.mood.early if isinstance(cut, (At, After)) else 0
        return self._iterator(shard_id, max(shard.trimmed, self._index(shard, cut) - early))

    def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
        self._count("GetRecords")
        self.forget()
        shard_id, index = self._location_of(iterator)
        self.by_shard[shard_id] = self.by_shard.get(shard_id, 0) + 1
        self._be_moody()
        shard = self.shards[shard_id]
        if stall := self.stall_at_random(shard_id):
            return Page([], stall.lag_ms, self._iterator(shard_id, index))
        index = max(index, shard.trimmed)  # in silence, as the service may
        size = 0 if self._happens(self.mood.empty_pages) else limit
        if self._happens(self.mood.short_pages):
            size = min(size, self.rng.randint(1, 3))
        records = shard.records[index : index + size]
        page = self._page(shard, index + len(records), records, with_data)
        if self.mood.boasts and len(records) == limit and self._happens(self.mood.boasts):
            page.millis_behind = 0
        return page

    def _location_of(self, iterator: str) -> tuple[str, int]:
        """
        Return what an iterator points at.

        That one of a stream that is no more says the same as one that has expired is the worst that may be: what
        AWS says is not documented.
        """
        if int(iterator) < self._created_iterator:
            raise IteratorExpiredError("Iterator expired", "ExpiredIteratorException")
        shard_id, index = self._iterators[int(iterator)]
        if shard_id not in self.shards:
            raise StreamNotFoundError(f"Shard {shard_id} does not exist", "ResourceNotFoundException")
        return shard_id, index

    def _page(self, shard: FakeShard, index: int, records: list[Record], with_data: bool) -> Page:
        is_last = index >= len(shard.records)
        at_end = is_last and shard.is_closed and not (records and self.mood.end_page_of_its_own)
        behind_ms = 0 if is_last else max(1, self.now_ms() - (shard.records[index].arrived_ms or 0))
        copies = [
            Record(r.sequence_number, r.data if with_data else b"", r.partition_key, r.arrived_s)
            for r in records
        ]
        size = sum(len(r.data) for r in records) * 4 // 3
        return Page(
            copies, behind_ms, None if at_end else self._iterator(shard.shard_id, index), body_bytes=size
        )

    def _be_moody(self) -> None:
        if self._happens(self.mood.throttles):
            raise ThrottledError("Rate exceeded", "ProvisionedThroughputExceededException")
        if self._happens(self.mood.expiries):
            raise IteratorExpiredError("Iterator expired", "ExpiredIteratorException")

    def _happens(self, percent: int) -> bool:
        return self.rng.randrange(100) < percent

    def _count(self, action: str) -> None:
        self.calls[action] = self.calls.get(action, 0) + 1

    def _iterator(self, shard_id: str, index: int) -> str:
        self._iterators.append((shard_id, index))
        return str(len(self._iterators) - 1)

    def _index(self, shard: FakeShard, cut: Cut) -> int:
        match cut:
            case ShardEnd():
                raise ValueError("nothing lies after the end of a shard")
            case TrimHorizon():
                return 0
            case At() | After():
                return shard.index_of(cut)
            case AtTimestamp(epoch_ms):  # times do not increase, so each is looked at
                near_s = (epoch_ms - 1) / 1000
                found = (
                    i
                    for i, record in enumerate(shard.records)
                    if (record.arrived_s or 0.0) >= near_s and (record.arrived_ms or 0) >= epoch_ms
                )
                return next(found, len(shard.records))

    def _next_number(self) -> int:
        self._number += STEP * self.rng.randint(1, 9)
        return self._number

    def _close(self, shard_id: str) -> FakeShard:
        shard = self.shards[shard_id]
        assert not shard.is_closed, "only an open shard can be resharded"
        shard.is_closed, shard.closed_ms = True, self.now_ms()
        return shard

    def _add(self, parents: tuple[str, ...], hash_start: int, hash_end: int) -> str:
        shard_id = f"shardId-{len(self.shards) + len(self.gone):012d}"
        self.shards[shard_id] = FakeShard(shard_id, parents, hash_start, hash_end, self._next_number())
        return shard_id

    def _describe(self, shard: FakeShard) -> Shard:
        parent, adjacent = (*shard.parents, None, None)[:2]
        ending = 2**63 - 1 if shard.is_closed else None
        return Shard(
            shard.shard_id, parent, adjacent, shard.hash_start, shard.hash_end, shard.first_number, ending
        )
