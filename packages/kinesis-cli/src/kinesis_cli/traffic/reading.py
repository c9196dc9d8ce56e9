"""
How busy shards are.

All of a shard's latest records are read. Where more came than a sample may read, parts of the later time are read, which stand for
all of it. They lie evenly in it, and the last one ends now. Their length does not depend on what comes in them, so their rate is right
on average.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress

from attrs import frozen

from kinesis_cli.parallel import THREADS, call_each
from kinesis_cli.traffic.paging import PageReader
from kinesis_cli.traffic.samples import ABOUT, AT_LEAST, EXACT, MAX_BYTES_PER_S, SHORTEST_MS, Sample, extended
from kinesis_cli.traffic.tally import Tally
from kinesis_core.aws import StreamApi
from kinesis_core.clock import Clock, SystemClock
from kinesis_core.errors import StreamNotFoundError, ThrottledError
from kinesis_core.model import AtTimestamp, Shard
from kinesis_core.shards import VISIT_PAGES, Cursor

MIB = 1024 * 1024
PARTS = 4
"""Parts of the time that are read where all of it is too much."""
PART_CALLS = 8
"""Maximum calls for a part. One is enough where no page is empty."""
_CLOCK_MS = 1000
"""How far the service's clock may be ahead of its lower bound, which Date headers give to the second."""
_AT_ONCE_MS = 1000
"""A shard whose first record comes later may be younger than the window."""


@frozen
class Window:
    """The time that a sample is of, in the service's milliseconds."""

    start_ms: int
    end_ms: int

    @staticmethod
    def of_last(sample_ms: int, api: StreamApi, created_ms: int) -> Window:
        """Return the last *sample_ms* milliseconds of a stream, or the time since it was created."""
        now_ms = api.now_ms()
        return Window(max(created_ms, now_ms - sample_ms), now_ms + _CLOCK_MS)

    @property
    def passed_ms(self) -> int:
        """The end of the time that has passed for sure."""
        return self.end_ms - _CLOCK_MS


@frozen
class Bounds:
    """How much a sample may read of one shard."""

    max_bytes: int
    max_calls: int = 30
    max_throttles: int = 5
    """Throttles in a row. Then other readers use up the quota, and the sample ends."""

    @property
    def part_bytes(self) -> int:
        """What a shard accepts in a part, so that all parts have half of the bytes."""
        return self.max_bytes // (2 * PARTS)

    @property
    def part_ms(self) -> int:
        """The length of a part."""
        return self.part_bytes * 1000 // MAX_BYTES_PER_S


def bounds_for(shards: int, max_bytes: int) -> Bounds:
    """Return the bounds of a sample of this many shards: *max_bytes* of each, and less of each where there are hundreds."""
    return Bounds(max(MIB // 16, min(max_bytes, 512 * MIB // max(1, shards))))


def sample_shards(
    api: StreamApi,
    shards: Sequence[Shard],
    window: Window,
    bounds: Bounds,
    *,
    by_key: bool = False,
    threads: int = THREADS,
    clock: Clock | None = None,
) -> dict[str, Sample]:
    """
    Return a sample of each of *shards* within *window*, by shard id. Shards that could not be sampled are left out.

    Raises:
        ServiceError: A call failed after its retries.
    """
    time = clock or SystemClock()

    def sample(shard: Shard) -> tuple[str, Sample | None]:
        rng = random.Random()  # noqa: S311 # jitter, not a secret
        return shard.shard_id, sample_shard(api, shard, window, bounds, time, rng, by_key=by_key)

    found = call_each(sample, shards, threads)
    return {shard_id: one for shard_id, one in found if one is not None}


def sample_shard(
    api: StreamApi,
    shard: Shard,
    window: Window,
    bounds: Bounds,
    clock: Clock,
    rng: random.Random,
    *,
    by_key: bool = False,
) -> Sample | None:
    """
    Return a sample of the records of *shard* within *window*: all of them, or parts of the time if *bounds* allow no more.

    None: the shard's readers use up its quota, or it has expired.
    """

    def open_reader(shard_id: str) -> PageReader:
        return PageReader.of(api, shard_id, window.start_ms, clock, rng, bounds.max_throttles)

    def new_tally() -> Tally:
        return Tally(shard.hash_start, shard.hash_end, by_key)

    try:
        return _Sampler(shard, window, bounds, open_reader, new_tally).sample()
    except StreamNotFoundError:
        return None


@frozen
class _Stretch:
    """What was read."""

    first_ms: int | None
    """When the first record arrived."""
    reached_ms: int
    is_whole: bool


@frozen
class _Sampler:
    shard: Shard
    window: Window
    bounds: Bounds
    open_reader: Callable[[str], PageReader]
    new_tally: Callable[[], Tally]

    def sample(self) -> Sample | None:
        tally = self.new_tally()
        try:
            return self._sample(tally) or self._at_least(tally)
        except ThrottledError:
            return self._at_least(tally) if tally.records else None

    def _sample(self, tally: Tally) -> Sample | None:
        """Return what came, as exactly as *bounds* allow; None: it could be anything."""
        start_ms, passed_ms = self.window.start_ms, self.window.passed_ms
        has_parts = PARTS * self.bounds.part_ms < passed_ms - start_ms
        most = self.bounds.max_bytes // 2 if has_parts else 2 * self.bounds.max_bytes
        reader = self.open_reader(self.shard.shard_id)
        found = _read(reader, tally, self.window.end_ms, most, self.bounds.max_calls)
        is_whole = found.is_whole or found.reached_ms >= passed_ms
        if not (is_whole or has_parts):
            return None
        covered_ms = found.reached_ms - self._born_ms(found)
        if is_whole:
            return tally.sample(max(SHORTEST_MS, covered_ms), EXACT)
        return self._with_parts(reader, tally.sample(covered_ms, ABOUT), found.reached_ms)

    def _with_parts(self, reader: PageReader, first: Sample, start_ms: int) -> Sample | None:
        """Return *first*, which ends at *start_ms*, and as many records more as parts of the later time show."""
        tally, parts_ms = self.new_tally(), 0
        rest_ms = self.window.passed_ms - start_ms
        length_ms = min(rest_ms // PARTS, self.bounds.part_ms)
        for number in range(1, PARTS + 1):
            end_ms = start_ms + number * rest_ms // PARTS
            begin_ms = end_ms - length_ms
            reader.skip_to(begin_ms, self.bounds.part_bytes)
            most = self.bounds.part_bytes + MIB
            parts_ms += _read(reader, tally, end_ms, most, PART_CALLS).reached_ms - begin_ms
        return extended(first, tally.sample(rest_ms, ABOUT), rest_ms / parts_ms) if parts_ms else None

    def _at_least(self, tally: Tally) -> Sample:
        """Return what was read, as the least that came in the whole time."""
        return tally.sample(max(SHORTEST_MS, self.window.passed_ms - self.window.start_ms), AT_LEAST)

    def _born_ms(self, found: _Stretch) -> int:
        """Return the start of the window, or about the time of the split or merge that made the shard within it."""
        start_ms = self.window.start_ms
        if found.first_ms is None or found.first_ms <= start_ms + _AT_ONCE_MS:
            return start_ms
        is_young = any(_has_records(self.open_reader(parent)) for parent in self.shard.parents)
        return found.first_ms if is_young else start_ms


def _read(reader: PageReader, tally: Tally, end_ms: int, max_bytes: int, max_calls: int) -> _Stretch:
    """Read up to *end_ms*, to the tip, or as far as *max_bytes* and *max_calls* allow."""
    first_ms, start_ms, most_bytes = None, reader.until_ms, tally.size_bytes + max_bytes
    for _ in range(max_calls):
        look = reader.read()
        for record in look.records:
            arrived_ms = record.arrived_ms or start_ms
            first_ms = arrived_ms if first_ms is None else first_ms
            if arrived_ms < end_ms:
                tally.add(record)
        if (
            look.is_last or reader.until_ms >= end_ms
        ):  # where as much comes as is read, the tip is never reached
            return _Stretch(first_ms, min(end_ms, reader.until_ms), True)
        if tally.size_bytes >= most_bytes:
            break
    return _Stretch(first_ms, reader.until_ms, False)


def _has_records(reader: PageReader) -> bool:
    """Return whether a shard that is closed now has records of the window: then its children are younger than that."""
    with suppress(ThrottledError, StreamNotFoundError):
        return bool(reader.calls.first(Cursor(AtTimestamp(reader.until_ms)), 1, VISIT_PAGES).records)
    return False
