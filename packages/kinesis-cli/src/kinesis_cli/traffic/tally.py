"""
Counts the records of a shard, also by key and by place among the hash keys.

Memory is bounded: after a number of keys, further keys are counted by place only. A key that carries a part of the traffic worth
naming comes before that.
"""

from __future__ import annotations

import hashlib

from attrs import define, field

from kinesis_cli.traffic.samples import KeyTraffic, PlaceTraffic, Sample
from kinesis_core.aggregation import unpack
from kinesis_core.model import Record

MAX_KEYS = 5000
_BINS = 4096
"""Places of further keys. In each place all hash keys are counted together."""


@define
class Tally:
    """The records of one shard, whose hash keys are *hash_start* to *hash_end*."""

    hash_start: int
    hash_end: int
    by_key: bool = True
    max_keys: int = MAX_KEYS
    records: int = field(default=0, init=False)
    user_records: int = field(default=0, init=False)
    size_bytes: int = field(default=0, init=False)
    _keys: dict[str, list[int]] = field(factory=dict, init=False)
    """Hash key, records and bytes of each partition key."""
    _places: dict[int, list[int]] = field(factory=dict, init=False)

    def add(self, record: Record) -> None:
        """Count *record*."""
        self.records += 1
        self.size_bytes += size_of(record)
        aggregate = unpack(record.data)
        if aggregate is None:
            self._add_user_record(record.partition_key, None, len(record.data))
            return
        for data, key, hash_key in zip(
            aggregate.data, aggregate.partition_keys, aggregate.explicit_hash_keys, strict=True
        ):
            self._add_user_record(key, hash_key, len(data))

    def sample(self, covered_ms: int, sign: str) -> Sample:
        """Return what was counted, as records that arrived within *covered_ms*."""
        return Sample(
            self.records,
            self.user_records,
            self.size_bytes,
            covered_ms,
            sign,
            tuple(KeyTraffic(key, records, size) for key, (_, records, size) in self._keys.items()),
            tuple(PlaceTraffic(at, records, size) for at, (records, size) in sorted(self._places.items())),
        )

    def _add_user_record(self, key: str | None, explicit_hash_key: str | None, data_bytes: int) -> None:
        self.user_records += 1
        if not self.by_key or key is None:
            return
        size_bytes = data_bytes + _key_bytes(key)
        known = self._keys.get(key)
        if known is None:
            known = [hash_of(key), 0, 0]
            if len(self._keys) < self.max_keys:
                self._keys[key] = known
        known[1] += 1
        known[2] += size_bytes
        self._add_place(known[0] if explicit_hash_key is None else int(explicit_hash_key), size_bytes)

    def _add_place(self, hash_key: int, size_bytes: int) -> None:
        if not self.hash_start <= hash_key <= self.hash_end:
            return  # it came here by an explicit hash key, which GetRecords does not return
        if hash_key not in self._places and len(self._places) >= self.max_keys:
            width = (self.hash_end - self.hash_start) // _BINS + 1
            hash_key -= (hash_key - self.hash_start) % width
        place = self._places.setdefault(hash_key, [0, 0])
        place[0] += 1
        place[1] += size_bytes


def size_of(record: Record) -> int:
    """Return the bytes of data and partition key, which Kinesis' limits count."""
    return len(record.data) + _key_bytes(record.partition_key)


def hash_of(key: str) -> int:
    """Return the hash key of a partition key, by which Kinesis chooses the shard."""
    return int.from_bytes(hashlib.md5(key.encode(), usedforsecurity=False).digest(), "big")


def _key_bytes(key: str | None) -> int:
    return 0 if key is None else len(key.encode())
