"""Generated shards that take in at most 1,000 records and 1 MiB a second: what a batch of them holds."""

from __future__ import annotations

from hypothesis import given, settings, strategies as st

from kinesis_core.model import Record, ShardOffset, TrimHorizon
from kinesis_core.planning import Limits, PlanSettings
from kinesis_core.planning.batch_end import PROBES_FURTHER, WIDEST, plan_end
from support.examples import examples
from support.fake_stream import FakeClock
from support.one_shard import OneShard
from support.planned import Planned
from support.scripted_stream import scripted_stream

BYTES_A_MS = 1024 * 1024 / 1000
spells = st.lists(
    st.tuples(st.integers(1, 120), st.sampled_from([1, 1, 3, 50, 2000]), st.sampled_from([0, 100, 20_000])),
    min_size=1,
    max_size=6,
)
"""Spells of so many records, each so many milliseconds and bytes after the one before."""


def spacing_ms(every_ms: int, size: int) -> int:
    """Return how far records of *size* are apart at least: a shard takes no more bytes a second."""
    return max(every_ms, -int(-size // BYTES_A_MS))


def filled(history: list[tuple[int, int, int]]) -> OneShard:
    """Return a shard with these records, all of them some time ago."""
    one = OneShard()
    at_ms = one.stream.now_ms()
    for count, every_ms, size in history:
        for record in one.put(count, data=b"x" * size):
            record.arrived_s = at_ms / 1000
            at_ms += spacing_ms(every_ms, size)
    one.stream.clock.now = at_ms / 1000 + 10
    return one


def drain(one: OneShard, limits: Limits) -> list[list[Record]]:
    start, batches = ShardOffset(TrimHorizon()), list[list[Record]]()
    while True:
        end = plan_end(one.state, start, limits)
        if end is start:
            return batches
        batches.append(one.between(start.cut, end))
        start = end


@settings(max_examples=examples(200), deadline=None)
@given(spells, st.sampled_from([1, 2, 10, 26, 60, 200]))
def test_records_of_a_batch(history: list[tuple[int, int, int]], limit: int) -> None:
    """
    A batch holds as many records as it may at most.

    Where samples of sparse spells surround a dense one, it holds so many times that, and one more before each sample.
    """
    one = filled(history)
    batches = drain(one, Limits(max_records=limit))
    assert [r for batch in batches for r in batch] == one.records
    largest = max(map(len, batches))
    is_even = len({spacing_ms(every_ms, size) for _, every_ms, size in history}) == 1
    assert largest <= (limit if is_even else WIDEST * limit + PROBES_FURTHER)


@settings(max_examples=examples(200), deadline=None)
@given(spells, st.sampled_from([1, 500, 30_000, 300_000]))
def test_bytes_of_a_batch(history: list[tuple[int, int, int]], limit: int) -> None:
    """
    A batch holds as many bytes as it may and one record more at most.

    Where samples of sparse spells surround a dense one, it holds so many times that, and one more record before each sample.
    """
    one = filled(history)
    batches = drain(one, Limits(max_bytes=limit))
    assert [r for batch in batches for r in batch] == one.records
    record = max(len(r.data) for r in one.records)
    largest = max(sum(len(r.data) for r in batch) for batch in batches)
    most = limit if len(history) == 1 else WIDEST * limit + PROBES_FURTHER * record
    assert largest <= most + record


@settings(max_examples=examples(20), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 300), st.sampled_from([1, 3, 40, 900])), min_size=2, max_size=6),
    st.sampled_from([1, 5, 40, 250]),
    st.sampled_from([1, 30]),
)
def test_records_of_all_shards_in_a_batch(shards: list[tuple[int, int]], limit: int, period_s: int) -> None:
    """A limit of a batch holds for all streams and shards together, whichever are behind; one record each, where it is less."""
    clock = FakeClock()
    streams = [
        scripted_stream(len(part), name, clock) for name, part in (("a", shards[::2]), ("b", shards[1::2]))
    ]
    ids = [(stream, shard_id) for stream in streams for shard_id in stream.shards]
    started_ms, put = streams[0].now_ms(), 0
    for (stream, shard_id), (count, every_ms) in zip(ids, shards, strict=True):
        for i, record in enumerate(stream.put_many(shard_id, count)):
            record.arrived_s = (started_ms + i * every_ms) / 1000
        put += count
    clock.sleep(300)
    query = Planned([*streams], settings=PlanSettings(batch_limits=Limits(max_records=limit)))
    while read := query.batch():
        assert len(read) <= max(limit, len(shards))
        put -= len(read)
        clock.sleep(period_s)
    assert put == 0
