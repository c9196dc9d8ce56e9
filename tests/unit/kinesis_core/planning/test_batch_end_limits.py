"""How much of one shard a batch holds."""

from __future__ import annotations

import pytest

from kinesis_core.model import Record, ShardOffset, TrimHorizon
from kinesis_core.planning import Limits
from kinesis_core.planning.batch_end import WIDEST, plan_end
from support.one_shard import OneShard

START = ShardOffset(TrimHorizon())
KIB = 1024
MANY = Limits(max_records=100_000)


@pytest.fixture
def one() -> OneShard:
    return OneShard()


def drain(one: OneShard, limits: Limits, start: ShardOffset = START) -> list[list[Record]]:
    """Return the batches of a shard until nothing is left."""
    batches: list[list[Record]] = []
    while True:
        end = plan_end(one.state, start, limits)
        if end is start:
            return batches
        batches.append(one.between(start.cut, end))
        start = end


@pytest.mark.parametrize("limit", [1, 3, 25, 26, 100, 1000])
@pytest.mark.parametrize("every_ms", [1, 2, 100])
def test_a_backlog_comes_in_batches_of_at_most_so_many_records(
    one: OneShard, limit: int, every_ms: int
) -> None:
    """No batch holds more than it may of a shard that took in at most 1,000 records a second, evenly."""
    started_ms = one.stream.now_ms()
    for i, record in enumerate(one.put(60 + 2 * limit)):
        record.arrived_s = (started_ms + i * every_ms) / 1000
    one.stream.clock.sleep((60 + 2 * limit) * every_ms / 1000 + 1)
    batches = drain(one, Limits(max_records=limit))
    assert [r for batch in batches for r in batch] == one.records
    assert max(map(len, batches)) <= limit


@pytest.mark.parametrize(("size", "largest"), [(100, 200), (5 * KIB, 500)])
def test_a_burst_is_divided_only_within_what_a_plan_reads(one: OneShard, size: int, largest: int) -> None:
    """Records of one millisecond have no time between them. So a batch has all of them, unless the limit is within its first 256 KiB."""
    started_ms = one.stream.now_ms()
    for burst in range(20):
        for record in one.put(500, data=b"x" * size):
            record.arrived_s = started_ms / 1000 + burst
    one.stream.clock.sleep(30)
    batches = drain(one, Limits(max_records=200))
    assert [r for batch in batches for r in batch] == one.records
    of_known_size = batches[1:]
    assert max(map(len, of_known_size)) == largest


def test_sparse_shards_fill_their_batches(one: OneShard) -> None:
    """Where a shard took in far less than it could, a batch reaches further than its least span of time."""
    one.put(2000, 0.05)
    batches = drain(one, Limits(max_records=500))
    assert len(batches) <= 8  # 200 at the least span, 4 at best


def test_very_sparse_shards_fill_their_batches(one: OneShard) -> None:
    """Samples on the way let a batch reach further than a single one may: a hundredth of what a shard can take in."""
    one.put(16_000, 0.1, b"x" * KIB)
    batches = drain(one, Limits(max_bytes=2 * KIB * KIB))
    assert len(batches) <= 10  # 26 with one sample, 8 at best


def test_samples_on_the_way_see_a_dense_time(one: OneShard) -> None:
    """A batch ends before the sample that is denser, and not after it."""
    one.put(3000, 0.1, b"x" * KIB)
    dense = one.put(8000, 0.005, b"x" * KIB)
    one.put(3000, 0.1, b"x" * KIB)
    limit = 2 * KIB * KIB
    batches = drain(one, Limits(max_bytes=limit))
    assert [r for batch in batches for r in batch] == one.records
    assert max(len(batch) for batch in batches if dense[4000] in batch) * KIB <= limit


def test_the_rest_is_taken_only_if_it_fits(one: OneShard) -> None:
    """A sample up to the tip counts as well: it may be larger than what the first records let expect."""
    one.put(25, 0.001, b"")
    one.put(50, 2, b"x" * 20 * KIB)
    batches = drain(one, Limits(max_bytes=30 * KIB))
    assert [r for batch in batches for r in batch] == one.records
    assert max(sum(len(r.data) for r in batch) for batch in batches) <= 40 * KIB


def test_widening_is_bounded(one: OneShard) -> None:
    """Where only the start and the far end are sparse, a batch still holds no more than so many times its limit."""
    one.put(60, 0.5)
    one.put(9000, 0.001)
    one.put(600, 0.5)
    limit = 400
    batches = drain(one, Limits(max_records=limit))
    assert [r for batch in batches for r in batch] == one.records
    assert max(map(len, batches)) <= WIDEST * limit


@pytest.mark.parametrize("limit", [10 * KIB, 200 * KIB, 2000 * KIB])
@pytest.mark.parametrize("size", [100, 5 * KIB, 50 * KIB])
def test_a_byte_limit_holds(one: OneShard, limit: int, size: int) -> None:
    """No batch exceeds its bytes by more than one record, of a shard that took in 1 MiB a second."""
    one.put(300, size / (1000 * KIB), b"x" * size)
    batches = drain(one, Limits(max_bytes=limit))
    assert [r for batch in batches for r in batch] == one.records
    assert max(sum(len(r.data) for r in batch) for batch in batches) <= limit + size


def test_a_record_larger_than_the_limit_comes_alone(one: OneShard) -> None:
    """A limit never holds up a record that is larger than the limit itself."""
    one.put(3, 0.1, b"x" * 5000)
    assert [len(batch) for batch in drain(one, Limits(max_bytes=10))] == [1, 1, 1]


def test_the_rest_of_a_backlog_comes_in_few_batches(one: OneShard) -> None:
    """What a shard that fell silent still holds is not dribbled out, though no record lies where a batch may end."""
    one.put(20_000, 0.001, b"x" * KIB)
    one.stream.clock.sleep(600)
    batches = drain(one, MANY)
    assert [r for batch in batches for r in batch] == one.records
    assert len(batches) <= 8


@pytest.mark.parametrize("every_s", [0.02, 0.1, 0.4])
@pytest.mark.parametrize(
    ("passed_s", "limit"), [(40, 5_000), (40, 20_000), (300, 20_000), (300, 100_000), (1500, 100_000)]
)
def test_a_sparse_shard_is_read_to_its_tip(one: OneShard, passed_s: int, limit: int, every_s: float) -> None:
    """Plans that are far apart do not fall behind: what a shard took in since then is far less than a batch may hold."""
    start = START
    for _ in range(3):
        put = one.put(int(passed_s / every_s), every_s, b"x" * 1000)
        end = plan_end(one.state, start, Limits(max_records=limit))
        batch = one.between(start.cut, end)
        assert len(batch) >= 0.99 * len(put)
        start = end
