"""Generated needs of shards: how a total is divided among them."""

from __future__ import annotations

from math import inf

from hypothesis import given, strategies as st

from kinesis_core.planning.settings import Limits
from kinesis_core.planning.shares import EVERYTHING, LEAST, Need, divide, divide_limits

totals = st.integers(1, 10_000)
needs = st.dictionaries(
    st.integers(0, 50), st.one_of(st.just(inf), st.just(0.0), st.floats(0, 3000)), min_size=1, max_size=30
)
amounts = st.one_of(st.just(inf), st.floats(0, 3000))
shards = st.dictionaries(
    st.tuples(st.sampled_from(["orders", "clicks"]), st.sampled_from("abcdefgh")),
    st.one_of(st.just(EVERYTHING), st.builds(Need, amounts, amounts)),
    min_size=1,
)
limits = st.builds(Limits, st.none() | st.integers(1, 2000), st.none() | st.integers(1, 2000))


@given(totals, needs)
def test_shares_are_the_total(total: int, needs: dict[int, float]) -> None:
    """Each has a share, and all of them are the total, but for what cannot be divided; 1 each where the total is less."""
    shares = divide(total, needs)
    assert shares.keys() == needs.keys()
    assert min(shares.values()) >= 1
    assert total - len(needs) < sum(shares.values()) <= max(total, len(needs))


@given(totals, needs)
def test_who_gets_less_than_it_needs_gets_as_much_as_any(total: int, needs: dict[int, float]) -> None:
    """The one that needs most never takes from those that need less."""
    shares = divide(total, needs)
    for key, need in needs.items():
        if shares[key] < need:
            assert all(shares[key] >= share - 1 for share in shares.values())


@given(totals, needs)
def test_who_needs_more_has_no_less(total: int, needs: dict[int, float]) -> None:
    """But for what cannot be divided. The order in which needs are given does not count either."""
    shares, reverse = divide(total, needs), divide(total, dict(reversed(needs.items())))
    for key, need in needs.items():
        assert all(shares[key] >= shares[other] - 1 for other in needs if needs[other] <= need)
        assert abs(shares[key] - reverse[key]) <= 1


@given(limits, limits, shards)
def test_limits_of_a_batch(each: Limits, batch: Limits, needs: dict[tuple[str, str], Need]) -> None:
    """No shard has more than one may have, all have no more than a batch may have, and none is left without."""
    shares = divide_limits(each, batch, needs)
    parts = [shares.of(*shard) for shard in needs]
    for most, total, got in (
        (each.max_records, batch.max_records, [part.max_records for part in parts]),
        (each.max_bytes, batch.max_bytes, [part.max_bytes for part in parts]),
    ):
        if total is None:
            assert set(got) == {most}
            continue
        found = [share for share in got if share is not None]
        assert len(found) == len(needs)
        assert sum(found) <= max(total, len(needs))
        assert max(found) <= (most or total)
        assert min(found) >= min(most or total, max(1, total // (LEAST * len(needs))))


@given(limits, limits, shards)
def test_limits_of_shards_that_are_found_later(
    each: Limits, batch: Limits, needs: dict[tuple[str, str], Need]
) -> None:
    """The two children of an empty shard have its share together, or one record and byte each; no child is without a limit."""
    shares = divide_limits(each, batch, needs)
    late = shares.of("orders", "unknown")
    assert late == shares.late
    for share, least in (
        (late.max_records, [shares.of(*shard).max_records for shard in needs]),
        (late.max_bytes, [shares.of(*shard).max_bytes for shard in needs]),
    ):
        known = [each for each in least if each is not None]
        assert (share is None) == (known == [])
        assert share is None or 1 <= share <= max(1, min(known))
