"""Generated histories of a stream that is followed up to limits, again and again: every record once, in order, within the limits."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from attrs import define, evolve, field
from hypothesis import given, settings, strategies as st

from kinesis_core import PlanSettings, ReadSettings, Stream
from kinesis_core.batch import Pages
from kinesis_core.follow import Follow
from kinesis_core.model import RangeGroup
from kinesis_core.reading import PollingRangeReader
from property.histories import (
    HORIZON_MARGIN_S,
    RETENTION_HOURS,
    History,
    Read,
    assert_all_read,
    moods,
    play,
    put,
    reshard,
    rest,
    steps,
)
from support.examples import examples
from support.fake_stream import FakeClock, FakeStream, Mood

some_limits = st.fixed_dictionaries(
    {
        "max_records": st.sampled_from([None, 1, 3, 10, 100]),
        "max_bytes": st.sampled_from([None, 1, 50, 2000]),
        "max_seconds": st.sampled_from([0.3, 2.0, 20.0]),
    }
)


class InOneThread(Stream):
    """A stream whose batches are read in the thread that asks: a fake stream is not safe in threads."""

    def _pages(self, groups: Any, with_data: bool, _max_page_bytes: float) -> Pages:
        chosen: list[RangeGroup] = list(groups)
        settings = ReadSettings(max_records_per_fetch=7)
        reader = PollingRangeReader(lambda _: self._api, settings, random.Random(2), with_data)
        for group in chosen:
            for part in group:
                for page in reader.read(part, self._clock):
                    yield part, page


@define
class Runs:
    """A program that follows a stream up to a limit, saves the offset, and does so again."""

    stream: FakeStream
    limits: dict[str, Any]
    as_arrow: bool
    from_batch: bool
    """Whether the saved offset is that of the last batch, where there is one."""
    offset: str | None = None
    batches: list[Read] = field(factory=list)

    def restart(self) -> None:
        """Each run begins anew in any case."""

    def run_batch(self, *, crash: bool = False) -> bool:
        plan = PlanSettings(trim_horizon_margin_s=HORIZON_MARGIN_S)
        clock = self.stream.clock
        opened = InOneThread("orders", "eu-west-1", "orders", self.stream, plan, ReadSettings(), clock)
        opened._plan_threads = 1
        start = "TRIM_HORIZON" if self.offset is None else json.loads(self.offset)
        follow = opened.follow(start, **self.limits)
        read, offset = self._arrow(follow) if self.as_arrow else self._batches(follow)
        if not crash:
            self.offset = json.dumps(offset)
            self.batches.append(read)
        return bool(read)

    def drain(self) -> None:
        """Run until nothing is new any more, however unhelpful the service is, with larger limits."""
        limits = {name: most and 10 * most for name, most in self.limits.items()}
        self.limits = {**limits, "max_seconds": 30.0}
        rest(self.stream.clock, self.run_batch)

    def _arrow(self, follow: Follow) -> tuple[Read, object]:
        read, size_bytes, started_s = Read(), 0, self.stream.clock.now
        for rows in follow.record_batches(["shardId", "sequenceNumber", "data"]):
            assert self.stream.clock.now < started_s + self.limits["max_seconds"]
            read += zip(rows["shardId"].to_pylist(), rows["sequenceNumber"].to_pylist(), strict=True)
            size_bytes += sum(map(len, rows["data"].to_pylist()))
        self._assert_within(len(read), size_bytes)
        return read, follow.offset

    def _batches(self, follow: Follow) -> tuple[Read, object]:
        read, size_bytes, offset = Read(), 0, None
        for batch in follow:
            records = list(batch.records())
            read += [(record.shard_id, record.sequence_number) for record in records]
            size_bytes += sum(len(record.data) for record in records)
            offset = batch.offset
            assert offset == follow.offset
        self._assert_within(len(read), size_bytes)
        return read, offset if offset and self.from_batch else follow.offset

    def _assert_within(self, count: int, size_bytes: int) -> None:
        max_records, max_bytes = self.limits["max_records"], self.limits["max_bytes"]
        assert max_records is None or count <= max_records
        assert max_bytes is None or size_bytes <= max_bytes or count == 1


@settings(max_examples=examples(60), deadline=None)
@given(
    st.integers(1, 3),
    moods,
    st.lists(st.integers(0, 99), max_size=3),
    steps,
    some_limits,
    st.booleans(),
    st.booleans(),
    st.sampled_from([60, 16 * 1024 * 1024]),
    st.booleans(),
    st.integers(),
)
def test_every_record_is_followed_once(
    shards: int,
    mood: Mood,
    resharded: list[int],
    history: History,
    limits: dict[str, Any],
    as_arrow: bool,
    from_batch: bool,
    held_bytes: int,
    is_young: bool,
    seed: int,
) -> None:
    """Wherever a limit ends a follow, the next one continues exactly there: across reshards, throttles, gaps and runs that are repeated."""
    # Of an old stream, a first listing without its oldest shards looks as if they had left it.
    stream = FakeStream(
        FakeClock(), random.Random(seed), mood if is_young else evolve(mood, stale_listings=0)
    )
    stream.retention_hours = RETENTION_HOURS
    if is_young:
        stream.created_ms = stream.now_ms()
    stream.create(shards)
    for where in resharded:
        put(stream, where, 5, 0.01)
        reshard(stream, "split" if where % 2 else "merge", where)
    runs = Runs(stream, limits, as_arrow, from_batch)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kinesis_core.follow.HELD_BYTES", held_bytes)
        play(stream, runs, history)  # type: ignore[arg-type] # it has what `play` calls
        assert_all_read(runs)  # type: ignore[arg-type]
