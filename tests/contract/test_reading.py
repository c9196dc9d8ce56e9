"""GetShardIterator and GetRecords."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

NUMBERED = ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER")


def test_horizon_and_numbers_begin_where_they_say(stream: Any) -> None:
    """TRIM_HORIZON begins at the oldest record, AT at the given one, AFTER after it."""
    numbers = [stream.put(str(i))["SequenceNumber"] for i in range(4)]
    assert stream.data() == [b"0", b"1", b"2", b"3"]
    at, after = NUMBERED
    assert stream.data(kind=at, StartingSequenceNumber=numbers[1]) == [b"1", b"2", b"3"]
    assert stream.data(kind=after, StartingSequenceNumber=numbers[1]) == [b"2", b"3"]


def test_later_records_come_after_the_last_one(client: Any, stream: Any) -> None:
    """AFTER the last record is an empty page at the tip. Its iterator reads the next record."""
    number = stream.put(b"last")["SequenceNumber"]
    iterator = stream.iterator(kind="AFTER_SEQUENCE_NUMBER", StartingSequenceNumber=number)
    page = client.get_records(ShardIterator=iterator)
    assert (page["Records"], page["MillisBehindLatest"]) == ([], 0)
    stream.put(b"next")
    page = client.get_records(ShardIterator=page["NextShardIterator"])
    assert [record["Data"] for record in page["Records"]] == [b"next"]


def test_latest_begins_after_the_existing_records(client: Any, stream: Any) -> None:
    """A LATEST iterator reads only records that are put after it was created."""
    stream.put(b"before")
    iterator = stream.iterator(kind="LATEST")
    stream.put(b"after")
    assert [record["Data"] for record in client.get_records(ShardIterator=iterator)["Records"]] == [b"after"]


def test_a_timestamp_begins_at_the_first_record_not_before_it(stream: Any) -> None:
    """AT_TIMESTAMP returns the records that arrived at that time or later; an old time returns all records."""
    stream.put(b"0")
    (record,) = stream.read()
    arrived = record["ApproximateArrivalTimestamp"]
    assert stream.data(kind="AT_TIMESTAMP", Timestamp=arrived) == [b"0"]
    assert stream.data(kind="AT_TIMESTAMP", Timestamp=arrived - timedelta(hours=48)) == [b"0"]


def test_a_timestamp_with_a_limit_of_one_is_a_real_record(client: Any, stream: Any) -> None:
    """AT_TIMESTAMP with Limit=1 returns one existing record. The planner finds cuts near the tip this way."""
    stream.put(b"0")
    (record,) = stream.read()
    iterator = stream.iterator(kind="AT_TIMESTAMP", Timestamp=record["ApproximateArrivalTimestamp"])
    (found,) = client.get_records(ShardIterator=iterator, Limit=1)["Records"]
    assert found["SequenceNumber"] == record["SequenceNumber"]


@pytest.mark.deviates("moto", "takes timestamps in the future")
def test_a_timestamp_in_the_future_is_refused(client: Any, stream: Any, refusal: Any) -> None:
    """AT_TIMESTAMP ahead of the service's clock is an InvalidArgumentException."""
    stream.put(b"x")
    (record,) = stream.read()
    code = refusal(
        client.get_shard_iterator,
        StreamName=stream.name,
        ShardId="shardId-000000000000",
        ShardIteratorType="AT_TIMESTAMP",
        Timestamp=record["ApproximateArrivalTimestamp"] + timedelta(hours=1),
    )
    assert code == "InvalidArgumentException"


@pytest.mark.deviates("kinesis-local", "looks up the record and responds with ResourceNotFoundException")
@pytest.mark.deviates("moto", "takes numbers of any shard")
@pytest.mark.parametrize("kind", NUMBERED)
def test_a_number_of_another_shard_is_refused(client: Any, new_stream: Any, refusal: Any, kind: str) -> None:
    """A sequence number is valid for its own shard only."""
    stream = new_stream(2)
    number = stream.put(b"x", hash_key=0)["SequenceNumber"]
    stream.put(b"x", hash_key=2**127)
    params = {"StreamName": stream.name, "ShardId": "shardId-000000000001", "ShardIteratorType": kind}
    code = refusal(client.get_shard_iterator, **params, StartingSequenceNumber=number)
    assert code == "InvalidArgumentException"


@pytest.mark.deviates("moto", "fails without a number, takes a missing time")
@pytest.mark.parametrize(
    "params", [{"ShardIteratorType": "AT_SEQUENCE_NUMBER"}, {"ShardIteratorType": "AT_TIMESTAMP"}]
)
def test_a_start_without_its_value_is_refused(client: Any, stream: Any, refusal: Any, params: Any) -> None:
    """A start by number requires a number, a start by time requires a time."""
    code = refusal(
        client.get_shard_iterator, StreamName=stream.name, ShardId="shardId-000000000000", **params
    )
    assert code == "InvalidArgumentException"


def test_an_unknown_shard_is_not_found(client: Any, stream: Any, refusal: Any) -> None:
    """An iterator of a shard that the stream does not have is a ResourceNotFoundException."""
    params = {"ShardId": "shardId-000000000009", "ShardIteratorType": "LATEST"}
    code = refusal(client.get_shard_iterator, StreamName=stream.name, **params)
    assert code == "ResourceNotFoundException"


@pytest.mark.deviates("kinesis-local", "fails with a 500")
@pytest.mark.deviates("moto", "fails with a 500")
def test_a_made_up_iterator_is_refused(client: Any, refusal: Any) -> None:
    """A text that is not an iterator is an InvalidArgumentException."""
    assert refusal(client.get_records, ShardIterator="nonsense") == "InvalidArgumentException"


def test_limits_cut_pages_that_follow_each_other(client: Any, stream: Any) -> None:
    """Pages of a limited size follow each other without gap or repetition."""
    numbers = [stream.put(str(i))["SequenceNumber"] for i in range(5)]
    iterator, seen = stream.iterator(), []
    for size in (2, 2, 1, 0):
        page = client.get_records(ShardIterator=iterator, Limit=2)
        assert len(page["Records"]) == size
        seen += [record["SequenceNumber"] for record in page["Records"]]
        iterator = page["NextShardIterator"]
    assert seen == numbers


def test_lag_says_that_records_are_left(client: Any, stream: Any) -> None:
    """MillisBehindLatest is above 0 on a page with records left after it, and 0 at the tip."""
    for i in range(4):
        stream.put(str(i))
    page = client.get_records(ShardIterator=stream.iterator(), Limit=1)
    assert page["MillisBehindLatest"] > 0
    page = client.get_records(ShardIterator=page["NextShardIterator"])
    assert (len(page["Records"]), page["MillisBehindLatest"]) == (3, 0)


def test_an_iterator_reads_the_same_twice(client: Any, stream: Any) -> None:
    """An iterator can be used again: the same call returns the same records."""
    for i in range(3):
        stream.put(str(i))
    iterator = stream.iterator()
    first, second = (client.get_records(ShardIterator=iterator, Limit=2)["Records"] for _ in range(2))
    assert first == second
    assert len(first) == 2


@pytest.mark.deviates("moto", "takes any limit")
def test_more_than_10000_records_cannot_be_asked_for(client: Any, stream: Any, refusal: Any) -> None:
    """A Limit above 10,000 is refused."""
    code = refusal(client.get_records, ShardIterator=stream.iterator(), Limit=10_001)
    assert code in ("InvalidArgumentException", "ValidationException")


def test_arrival_times_have_milliseconds(stream: Any) -> None:
    """ApproximateArrivalTimestamp has a precision of milliseconds, not more."""
    for i in range(3):
        stream.put(str(i))
    arrivals = [record["ApproximateArrivalTimestamp"] for record in stream.read()]
    assert all(arrived.microsecond % 1000 == 0 for arrived in arrivals)
    assert any(arrived.microsecond for arrived in arrivals)


@pytest.mark.deviates("kinesis-local", "takes numbers of an earlier stream")
@pytest.mark.deviates("moto", "takes numbers of an earlier stream")
def test_numbers_of_a_recreated_stream_are_refused(client: Any, stream: Any, refusal: Any) -> None:
    """A stream that was deleted and created again refuses the numbers of the deleted one."""
    number = stream.put(b"x")["SequenceNumber"]
    client.delete_stream(StreamName=stream.name)
    client.get_waiter("stream_not_exists").wait(
        StreamName=stream.name, WaiterConfig={"Delay": 0.02, "MaxAttempts": 500}
    )
    client.create_stream(StreamName=stream.name, ShardCount=1)
    stream.wait_until_active()
    params = {"ShardId": "shardId-000000000000", "ShardIteratorType": "AFTER_SEQUENCE_NUMBER"}
    code = refusal(client.get_shard_iterator, StreamName=stream.name, StartingSequenceNumber=number, **params)
    assert code == "InvalidArgumentException"
