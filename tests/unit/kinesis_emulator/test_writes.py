"""PutRecord and PutRecords."""

from __future__ import annotations

from typing import Any

from kinesis_emulator import Emulator, ManualClock, numbers

SHARD = "shardId-000000000000"


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


def test_sequence_number_for_ordering_has_to_be_of_the_past(
    client: Any, refusal: Any, clock: ManualClock
) -> None:
    """SequenceNumberForOrdering accepts 0 and every number that PutRecord returned, and none with a time that is still to come."""
    params = {"StreamName": "orders", "Data": b"", "PartitionKey": "k"}
    first = client.put_record(**params, SequenceNumberForOrdering="0")["SequenceNumber"]
    second = client.put_record(**params, SequenceNumberForOrdering=first)["SequenceNumber"]
    assert int(second) > int(first)
    later = numbers.encode(numbers.shard_base(1_700_000_000, 0), 9, round(clock()) + 1)
    for foreign in (later, str(int(first) + 1)):
        assert refusal(client.put_record, **params, SequenceNumberForOrdering=foreign) == (
            "InvalidArgumentException",
            f"ExclusiveMinimumSequenceNumber {foreign} used in PutRecord on stream orders under account "
            "000000000000 is invalid.",
        )


def test_an_encrypted_stream_says_so(emulator: Emulator, client: Any, read_all: Any) -> None:
    """Records, acknowledgements and descriptions of an encrypted stream have KMS. Those of other streams have no such member."""
    emulator.create_stream("secret", encryption="KMS")
    response = client.put_record(StreamName="secret", Data=b"", PartitionKey="k")
    assert response["EncryptionType"] == "KMS"
    (record,) = read_all(client, "secret")
    assert record["EncryptionType"] == "KMS"
    assert "EncryptionType" not in client.put_record(StreamName="orders", Data=b"", PartitionKey="k")


def test_members_can_be_left_out_of_a_record(emulator: Emulator, client: Any, iterator_of: Any) -> None:
    """A record that `Emulator.put` adds can lack partition key and arrival time, as Kinesis may leave them out."""
    put = emulator.put("orders", b"bare", omit=["PartitionKey", "ApproximateArrivalTimestamp"])
    (record,) = client.get_records(ShardIterator=iterator_of())["Records"]
    assert record == {"SequenceNumber": put.sequence_number, "Data": b"bare"}
    assert (put.partition_key, put.arrived_ms) == (None, None)
