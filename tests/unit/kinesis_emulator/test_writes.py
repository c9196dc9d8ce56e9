"""PutRecord and PutRecords."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from kinesis_emulator import Emulator, ManualClock
from kinesis_emulator.settings import Settings

LEFT, RIGHT = "shardId-000000000000", "shardId-000000000001"
MIDDLE = 2**127


@pytest.fixture
def two(emulator: Emulator) -> Emulator:
    """Return the emulator with a stream `two` of two shards."""
    emulator.create_stream("two", shards=2)
    return emulator


def test_the_partition_key_routes_by_its_md5(two: Emulator, client: Any) -> None:
    """A record goes to the shard whose range has the MD5 of its partition key."""
    for key in ("a", "b", "ключ", "鍵", "k" * 256):
        expected = (
            RIGHT if int(hashlib.md5(key.encode(), usedforsecurity=False).hexdigest(), 16) >= MIDDLE else LEFT
        )
        assert client.put_record(StreamName="two", Data=b"", PartitionKey=key)["ShardId"] == expected
    assert {record.partition_key for record in two.records("two")} >= {"ключ", "鍵"}


@pytest.mark.usefixtures("two")
def test_the_explicit_hash_key_overrides_the_partition_key(client: Any, refusal: Any) -> None:
    """ExplicitHashKey is the hash key of the record. Above 2**128-1 it is refused."""
    for hash_key, shard_id in ((0, LEFT), (MIDDLE - 1, LEFT), (MIDDLE, RIGHT), (2**128 - 1, RIGHT)):
        response = client.put_record(
            StreamName="two", Data=b"", PartitionKey="k", ExplicitHashKey=str(hash_key)
        )
        assert response["ShardId"] == shard_id
    code, message = refusal(
        client.put_record, StreamName="two", Data=b"", PartitionKey="k", ExplicitHashKey=str(2**128)
    )
    assert code == "InvalidArgumentException"
    assert message.startswith("Invalid ExplicitHashKey. ExplicitHashKey must be in the range: [0, 2^128-1].")


def test_what_is_put_comes_back(
    emulator: Emulator, client: Any, iterator_of: Any, clock: ManualClock
) -> None:
    """Number, key, data and arrival time of a record are those of its acknowledgement."""
    clock.advance(0.123)
    responses = [
        client.put_record(StreamName="orders", Data=data, PartitionKey='quo"te')
        for data in (b"", bytes(range(256)), "ü\u2028".encode())
    ]
    records = client.get_records(ShardIterator=iterator_of())["Records"]
    assert [record["Data"] for record in records] == [b"", bytes(range(256)), "ü\u2028".encode()]
    assert [record["SequenceNumber"] for record in records] == [
        response["SequenceNumber"] for response in responses
    ]
    assert {record["PartitionKey"] for record in records} == {'quo"te'}
    assert records[0]["ApproximateArrivalTimestamp"].timestamp() == 1_700_000_000.123
    assert [record.data for record in emulator.records("orders")] == [record["Data"] for record in records]


def test_numbers_rise_within_a_shard(emulator: Emulator, client: Any, clock: ManualClock) -> None:
    """Each record has a higher number than the one before it, whatever the clock does."""
    for step in (0, 5, -10, 0.5):
        clock.advance(step)
        entries = [{"Data": b"x", "PartitionKey": "k"}] * 5
        client.put_records(StreamName="orders", Records=entries)
    found = [int(record.sequence_number) for record in emulator.records("orders")]
    assert found == sorted(set(found))
    assert len(found) == 20


def test_sequence_number_for_ordering_has_to_be_one_of_the_stream(client: Any, refusal: Any) -> None:
    """SequenceNumberForOrdering accepts a number that PutRecord returned, and no other."""
    params = {"StreamName": "orders", "Data": b"", "PartitionKey": "k"}
    first = client.put_record(**params)["SequenceNumber"]
    second = client.put_record(**params, SequenceNumberForOrdering=first)["SequenceNumber"]
    assert int(second) > int(first)
    for foreign in ("7", str(int(first) + 1)):
        assert refusal(client.put_record, **params, SequenceNumberForOrdering=foreign) == (
            "InvalidArgumentException",
            f"ExclusiveMinimumSequenceNumber {foreign} used in PutRecord on stream orders under account "
            "000000000000 is invalid.",
        )


def test_an_encrypted_stream_says_so(emulator: Emulator, client: Any) -> None:
    """Records, acknowledgements and descriptions of an encrypted stream have KMS. Those of other streams have no such member."""
    emulator.create_stream("secret", encryption="KMS")
    response = client.put_record(StreamName="secret", Data=b"", PartitionKey="k")
    assert response["EncryptionType"] == "KMS"
    iterator = client.get_shard_iterator(StreamName="secret", ShardId=LEFT, ShardIteratorType="TRIM_HORIZON")
    (record,) = client.get_records(ShardIterator=iterator["ShardIterator"])["Records"]
    assert record["EncryptionType"] == "KMS"
    assert "EncryptionType" not in client.put_record(StreamName="orders", Data=b"", PartitionKey="k")


def test_members_can_be_left_out_of_a_record(emulator: Emulator, client: Any, iterator_of: Any) -> None:
    """A record that `Emulator.put` adds can lack partition key and arrival time, as Kinesis may leave them out."""
    put = emulator.put("orders", b"bare", omit=["PartitionKey", "ApproximateArrivalTimestamp"])
    (record,) = client.get_records(ShardIterator=iterator_of())["Records"]
    assert record == {"SequenceNumber": put.sequence_number, "Data": b"bare"}
    assert (put.partition_key, put.arrived_ms) == (None, None)


@pytest.mark.parametrize("key", ["", "k" * 257])
def test_partition_keys_have_1_to_256_characters(emulator: Emulator, key: str) -> None:
    """A partition key outside 1 to 256 characters is refused."""
    with pytest.raises(Exception, match=r"ValidationException.*partitionKey"):
        emulator.put("orders", b"", key)


def test_settings_are_per_emulator() -> None:
    """Two emulators do not share their denied actions."""
    first, second = Settings(), Settings()
    first.deny.add("PutRecord")
    assert second.deny == set()
