"""The service's size limits and throttles, and switching them off."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from kinesis_emulator import Emulator, Limits, ManualClock

MIB = 1024 * 1024
SHARD = "shardId-000000000000"
THROTTLED = (
    "ProvisionedThroughputExceededException",
    f"Rate exceeded for shard {SHARD} in stream orders under account 000000000000.",
)


@pytest.fixture
def limited(emulator: Emulator) -> Emulator:
    """Return the emulator with all of AWS's limits."""
    emulator.settings.limits = Limits()
    return emulator


def records(count: int, size: int = 1, key: str = "k") -> list[dict[str, Any]]:
    return [{"Data": b"x" * size, "PartitionKey": key} for _ in range(count)]


@pytest.mark.usefixtures("limited")
def test_a_sixth_read_within_a_second_is_throttled(
    client: Any, iterator_of: Any, refusal: Any, clock: ManualClock
) -> None:
    """A shard serves five GetRecords a second to all readers together, and refuses the sixth in AWS's words."""
    iterator = iterator_of()
    for _ in range(5):
        client.get_records(ShardIterator=iterator)
    for passed_s in (0, 0.999):
        clock.advance(passed_s)
        assert refusal(client.get_records, ShardIterator=iterator) == THROTTLED
    clock.advance(0.001)
    assert client.get_records(ShardIterator=iterator)["Records"] == []


def test_a_10_mib_response_throttles_the_shard_for_5_seconds(
    limited: Emulator, client: Any, iterator_of: Any, refusal: Any, clock: ManualClock
) -> None:
    """After a response of 10 MiB further reads of the shard are refused for 5 seconds."""
    for _ in range(12):
        limited.put("orders", b"x" * MIB)
    page = client.get_records(ShardIterator=iterator_of())
    assert sum(len(record["Data"]) for record in page["Records"]) == 10 * MIB
    following = page["NextShardIterator"]
    clock.advance(4.9)
    assert refusal(client.get_records, ShardIterator=following) == THROTTLED
    clock.advance(0.1)
    assert len(client.get_records(ShardIterator=following)["Records"]) == 2


@pytest.mark.usefixtures("limited")
def test_a_sixth_iterator_within_a_second_is_throttled(client: Any, iterator_of: Any, refusal: Any) -> None:
    """A shard gives out five iterators a second."""
    for _ in range(5):
        iterator_of()
    params = {"StreamName": "orders", "ShardId": SHARD, "ShardIteratorType": "LATEST"}
    assert refusal(client.get_shard_iterator, **params) == THROTTLED


def test_put_records_fails_partially_above_1000_records_a_second(
    limited: Emulator, client: Any, clock: ManualClock
) -> None:
    """PutRecords responds with 200 and an error for each record above its shard's rate."""
    for _ in range(2):
        assert client.put_records(StreamName="orders", Records=records(450))["FailedRecordCount"] == 0
    response = client.put_records(StreamName="orders", Records=records(101))
    assert response["FailedRecordCount"] == 1
    assert response["Records"][-1] == {"ErrorCode": THROTTLED[0], "ErrorMessage": THROTTLED[1]}
    assert len(limited.records("orders")) == 1000
    clock.advance(1)
    assert client.put_records(StreamName="orders", Records=records(1))["FailedRecordCount"] == 0


@pytest.mark.usefixtures("limited")
def test_a_shard_takes_1_mib_a_second(client: Any, refusal: Any) -> None:
    """Data and partition keys count against 1 MiB per second and shard. PutRecord is refused as a whole."""
    client.put_record(StreamName="orders", Data=b"x" * (MIB - 1), PartitionKey="k")
    assert refusal(client.put_record, StreamName="orders", Data=b"", PartitionKey="k") == THROTTLED


def test_shards_are_throttled_each_on_its_own(limited: Emulator, client: Any) -> None:
    """Another shard of the stream accepts records while the first one is throttled."""
    limited.create_stream("two", shards=2)
    entries = [
        {"Data": b"x" * (MIB - 1), "PartitionKey": "k", "ExplicitHashKey": hash_key}
        for hash_key in ("0", "0", str(2**127))
    ]
    response = client.put_records(StreamName="two", Records=entries)
    assert ["ErrorCode" in result for result in response["Records"]] == [False, True, False]


@pytest.mark.parametrize(
    ("count", "size", "code", "message"),
    [
        (501, 1, "ValidationException", "Member must have length less than or equal to 500"),
        (11, MIB - 1, "InvalidArgumentException", "Records size exceeds 10 MB limit"),
    ],
)
def test_put_records_takes_500_records_and_10_mib(
    emulator: Emulator, client: Any, refusal: Any, count: int, size: int, code: str, message: str
) -> None:
    """A request above 500 records, or 10 MiB of data and keys, is refused as a whole."""
    got = refusal(client.put_records, StreamName="orders", Records=records(count, size))
    assert got[0] == code
    assert message in got[1]
    assert emulator.records("orders") == []


def test_a_record_may_be_as_large_as_its_stream_allows(client: Any, refusal: Any) -> None:
    """Data and partition key together may have MaxRecordSizeInKiB: 1 MiB, or up to 10 MiB after an update."""
    too_large = {"StreamName": "orders", "Data": b"x" * MIB, "PartitionKey": "k"}
    assert refusal(client.put_record, **too_large)[0] == "InvalidArgumentException"
    larger = [{"Data": b"x" * (MIB + 1), "PartitionKey": "k"}]
    assert refusal(client.put_records, StreamName="orders", Records=larger) == (
        "ValidationException",
        "1 validation error detected: Value at 'records.1.member.data' failed to satisfy constraint: "
        "Member must have length less than or equal to 1048576",
    )
    arn = client.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]["StreamARN"]
    client.update_max_record_size(StreamARN=arn, MaxRecordSizeInKiB=10240)
    client.put_record(**too_large)
    assert refusal(client.update_max_record_size, StreamARN=arn, MaxRecordSizeInKiB=10241)[0] == (
        "ValidationException"
    )


def test_a_page_holds_at_most_10000_records(emulator: Emulator, client: Any, iterator_of: Any) -> None:
    """GetRecords returns at most 10,000 records, also without a Limit."""
    for _ in range(10_001):
        emulator.put("orders", b"")
    page = client.get_records(ShardIterator=iterator_of())
    assert len(page["Records"]) == 10_000
    assert page["MillisBehindLatest"] > 0
    assert len(client.get_records(ShardIterator=page["NextShardIterator"])["Records"]) == 1


def test_a_page_holds_one_record_however_large(emulator: Emulator, client: Any, iterator_of: Any) -> None:
    """A record above the byte limit of a page still comes, alone, so that reading makes progress."""
    emulator.settings.limits = dataclasses.replace(Limits.unlimited(), get_records_max_bytes=10)
    emulator.put("orders", b"x" * 11)
    emulator.put("orders", b"y")
    page = client.get_records(ShardIterator=iterator_of())
    assert [len(record["Data"]) for record in page["Records"]] == [11]


@pytest.mark.parametrize(
    ("call", "rate"), [("describe_stream", 10), ("describe_stream_summary", 20), ("list_shards", 1000)]
)
def test_describe_calls_are_limited(
    limited: Emulator, client: Any, refusal: Any, call: str, rate: int
) -> None:
    """The describe calls have rates of their own, and fail with LimitExceededException."""
    settings = limited.settings
    if rate > 100:
        settings.limits = dataclasses.replace(Limits(), list_shards_per_s=30)
        rate = 30
    for _ in range(rate):
        getattr(client, call)(StreamName="orders")
    assert refusal(getattr(client, call), StreamName="orders")[0] == "LimitExceededException"


@pytest.mark.tests
def test_each_limit_can_be_switched_off(emulator: Emulator, client: Any) -> None:
    """Without limits a record may have more bytes than its stream allows, and a request more than 10 MiB."""
    emulator.settings.limits = dataclasses.replace(
        Limits.unlimited(),
        put_records_max_bytes=None,
        enforce_record_size=False,
        get_records_max_bytes=None,
    )
    client.put_records(StreamName="orders", Records=records(2, 6 * MIB))
    assert len(emulator.records("orders")) == 2
