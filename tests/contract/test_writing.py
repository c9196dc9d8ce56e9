"""PutRecord and PutRecords."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

LEFT, RIGHT = "shardId-000000000000", "shardId-000000000001"
MIDDLE = 2**127


def test_partition_keys_are_routed_by_md5(client: Any, new_stream: Any) -> None:
    """The MD5 of the partition key's UTF-8 chooses the shard."""
    stream = new_stream(2)
    keys = ["a", "b", "c", "d", "ключ", "鍵"]
    entries = [{"Data": b"x", "PartitionKey": key} for key in keys]
    results = client.put_records(StreamName=stream.name, Records=entries)["Records"]
    hashes = [int(hashlib.md5(key.encode(), usedforsecurity=False).hexdigest(), 16) for key in keys]
    assert [result["ShardId"] for result in results] == [LEFT if h < MIDDLE else RIGHT for h in hashes]


def test_explicit_hash_keys_choose_the_shard(new_stream: Any) -> None:
    """ExplicitHashKey overrides the partition key."""
    stream = new_stream(2)
    hash_keys = (0, MIDDLE // 2, MIDDLE, MIDDLE + MIDDLE // 2)
    assert [stream.put(b"x", hash_key)["ShardId"] for hash_key in hash_keys] == [LEFT, LEFT, RIGHT, RIGHT]


@pytest.mark.deviates("kinesis-local", "rounds the middle of the hash keys down")
@pytest.mark.deviates("moto", "fails at the last hash key")
def test_ranges_include_both_ends(new_stream: Any) -> None:
    """The last hash key of a range belongs to it, also the last one of all."""
    stream = new_stream(2)
    hash_keys = (MIDDLE - 1, MIDDLE, 2**128 - 1)
    assert [stream.put(b"x", hash_key)["ShardId"] for hash_key in hash_keys] == [LEFT, RIGHT, RIGHT]


def test_an_explicit_hash_key_above_the_range_is_refused(client: Any, stream: Any, refusal: Any) -> None:
    """An ExplicitHashKey of 2**128 or more is an InvalidArgumentException."""
    params = {"StreamName": stream.name, "Data": b"x", "PartitionKey": "k", "ExplicitHashKey": str(2**128)}
    assert refusal(client.put_record, **params) == "InvalidArgumentException"


def test_numbers_rise_in_the_order_of_puts(stream: Any) -> None:
    """Each record has a higher sequence number than the record put before it into the shard."""
    found = [int(stream.put(b"x")["SequenceNumber"]) for _ in range(5)]
    assert found == sorted(set(found))


@pytest.mark.deviates("moto", "numbers records 1, 2, 3, ...")
def test_numbers_look_as_on_aws(stream: Any) -> None:
    """Sequence numbers have 56 digits, and neighbours differ by 2**80 or more."""
    first, second = (stream.put(b"x")["SequenceNumber"] for _ in range(2))
    assert (len(first), len(second)) == (56, 56)
    assert int(second) - int(first) >= 2**80


def test_what_is_put_comes_back(client: Any, stream: Any) -> None:
    """Data, key and number of a record are those of its acknowledgement. Data may be empty."""
    puts = [(b"", "a"), (bytes(range(256)), "b"), ("ü".encode(), "ключ")]
    entries = [{"Data": data, "PartitionKey": key} for data, key in puts]
    results = client.put_records(StreamName=stream.name, Records=entries)["Records"]
    records = stream.read()
    assert [(record["Data"], record["PartitionKey"]) for record in records] == puts
    assert [record["SequenceNumber"] for record in records] == [
        result["SequenceNumber"] for result in results
    ]


@pytest.mark.deviates("kinesis-local", "takes any number of records")
def test_more_than_500_records_are_refused(client: Any, stream: Any, refusal: Any) -> None:
    """PutRecords accepts at most 500 records."""
    entries = [{"Data": b"x", "PartitionKey": "k"}] * 501
    code = refusal(client.put_records, StreamName=stream.name, Records=entries)
    assert code in ("InvalidArgumentException", "ValidationException")


@pytest.mark.deviates("kinesis-local", "takes records of any size in PutRecords")
def test_a_record_above_the_largest_size_is_refused(client: Any, stream: Any, refusal: Any) -> None:
    """A record above 10 MiB is refused by every stream."""
    entry = {"Data": b"x" * (10 * 1024 * 1024 + 1), "PartitionKey": "k"}
    code = refusal(client.put_records, StreamName=stream.name, Records=[entry])
    assert code in ("InvalidArgumentException", "ValidationException")


def test_unknown_streams_take_no_records(client: Any, refusal: Any, nowhere: str) -> None:
    """Putting into a stream that does not exist is a ResourceNotFoundException."""
    entry = {"Data": b"x", "PartitionKey": "k"}
    assert refusal(client.put_record, StreamName=nowhere, **entry) == "ResourceNotFoundException"
    assert refusal(client.put_records, StreamName=nowhere, Records=[entry]) == "ResourceNotFoundException"


def test_concurrent_writers_lose_nothing(client: Any, stream: Any) -> None:
    """All acknowledged records of concurrent writers are there once, and in order."""

    def write(writer: int) -> list[str]:
        numbers = []
        for batch in range(3):
            entries = [{"Data": f"{writer}.{batch}.{i}", "PartitionKey": "k"} for i in range(5)]
            results = client.put_records(StreamName=stream.name, Records=entries)["Records"]
            numbers += [result["SequenceNumber"] for result in results]
        return numbers

    with ThreadPoolExecutor(3) as pool:
        acknowledged = [int(number) for numbers in pool.map(write, range(3)) for number in numbers]
    seen = [int(record["SequenceNumber"]) for record in stream.read()]
    assert seen == sorted(acknowledged)
    assert len(seen) == 45
