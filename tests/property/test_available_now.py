"""Generated runs of AvailableNow, and batches without a bound, while producers and reshards continue."""

from __future__ import annotations

from hypothesis import example, given, settings, strategies as st

from kinesis_core.planning import Limits, PlanSettings
from support.bounded_runs import Step, assert_in_order, make, moods, play, steps
from support.examples import examples
from support.fake_stream import Mood
from support.planned import Planned, Read, everything

OLD_LISTING = (
    [("split", 0), ("merge", 0), ("put", 0, 46), ("split", 0), ("put", 1, 37)],
    [("wait", 40.0), ("wait", 40.0), ("put", 0, 7)],
)
"""A history in which a listing that is older than the run's targets is whole in itself."""


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(1, 3), moods, st.sampled_from([1, 3, 20, None]), steps, steps, st.integers())
@example(2, Mood(expiries=10, end_page_of_its_own=True, stale_listings=90), 1, *OLD_LISTING, 3727)
def test_available_now_reads_what_was_there_and_ends(
    shards: int, mood: Mood, limit: int | None, before: list[Step], meanwhile: list[Step], seed: int
) -> None:
    """What is in the stream at the first plan comes exactly once, in bounded batches, and nothing that came later."""
    stream = make(shards, mood, seed)
    play(stream, before)
    query = Planned([stream], settings=PlanSettings(Limits(max_records=limit)))
    query.planner.fix_targets()
    there, waiting = everything(stream), list(meanwhile)
    read: Read = []
    for _ in range(2000):
        batch = query.batch()
        play(stream, waiting[:1])
        del waiting[:1]
        if not batch:
            break
        per_shard = [sum(1 for s, _ in batch if s == shard_id) for shard_id in stream.shards]
        # 200 records a second came, so the span that bounds a batch is exceeded by nothing but its widening
        assert limit is None or max(per_shard) <= 32 * limit
        read += batch
    else:
        raise AssertionError("AvailableNow did not end")
    assert sorted(read) == sorted(there)
    assert_in_order(stream, read)
    assert query.batch() == [], "it continued after its end"


EMPTY_BETWEEN = [("put", 0, 20), ("split", 0), ("put", 0, 20), ("split", 0), ("split", 1), ("put", 1, 10)]
"""A shard without a record between one that has many and one that has some: UpdateShardCount makes those in one step."""


@settings(max_examples=examples(200), deadline=None)
@given(
    st.integers(1, 3),
    moods,
    st.sampled_from([1, 3, 20, 1000]),
    st.lists(st.tuples(steps, steps), min_size=2, max_size=4),
    st.integers(),
)
@example(1, Mood(), 5, [([("put", 0, 1)], []), (EMPTY_BETWEEN, [])], 0)
def test_reshards_between_runs_of_available_now_lose_nothing(
    shards: int, mood: Mood, limit: int, runs: list[tuple[list[Step], list[Step]]], seed: int
) -> None:
    """
    Each run reads exactly what came since the last one began, whatever was split and merged before it and meanwhile, and each
    shard after all of its ancestors.
    """
    stream = make(shards, mood, seed)
    query = Planned([stream], settings=PlanSettings(Limits(max_records=limit)))
    read: Read = []
    for before, meanwhile in runs:
        play(stream, before)
        query.restart()
        query.planner.fix_targets()
        there, waiting = everything(stream), list(meanwhile)
        while batch := query.batch():
            play(stream, waiting[:1])
            del waiting[:1]
            read += batch
        assert sorted(read) == sorted(there)
        assert_in_order(stream, read)


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(1, 3), moods, steps, steps, st.integers())
@example(
    # A listing as it was before the last reshards comes while the children of a shard of the batch are passed.
    shards=3,
    mood=Mood(stale_listings=90),
    before=[
        ("split", 0),
        ("merge", 0),
        ("merge", 0),
        ("put", 0, 11),
        ("split", 0),
        ("merge", 0),
        ("put", 0, 1),
        ("merge", 0),
        ("split", 0),
    ],
    later=[("put", 0, 1), ("split", 0), ("merge", 0), ("split", 1), ("put", 1, 33), ("merge", 0)],
    seed=1469,
)
def test_a_batch_without_a_bound_holds_everything_in_order(
    shards: int, mood: Mood, before: list[Step], later: list[Step], seed: int
) -> None:
    """One unbounded batch reaches the tip of all generations, each after its parents, the same after a restart."""
    stream = make(shards, mood, seed)
    play(stream, before)
    query = Planned([stream])
    start = query.start
    read = query.batch(bounded=False)
    assert sorted(read) == sorted(everything(stream))
    assert_in_order(stream, read)
    end = query.start
    play(stream, later)
    query.restart()
    again = query.read(start, end)
    assert sorted(again) == sorted(read)
    assert_in_order(stream, again)
    rest = query.batch(bounded=False)
    assert sorted(read + rest) == sorted(everything(stream))
    assert_in_order(stream, read + rest)
    assert query.batch(bounded=False) == []
