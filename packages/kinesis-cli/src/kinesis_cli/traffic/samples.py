"""Samples of shards as values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from attrs import evolve, frozen

MAX_RECORDS_PER_S = 1000
MAX_BYTES_PER_S = 1024 * 1024
"""
Writes to one shard, data and partition keys.

Source: https://docs.aws.amazon.com/streams/latest/dev/service-sizes-and-limits.html
"""
SHORTEST_MS = 1000
"""A producer puts up to 500 records at a time: their distance shows no rate."""
EXACT, ABOUT, AT_LEAST = "", "~", "≥"
HOT = 0.8
"""From this load on, a shard is hot: a burst of one second fills it."""


@frozen
class KeyTraffic:
    """The sampled user records of one partition key."""

    key: str
    records: int
    size_bytes: int
    """Data and partition keys."""


@frozen
class PlaceTraffic:
    """The sampled user records at one hash key, or at several that follow each other."""

    hash_key: int
    """The lowest one."""
    records: int
    size_bytes: int


T = TypeVar("T", KeyTraffic, PlaceTraffic)


@frozen
class Sample:
    """The latest records of one shard."""

    records: int
    """Records of the stream. An aggregate is one record, for Kinesis and its limits."""
    user_records: int
    size_bytes: int
    """Data and partition keys of the records, which is what the limit counts."""
    covered_ms: int
    """The time in which they arrived."""
    sign: str = EXACT
    """What stands before the rates: `EXACT` if all records were read, `ABOUT` if parts of the time were read, or `AT_LEAST`."""
    keys: tuple[KeyTraffic, ...] = ()
    places: tuple[PlaceTraffic, ...] = ()
    """In the order of the hash keys. It lacks records whose explicit hash key is not known."""

    @property
    def records_per_s(self) -> float:
        return self.records * 1000 / self.covered_ms

    @property
    def user_records_per_s(self) -> float:
        return self.user_records * 1000 / self.covered_ms

    @property
    def bytes_per_s(self) -> float:
        return self.size_bytes * 1000 / self.covered_ms

    @property
    def records_share(self) -> float:
        """The records as a share of what the shard accepts; 1 is all."""
        return self.records_per_s / MAX_RECORDS_PER_S

    @property
    def bytes_share(self) -> float:
        return self.bytes_per_s / MAX_BYTES_PER_S

    @property
    def load(self) -> float:
        """The larger of the two shares."""
        return max(self.records_share, self.bytes_share)

    @property
    def is_hot(self) -> bool:
        return self.load >= HOT

    @property
    def weight(self) -> int:
        """All traffic of user records, in the unit of `weigh`."""
        return self.size_bytes if self.bytes_share >= self.records_share else self.user_records

    def weigh(self, part: KeyTraffic | PlaceTraffic) -> int:
        """Return the traffic of *part* that the shard has less room for: bytes or records."""
        return part.size_bytes if self.bytes_share >= self.records_share else part.records


def extended(first: Sample, rest: Sample, times: float) -> Sample:
    """Return *first* with the time after it, in which *times* as much came as in *rest*."""
    places = _extended(first.places, rest.places, times, lambda place: place.hash_key)
    return Sample(
        first.records + round(times * rest.records),
        first.user_records + round(times * rest.user_records),
        first.size_bytes + round(times * rest.size_bytes),
        first.covered_ms + rest.covered_ms,
        ABOUT,
        tuple(_extended(first.keys, rest.keys, times, lambda key: key.key)),
        tuple(sorted(places, key=lambda place: place.hash_key)),
    )


def _extended(
    first: Sequence[T], rest: Sequence[T], times: float, name: Callable[[T], object]
) -> Iterable[T]:
    found = {name(each): each for each in first}
    for more in rest:
        known = found.get(name(more), evolve(more, records=0, size_bytes=0))
        found[name(more)] = evolve(
            known,
            records=known.records + round(times * more.records),
            size_bytes=known.size_bytes + round(times * more.size_bytes),
        )
    return found.values()


@frozen
class Total:
    """The samples of several shards, added up."""

    records_per_s: float
    user_records_per_s: float
    bytes_per_s: float
    sign: str


def add_up(samples: Iterable[Sample]) -> Total:
    """Return the sum of *samples*."""
    known = list(samples)
    return Total(
        sum(sample.records_per_s for sample in known),
        sum(sample.user_records_per_s for sample in known),
        sum(sample.bytes_per_s for sample in known),
        max((sample.sign for sample in known), default=EXACT, key=(EXACT, ABOUT, AT_LEAST).index),
    )
