"""Samples of shards as values."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen

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


def extended(first: Sample, rest: Sample, times: float) -> Sample:
    """Return *first* with the time after it, in which *times* as much came as in *rest*."""

    def more(before: int, after: int) -> int:
        return before + round(times * after)

    keys = {key.key: key for key in first.keys}
    for key in rest.keys:
        known = keys.get(key.key, KeyTraffic(key.key, 0, 0))
        keys[key.key] = KeyTraffic(
            key.key, more(known.records, key.records), more(known.size_bytes, key.size_bytes)
        )
    places = {place.hash_key: place for place in first.places}
    for place in rest.places:
        at = places.get(place.hash_key, PlaceTraffic(place.hash_key, 0, 0))
        places[place.hash_key] = PlaceTraffic(
            place.hash_key, more(at.records, place.records), more(at.size_bytes, place.size_bytes)
        )
    return Sample(
        more(first.records, rest.records),
        more(first.user_records, rest.user_records),
        more(first.size_bytes, rest.size_bytes),
        first.covered_ms + rest.covered_ms,
        ABOUT,
        tuple(keys.values()),
        tuple(places[hash_key] for hash_key in sorted(places)),
    )


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
