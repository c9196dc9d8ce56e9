"""Whether leases cover all hash keys."""

from __future__ import annotations

from attrs import evolve

from kinesis_consumer.shards import HoleWatch, find_uncovered, missing_ranges
from kinesis_consumer.stores import Update
from support.lineages import lease_of, listed, name, new_stream

HALF = 2**127


def test_complete_leases() -> None:
    """Leases that are not finished cover all hash keys. Overlaps are fine."""
    stream = new_stream(2)
    stream.split(name(1))
    leases = [lease_of(stream, number) for number in range(4)]
    assert find_uncovered(leases) is None
    assert find_uncovered(leases[:2]) is None


def test_missing_lease() -> None:
    """A finished lease covers nothing, and neither does one that does not say its hash keys."""
    stream = new_stream(2)
    first, second = lease_of(stream, 0), lease_of(stream, 1)
    assert find_uncovered([first]) == (HALF, 2 * HALF - 1)
    assert find_uncovered([first, lease_of(stream, 1, "SHARD_END")]) == (HALF, 2 * HALF - 1)
    assert find_uncovered([evolve(first, hash_range=None), second]) == (0, HALF - 1)
    assert find_uncovered([]) == (0, 2 * HALF - 1)


def test_hash_keys_are_filled_in() -> None:
    """A lease without hash keys gets those of its shard, if it still exists. Its counter stays."""
    stream = new_stream(2)
    bare = evolve(lease_of(stream, 0), hash_range=None)
    leases = [bare, lease_of(stream, 1), evolve(bare, shard_id="gone"), evolve(bare, stream_id="1:teas:2")]
    assert missing_ranges(listed(stream), leases) == [
        Update(name(0), {"leaseKey": name(0)}, {"startingHashKey": "0", "endingHashKey": str(HALF - 1)})
    ]


def test_three_findings_in_a_row() -> None:
    """The same hole three times in a row is certain. Another hole, or none, begins anew."""
    watch = HoleWatch()
    holes = [(0, 9), (0, 9), (5, 9), (5, 9), None, None, None, (5, 9), (5, 9), (5, 9), (5, 9)]
    assert [watch.is_certain(hole) for hole in holes] == [False] * 9 + [True] * 2
