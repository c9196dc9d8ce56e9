"""The canned server, read by an unpatched boto3."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from kinesis_emulator import ManualClock
from kinesis_emulator.canned import CannedKinesis, CannedStream
from kinesis_emulator.canned.responses import Responses
from kinesis_emulator.canned.shard_log import number_at
from support.certificates import make_certificate

Json = dict[str, Any]
SHARD = "shardId-000000000001"
STREAM = CannedStream(shards=2, pages=3, records=40, record_bytes=100)


@pytest.fixture(scope="module")
def client(new_client: Callable[..., Any]) -> Iterator[Any]:
    with CannedKinesis(STREAM) as kinesis:
        made = new_client(kinesis.endpoint_url)
        yield made
        made.close()


def walk(client: Any, limit: int = 10_000, **start: Any) -> list[Json]:
    """Return the pages up to the tip."""
    found = client.get_shard_iterator(StreamName="orders", ShardId=SHARD, **start)
    pages = [client.get_records(ShardIterator=found["ShardIterator"], Limit=limit)]
    while pages[-1]["MillisBehindLatest"]:
        pages.append(client.get_records(ShardIterator=pages[-1]["NextShardIterator"], Limit=limit))
    return pages


def records_of(pages: list[Json]) -> list[Json]:
    return [record for page in pages for record in page["Records"]]


def test_a_shard_has_the_given_pages(client: Any) -> None:
    """Every record comes once and in order, with the configured payload size. The tip comes after them."""
    pages = walk(client, ShardIteratorType="TRIM_HORIZON")
    assert [len(page["Records"]) for page in pages] == [40, 40, 40]
    records = records_of(pages)
    assert {len(record["Data"]) for record in records} == {100}
    numbers = [int(record["SequenceNumber"]) for record in records]
    assert numbers == sorted(set(numbers))
    after = client.get_records(ShardIterator=pages[-1]["NextShardIterator"])
    assert (after["Records"], after["MillisBehindLatest"]) == ([], 0)


def test_a_limit_divides_pages_and_loses_nothing(client: Any) -> None:
    """A page has at most the requested number of records. Together they are the records of whole pages."""
    pages = walk(client, limit=33, ShardIteratorType="TRIM_HORIZON")
    assert [len(page["Records"]) for page in pages] == [33, 7, 33, 7, 33, 7]
    assert records_of(pages) == records_of(walk(client, ShardIteratorType="TRIM_HORIZON"))


@pytest.mark.parametrize(
    ("kind", "skipped"), [("AT_SEQUENCE_NUMBER", 50), ("AFTER_SEQUENCE_NUMBER", 51), ("AT_TIMESTAMP", 50)]
)
def test_reading_begins_at_a_number_or_a_time(client: Any, kind: str, skipped: int) -> None:
    """A reader may start at any record, or after it."""
    records = records_of(walk(client, ShardIteratorType="TRIM_HORIZON"))
    chosen = records[50]
    start = (
        {"Timestamp": chosen["ApproximateArrivalTimestamp"]}
        if kind == "AT_TIMESTAMP"
        else {"StartingSequenceNumber": chosen["SequenceNumber"]}
    )
    assert records_of(walk(client, ShardIteratorType=kind, **start)) == records[skipped:]


def test_latest_is_after_all_records(client: Any) -> None:
    """A stream whose records all arrived before the start gets no more."""
    assert records_of(walk(client, ShardIteratorType="LATEST")) == []


def test_shards_are_listed_page_by_page_and_share_the_hash_keys(client: Any) -> None:
    """A listing continues with its token, and covers all hash keys."""
    first = client.list_shards(StreamName="orders", MaxResults=1)
    second = client.list_shards(NextToken=first["NextToken"])
    ranges = [shard["HashKeyRange"] for page in (first, second) for shard in page["Shards"]]
    assert ranges[0]["StartingHashKey"] == "0"
    assert int(ranges[0]["EndingHashKey"]) + 1 == int(ranges[1]["StartingHashKey"])
    assert int(ranges[1]["EndingHashKey"]) == 2**128 - 1
    assert "NextToken" not in second


def test_the_summary_names_the_stream(client: Any) -> None:
    """DescribeStreamSummary has the facts that a reader checks first."""
    summary = client.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]
    assert (summary["StreamARN"], summary["StreamStatus"]) == (STREAM.arn, "ACTIVE")


def test_other_calls_are_refused(client: Any) -> None:
    """The server does not accept writes."""
    with pytest.raises(ClientError, match="UnknownOperationException"):
        client.put_record(StreamName="orders", Data=b"x", PartitionKey="k")


@pytest.mark.tests
def test_calls_are_counted_over_https_too(new_client: Callable[..., Any], tmp_path: Path) -> None:
    """A client that trusts the certificate is served, and each of its calls takes the configured time."""
    certificate, key = make_certificate(tmp_path)
    with CannedKinesis(STREAM, latency_s=0.05, tls=(certificate, key)) as kinesis:
        secured = new_client(kinesis.endpoint_url, verify=str(certificate))
        started_s = time.monotonic()
        assert len(records_of(walk(secured, ShardIteratorType="TRIM_HORIZON"))) == 120
        assert time.monotonic() - started_s >= 4 * 0.05
        assert kinesis.calls() == {"GetShardIterator": 1, "GetRecords": 3}
        secured.close()


def test_aggregates_are_those_of_the_kpl(new_client: Callable[..., Any]) -> None:
    """AWS's own package finds the user records, under 50 partition keys."""
    path = list(sys.path)
    from aws_kinesis_agg import deaggregator

    sys.path[:] = path
    with CannedKinesis(CannedStream(records=3, record_bytes=200, user_records=120)) as kinesis:
        client = new_client(kinesis.endpoint_url)
        found = client.get_shard_iterator(
            StreamName="orders", ShardId="shardId-000000000000", ShardIteratorType="TRIM_HORIZON"
        )
        records = client.get_records(ShardIterator=found["ShardIterator"])["Records"]
        client.close()
    users = [user["kinesis"] for user in deaggregator.iter_deaggregate_records(records, "Boto3")]
    assert (len(records), len(users)) == (3, 360)
    assert len({user["partitionKey"] for user in users}) == 50


def test_records_arrive_at_the_given_rate() -> None:
    """A live shard has the records that have arrived by now, up to its last one."""
    clock = ManualClock(1_700_000_000.0)
    responses = Responses(CannedStream(records=100, records_per_s=10.0), clock)
    begin = call(responses, "GetShardIterator", ShardId="shardId-000000000000", ShardIteratorType="LATEST")
    counts = []
    for passed_s in (0, 1, 2, 100):
        clock.advance(passed_s)
        counts.append(len(call(responses, "GetRecords", ShardIterator=begin["ShardIterator"])["Records"]))
    assert counts == [0, 10, 30, 100]


def test_a_live_shard_reports_the_lag() -> None:
    """MillisBehindLatest is the age of the next record; 0 without a next record."""
    clock = ManualClock(1_700_000_000.0)
    responses = Responses(CannedStream(records=100, records_per_s=10.0), clock)
    clock.advance(2)
    iterator = call(
        responses, "GetShardIterator", ShardId="shardId-000000000000", ShardIteratorType="TRIM_HORIZON"
    )
    page = call(responses, "GetRecords", ShardIterator=iterator["ShardIterator"], Limit=5)
    assert (len(page["Records"]), page["MillisBehindLatest"]) == (5, 1500)
    assert page["Records"][-1]["SequenceNumber"] == str(number_at(4))


def call(responses: Responses, action: str, **request: Any) -> Json:
    body = responses.response(action, json.dumps(request).encode())
    assert body is not None
    response: Json = json.loads(body)
    return response


def test_an_impossible_page_is_refused() -> None:
    """A benchmark must not measure pages that Kinesis never returns."""
    with pytest.raises(ValueError, match="got 10001 records"):
        CannedStream(records=10_001, record_bytes=1)
    with pytest.raises(ValueError, match="got 1000 records and 20000000 bytes"):
        CannedStream(records=1000, record_bytes=20_000)
