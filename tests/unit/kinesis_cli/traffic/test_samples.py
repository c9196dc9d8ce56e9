"""Samples that are put together."""

from __future__ import annotations

from attrs import evolve
from hypothesis import given, strategies as st

from kinesis_cli.traffic import KeyTraffic, PlaceTraffic, Sample
from kinesis_cli.traffic.samples import ABOUT, extended

counts = st.integers(0, 1000)
traffic = st.dictionaries(st.integers(0, 9), st.tuples(counts, counts), max_size=6)
Traffic = dict[int, tuple[int, int]]


def sample(covered_ms: int, of_names: Traffic) -> Sample:
    """Return a sample with a key and a place for each name, and what these have in all."""
    records, size_bytes = (sum(each[index] for each in of_names.values()) for index in range(2))
    keys = tuple(KeyTraffic(str(name), *each) for name, each in of_names.items())
    places = tuple(PlaceTraffic(name, *each) for name, each in sorted(of_names.items()))
    return Sample(records, records, size_bytes, covered_ms, ABOUT, keys, places)


@given(traffic, traffic, st.integers(1, 50))
def test_keys_and_places_have_what_the_sample_has(first: Traffic, rest: Traffic, times: int) -> None:
    """Each key and each place has what came at first, and so many times what came in the parts."""

    def expected(name: int, index: int) -> int:
        return first.get(name, (0, 0))[index] + times * rest.get(name, (0, 0))[index]

    wanted = {name: (expected(name, 0), expected(name, 1)) for name in {**first, **rest}}
    found = extended(sample(1000, first), sample(4000, rest), times)
    keys = tuple(sorted(found.keys, key=lambda key: key.key))
    assert evolve(found, keys=keys) == evolve(
        sample(5000, wanted), keys=tuple(KeyTraffic(str(name), *wanted[name]) for name in sorted(wanted))
    )
