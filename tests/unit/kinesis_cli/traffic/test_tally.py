"""Counting the records of a shard, by key and by place."""

from __future__ import annotations

from kinesis_cli.traffic import KeyTraffic
from kinesis_cli.traffic.samples import EXACT
from kinesis_cli.traffic.tally import Tally, hash_of
from kinesis_core.aggregation import AggregateBuilder
from kinesis_core.model import HASH_KEYS, Record

WHOLE = (0, HASH_KEYS - 1)


def tally_of(*records: Record, hash_keys: tuple[int, int] = WHOLE, max_keys: int = 5000) -> Tally:
    tally = Tally(*hash_keys, max_keys=max_keys)
    for record in records:
        tally.add(record)
    return tally


def put(data: bytes, key: str | None) -> Record:
    return Record("1", data, key, 1.0)


def test_sizes_have_data_and_keys() -> None:
    """The size of a record is its data and its partition key in UTF-8, as Kinesis counts it."""
    sample = tally_of(put(b"12345", "é"), put(b"1", None)).sample(2000, EXACT)
    assert (sample.records, sample.size_bytes) == (2, 8)
    assert sample.keys == (KeyTraffic("é", 1, 7),)
    assert (sample.records_per_s, sample.bytes_per_s) == (1.0, 4.0)


def test_user_records_of_an_aggregate() -> None:
    """An aggregate is one record of the stream, and its user records count by their own keys and hash keys."""
    builder = AggregateBuilder(50_000)
    builder.add(b"one", "a", None)
    builder.add(b"two", "a", "7")
    builder.add(b"three", "b", None)
    sample = tally_of(put(builder.build(), "x")).sample(1000, EXACT)
    assert (sample.records, sample.user_records) == (1, 3)
    assert sample.keys == (KeyTraffic("a", 2, 8), KeyTraffic("b", 1, 6))
    assert [place.hash_key for place in sample.places] == sorted([7, hash_of("a"), hash_of("b")])


def test_the_place_of_an_explicit_hash_key_is_not_known() -> None:
    """A record whose key hashes into another shard came by an explicit hash key. It counts, and has no place."""
    place = hash_of("a")
    sample = tally_of(put(b"1", "a"), hash_keys=(place + 1, place + 9)).sample(1000, EXACT)
    assert sample.records == 1
    assert sample.keys
    assert not sample.places


def test_memory_is_bounded() -> None:
    """Keys that come after many others are counted by place only, and no record is lost."""
    records = [put(b"1", f"key-{number}") for number in range(9000)]
    sample = tally_of(*records, max_keys=10).sample(1000, EXACT)
    assert len(sample.keys) == 10
    assert len(sample.places) <= 10 + 4096
    assert sum(place.records for place in sample.places) == sample.records == 9000
