"""An in-memory stream to write to, which refuses records, fails calls, loses responses and is resharded on demand."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from attrs import define, field, frozen

from kinesis_core.aggregation import unpack
from kinesis_core.errors import (
    InvalidRequestError,
    ServiceError,
    StreamNotFoundError,
    ThrottledError,
    UnavailableError,
)
from kinesis_core.model import PutEntry, PutResponse, PutResult, Shard, StreamSummary
from kinesis_core.producing import ProducerSettings
from kinesis_core.producing.accumulator import RecordAccumulator
from kinesis_core.producing.dispatcher import CallSteps, Dispatcher, Put, StreamCall, first_map, make
from kinesis_core.producing.responses import ResponseHandler
from kinesis_core.producing.rows import Rows, columns_of
from kinesis_core.producing.shard_map import MAX_HASH_KEY, hash_of
from kinesis_core.producing.shard_queue import ShardBatch
from support.fake_stream import FakeClock

THROTTLED = "ProvisionedThroughputExceededException"


@frozen
class UserRecord:
    """One user record as a reader gets it."""

    data: bytes
    partition_key: str
    explicit_hash_key: str | None
    shard_id: str
    is_owned: bool
    """Whether the shard owns its key."""


@frozen
class FaultRates:
    """How many of 100 records or calls fail, by kind of failure."""

    refused_records: int = 0
    failed_records: int = 0
    throttled_calls: int = 0
    failed_calls: int = 0
    lost_responses: int = 0


@define
class FakePuts:
    """Implements `kinesis_core.aws.stream_api.PutApi`."""

    rng: random.Random = field(factory=lambda: random.Random(0))
    fault_rates: FaultRates = field(factory=FaultRates)
    max_record_bytes: int = 1024 * 1024
    before_put: Callable[[Sequence[PutEntry]], None] | None = None
    before_listing: Callable[[], None] | None = None
    shards: dict[str, Shard] = field(factory=dict)
    stored: list[tuple[PutEntry, str]] = field(factory=list)
    """Each record with its shard."""
    requests: list[int] = field(factory=list)
    """Number of records of each request."""
    request_bytes: list[int] = field(factory=list)
    lost: int = 0
    """User records that were written although the response was lost."""
    listings: int = 0
    listed: int = 0
    """Number of shards in all listings."""
    descriptions: int = 0
    is_auto: bool = False
    """Whether the stream distributes its records itself: keys are ignored, and may be missing."""
    is_reported: bool = True
    """Whether DescribeStreamSummary reports the strategy. An old botocore does not pass it on."""
    created_ms: int = 1_780_000_000_000
    is_there: bool = True
    holes: int = 0
    """Number of next listings that leave out an open shard, unless it is the only shard."""
    listing_errors: list[ServiceError | None] = field(factory=list)
    """The errors of the next listings, one for each. None means that the listing succeeds."""
    without_children: int = 0
    """Number of next listings that leave out all shards with parents."""
    refuses_filter: bool = False
    """Whether the server refuses to list open shards only."""
    gone: list[tuple[PutEntry, str]] = field(factory=list)
    """The records of deleted streams."""

    def create(self, shards: int) -> FakePuts:
        width = (MAX_HASH_KEY + 1) // shards
        for index in range(shards):
            last = MAX_HASH_KEY if index == shards - 1 else (index + 1) * width - 1
            self._add(index * width, last)
        return self

    def recreate(self, shards: int) -> None:
        """Delete the stream, and create one with the same name and other shards, whose ids are the same."""
        self.gone += self.stored
        self.stored.clear()
        self.shards.clear()
        self.created_ms += 6000
        self.create(shards)

    def split(self, shard_id: str) -> None:
        shard = self._close(shard_id)
        middle = (shard.hash_start + shard.hash_end) // 2
        self._add(shard.hash_start, middle, shard_id)
        self._add(middle + 1, shard.hash_end, shard_id)

    def merge(self, first: str, second: str) -> None:
        one, two = self._close(first), self._close(second)
        self._add(min(one.hash_start, two.hash_start), max(one.hash_end, two.hash_end), first, second)

    def open_shards(self) -> list[str]:
        """Return the ids of the open shards, in the order of hash keys."""
        opened = [shard for shard in self.shards.values() if shard.is_open]
        return [shard.shard_id for shard in sorted(opened, key=lambda shard: shard.hash_start)]

    # Called by the core

    def describe(self, *, with_retries: bool = True) -> StreamSummary:  # noqa: ARG002 # the API's
        self.descriptions += 1
        self._check_there()
        is_auto = self.is_auto and self.is_reported
        return StreamSummary("orders", "arn", "ACTIVE", self.created_ms, 24, self.max_record_bytes, is_auto)

    def list_shards(self, *, with_retries: bool = True, only_open: bool = False) -> list[Shard]:  # noqa: ARG002 # the API's
        self.listings += 1
        if self.before_listing is not None:
            self.before_listing()
        self._check_there()
        error = self.listing_errors.pop(0) if self.listing_errors else None
        if error is not None:
            raise error
        if only_open and self.refuses_filter:
            raise InvalidRequestError("ShardFilter is unknown.", "InvalidArgumentException")
        self.holes -= 1
        self.without_children -= 1
        hidden = self.open_shards()[-1] if self.holes >= 0 else None
        listed = [
            shard
            for shard in self.shards.values()
            if (shard.shard_id != hidden or len(self.shards) == 1)
            and (shard.is_open or not only_open)
            and not (shard.parents and self.without_children >= 0)
        ]
        self.listed += len(listed)
        return self.rng.sample(listed, len(listed))

    def put_records(self, entries: Sequence[PutEntry], with_results: bool = True) -> PutResponse:
        if self.before_put is not None:
            self.before_put(entries)
        self._check_there()
        self.requests.append(len(entries))
        self.request_bytes.append(sum(len(e.data) + len(e.partition_key.encode()) for e in entries))
        if self._happens(self.fault_rates.throttled_calls):
            raise ThrottledError("Rate exceeded.", "LimitExceededException")
        if self._happens(self.fault_rates.failed_calls):
            raise UnavailableError("Internal failure.", "InternalFailure")
        if not self.is_auto and any(not entry.partition_key for entry in entries):
            raise InvalidRequestError("A partition key is missing.", "ValidationException")
        results = [self._put(entry) for entry in entries]
        failed = sum(result.error_code is not None for result in results)
        if self._happens(self.fault_rates.lost_responses):
            written = [e for e, result in zip(entries, results, strict=True) if result.error_code is None]
            self.lost += sum(len(_user_rows(entry)) for entry in written)
            raise UnavailableError("Read timed out.", "ReadTimeoutError")
        return PutResponse(failed, results if failed or with_results else ())

    def _put(self, entry: PutEntry) -> PutResult:
        if self._happens(self.fault_rates.refused_records):
            return PutResult(None, THROTTLED, "Rate exceeded.")
        if self._happens(self.fault_rates.failed_records):
            return PutResult(None, "InternalFailure", "Internal service failure.")
        shard_id = self._shard_of(entry)
        self.stored.append((entry, shard_id))
        return PutResult(shard_id)

    # Results

    def user_records(self) -> list[UserRecord]:
        """Return the user records that a reader gets if it delivers everything."""
        return [found for entry, shard_id in self.stored for found in self._read(entry, shard_id)]

    def kcl_user_records(self) -> list[UserRecord]:
        """Return the user records that the KCL delivers: it drops an aggregate with a user record of another shard."""
        read = [(entry, list(self._read(entry, shard_id))) for entry, shard_id in self.stored]
        return [
            found
            for entry, records in read
            if unpack(entry.data) is None or all(r.is_owned for r in records)
            for found in records
        ]

    def copies(self) -> Counter[bytes]:
        """Return how often each payload is in the stream."""
        return Counter(found.data for found in self.user_records())

    def _read(self, entry: PutEntry, shard_id: str) -> Iterator[UserRecord]:
        shard = self.shards[shard_id]
        for data, key, hash_key in _user_rows(entry):
            is_owned = shard.hash_start <= hash_of(key, hash_key) <= shard.hash_end
            yield UserRecord(data, key, hash_key, shard_id, is_owned)

    def _check_there(self) -> None:
        if not self.is_there:
            raise StreamNotFoundError("Stream orders not found.", "ResourceNotFoundException")

    def _shard_of(self, entry: PutEntry) -> str:
        if self.is_auto:
            return self.rng.choice(self.open_shards())
        hash_key = hash_of(entry.partition_key, entry.explicit_hash_key)
        return next(
            shard.shard_id
            for shard in self.shards.values()
            if shard.is_open and shard.hash_start <= hash_key <= shard.hash_end
        )

    def _happens(self, percent: int) -> bool:
        return percent > 0 and self.rng.randrange(100) < percent

    def _add(self, first: int, last: int, *parents: str) -> None:
        shard_id = f"shardId-{len(self.shards):012d}"
        parent, adjacent = (*parents, None, None)[:2]
        self.shards[shard_id] = Shard(shard_id, parent, adjacent, first, last, 1, None)

    def _close(self, shard_id: str) -> Shard:
        old = self.shards[shard_id]
        closed = Shard(
            shard_id, old.parent_id, old.adjacent_parent_id, old.hash_start, old.hash_end, 1, 2**63 - 1
        )
        self.shards[shard_id] = closed
        return closed


def _user_rows(entry: PutEntry) -> list[tuple[bytes, str, str | None]]:
    aggregate = unpack(entry.data)
    if aggregate is None:
        return [(entry.data, entry.partition_key, entry.explicit_hash_key)]
    keys = (key or "" for key in aggregate.partition_keys)
    return list(zip(aggregate.data, keys, aggregate.explicit_hash_keys, strict=True))


def payloads_of(entry: PutEntry) -> list[bytes]:
    """Return the data of the user records in a record."""
    return [data for data, _, _ in _user_rows(entry)]


@define
class Desk:
    """A producer without threads, and its stream. Time passes only when there is nothing to send."""

    puts: FakePuts
    dispatcher: Dispatcher
    clock: FakeClock

    @classmethod
    def open(cls, puts: FakePuts, settings: ProducerSettings | None = None, seed: int = 0) -> Desk:
        clock, rng, settings = FakeClock(), random.Random(seed), settings or ProducerSettings()
        accumulator = RecordAccumulator.open(
            "orders",
            first_map(puts, "orders", clock, rng, settings.record_ttl_s),
            settings,
            puts.max_record_bytes,
            rng,
            is_auto=puts.describe().is_auto_distributed,
            created_ms=puts.created_ms,
        )
        return cls(puts, Dispatcher(accumulator, clock), clock)

    @property
    def accumulator(self) -> RecordAccumulator:
        return self.dispatcher.accumulator

    @property
    def responses(self) -> ResponseHandler:
        return self.dispatcher.responses

    def put(self, rows: Rows) -> None:
        """Put *rows*, in kinesis-native if it is used, as a producer does. Requests are sent while there is no room."""
        left = self.accumulator.offer(self.accumulator.group(columns_of(rows)), self.clock.now)
        self.accumulator.waiting_callers += 1
        while left and self.accumulator.failure is None:
            self.step()
            left = self.accumulator.offer(left, self.clock.now)
        self.accumulator.waiting_callers -= 1

    def flush(self) -> None:
        """Send everything, or stop at a failure."""
        generation = self.accumulator.begin_generation()
        self.accumulator.waiting_callers += 1
        while self.accumulator.failure is None and not self.accumulator.counts.is_written(generation):
            self.step()
        self.accumulator.waiting_callers -= 1
        self.dispatcher.was_flushed = True
        self.find_out()
        if self.accumulator.failure is None:
            queues = self.accumulator.router.queues
            assert not any(queue._in_flight_records or queue._in_flight_bytes for queue in queues)

    def step(self) -> None:
        """Make a call, or wait until one is due."""
        call = self.dispatcher.take(self.clock.now)
        if call is not None:
            self.make(call)
        elif self.accumulator.failure is None:
            wait_s = self.dispatcher.wait_s(self.clock.now)
            assert wait_s is not None, "records are left, but nothing is due"
            self.clock.sleep(max(wait_s, 0.001))

    def make(self, call: StreamCall) -> None:
        """Make *call*, and handle its result."""
        self.dispatcher.on_result(call, make(self.puts, "orders", call), self.clock.now)

    def send(self, request: Sequence[ShardBatch]) -> None:
        """Send *request*, which needs no check of the shards, and handle its response."""
        self.make(Put(request, with_results=True))

    def find_out(self, steps: CallSteps | None = None) -> None:
        """Find out everything that there is to find out, and *steps*. No request is sent meanwhile."""
        if steps is not None:
            self.dispatcher.find_out(steps)
        while self.dispatcher._findings:
            call = self.dispatcher._take_finding(self.clock.now)
            if call is None:
                self.clock.sleep(self.dispatcher._due_s - self.clock.now)
            else:
                self.make(call)
