"""Whatever happens to a stream, the lag of a reader is the age of the oldest record that it has not read."""

from __future__ import annotations

import random

from hypothesis import given, strategies as st

from kinesis_cli.checkpoints.offset_log import find_batches
from kinesis_cli.lag.measuring import measure
from kinesis_cli.lag.readings import Checkpoint, Position, Reader, Reading
from kinesis_cli.lag.results import State
from kinesis_core import After, TrimHorizon
from kinesis_core.model import StreamSummary
from support.fake_stream import FakeClock, FakeStream, Mood

MOODS = st.builds(
    Mood,
    throttles=st.sampled_from([0, 10]),
    empty_pages=st.sampled_from([0, 30]),
    expiries=st.sampled_from([0, 20]),
    boasts=st.sampled_from([0, 50]),
    early=st.sampled_from([0, 2]),
    short_pages=st.sampled_from([0, 50]),
    end_page_of_its_own=st.booleans(),
)


@given(st.data(), MOODS, st.integers(0, 2**32).map(random.Random))
def test_lag_is_the_age_of_the_oldest_unread_record(
    data: st.DataObject, mood: Mood, rng: random.Random
) -> None:
    """In each shard, open or closed, at any position, in any mood of the service."""
    clock = FakeClock()
    stream = FakeStream(clock, rng, mood).create(2)
    for action in data.draw(st.lists(st.sampled_from(["put", "put", "put", "wait", "split"]), max_size=25)):
        shard_id = data.draw(st.sampled_from(stream.open_shards()))
        match action:
            case "put":
                stream.put(shard_id, b"x")
            case "wait":
                clock.sleep(data.draw(st.integers(1, 3000)))
            case "split" if len(stream.shards) < 8:
                stream.split(shard_id)
    clock.sleep(100)
    read = {
        shard_id: data.draw(st.integers(0, len(shard.records))) for shard_id, shard in stream.shards.items()
    }
    cuts = {
        shard_id: After(stream.shards[shard_id].records[count - 1].number) if count else TrimHorizon()
        for shard_id, count in read.items()
    }
    positions = {shard_id: Position(cut, str(cut)) for shard_id, cut in cuts.items()}

    def read_positions(_: Reader, __: StreamSummary) -> list[Reading]:
        return [Reading(reader="r", kind="spark", positions=positions)]

    before_ms = stream.now_ms()
    lag = measure(stream, [Checkpoint("r")], read_positions, clock)
    for found in lag.readers[0].shards:
        unread = stream.shards[found.shard_id].records[read[found.shard_id] :]
        assert (found.lag_ms == 0) == (not unread)
        assert found.state in ({State.BEHIND, State.WAITING} if unread else {State.CURRENT, State.WAITING})
        if unread:
            arrived_ms = unread[0].arrived_ms or 0
            assert before_ms - arrived_ms <= (found.lag_ms or 0) <= stream.now_ms() - arrived_ms


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_the_batch_of_a_query(planned: set[int], committed: set[int]) -> None:
    """The last committed batch has both files, and the planned one comes after it."""
    found = find_batches(map(str, planned), map(str, committed))
    assert found.committed == max(planned & committed, default=None)
    assert found.planned is None or (
        found.planned in planned and found.planned > (-1 if found.committed is None else found.committed)
    )
