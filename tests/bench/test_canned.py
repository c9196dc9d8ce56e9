"""The canned server has the records that a benchmark expects: each one once, in both formats."""

from __future__ import annotations

import base64
import time
from itertools import chain
from typing import Any

import pytest

from kinesis_core import PlanSettings, ReadSettings, Stream, WireFormat
from kinesis_emulator import ManualClock, cbor, wire_formats
from tests.bench.canned import CannedResponses, CannedStream, canned_kinesis, number_at
from tests.bench.server import trusted_certificate
from tests.support.streams import connection_to

Json = dict[str, Any]
SHARD = "shardId-000000000001"
FORMATS = pytest.mark.parametrize("written", [wire_formats.JSON, wire_formats.CBOR], ids=["json", "cbor"])
LIVE = CannedStream(records=100, records_per_s=10.0)


def call(
    responses: CannedResponses,
    action: str,
    written: wire_formats.BodyFormat = wire_formats.JSON,
    **request: Any,
) -> Json:
    body = responses.body(action, written.encode(request), written)
    assert body is not None
    response = written.decode(b"".join(body))
    for record in response.get("Records", []) if written is wire_formats.JSON else []:
        record["Data"] = base64.b64decode(record["Data"])
        record["ApproximateArrivalTimestamp"] = cbor.Time(round(record["ApproximateArrivalTimestamp"] * 1000))
    return response


def iterator(responses: CannedResponses, kind: str, **start: Any) -> str:
    return str(
        call(responses, "GetShardIterator", ShardId=SHARD, ShardIteratorType=kind, **start)["ShardIterator"]
    )


def pages(
    responses: CannedResponses, written: wire_formats.BodyFormat, limit: int, kind: str, **start: Any
) -> list[list[Json]]:
    """Return the pages up to the tip, and the empty one after it."""
    found: list[list[Json]] = [[{}]]
    following = iterator(responses, kind, **start)
    while found[-1]:
        page = call(responses, "GetRecords", written, ShardIterator=following, Limit=limit)
        found.append(page["Records"])
        following = page["NextShardIterator"]
    return found[1:]


@pytest.mark.parametrize("wire_format", WireFormat)
@pytest.mark.parametrize("user_records", [0, 60])
def test_a_canned_stream_is_read_to_its_tip(user_records: int, wire_format: WireFormat) -> None:
    """Planner and reader find every record of every shard once, with the given size. The next plan is at the end."""
    canned = CannedStream(shards=3, pages=4, records=50, record_bytes=60, user_records=user_records)
    with (
        canned_kinesis(canned) as kinesis,
        Stream.open(
            canned.name,
            **connection_to(kinesis.endpoint_url),
            plan=PlanSettings(min_fetch_period_s=0.0),
            read=ReadSettings(min_fetch_period_s=0.0),
            wire_format=wire_format,
        ) as stream,
    ):
        batch = stream.read("TRIM_HORIZON")
        records = list(batch.records())
        assert list(stream.read(batch.offset).records()) == []
    found = {(r.shard_id, r.sequence_number, r.sub_sequence_number) for r in records}
    assert len(found) == len(records) == canned.total_rows
    assert {len(record.data) for record in records} == {60}
    assert len({record.partition_key for record in records}) == (50 if user_records else 200)


@FORMATS
def test_a_limit_divides_pages_and_loses_nothing(written: wire_formats.BodyFormat) -> None:
    """A page has at most the requested number of records, in order. Both formats have the same records."""
    responses = CannedResponses(CannedStream(pages=2, records=40, record_bytes=100))
    (whole, rest, end), parts = (pages(responses, written, limit, "TRIM_HORIZON") for limit in (10_000, 33))
    assert [len(page) for page in (whole, rest, end)] == [40, 40, 0]
    assert [len(page) for page in parts] == [33, 7, 33, 7, 0]
    records = whole + rest
    assert [record for page in parts for record in page] == records
    assert [record["SequenceNumber"] for record in records] == [str(number_at(i)) for i in range(80)]
    assert [whole, rest, end] == pages(responses, wire_formats.JSON, 10_000, "TRIM_HORIZON")


@FORMATS
@pytest.mark.parametrize(
    ("kind", "skipped"),
    [("AT_SEQUENCE_NUMBER", 50), ("AFTER_SEQUENCE_NUMBER", 51), ("AT_TIMESTAMP", 50), ("LATEST", 80)],
)
def test_reading_begins_at_a_number_or_a_time(
    kind: str, skipped: int, written: wire_formats.BodyFormat
) -> None:
    """A reader may start at any record, or after it. All records arrived before the start."""
    responses = CannedResponses(CannedStream(pages=2, records=40, record_bytes=100))
    records = list(chain(*pages(responses, written, 10_000, "TRIM_HORIZON")))
    start = {
        "Timestamp": records[50]["ApproximateArrivalTimestamp"],
        "StartingSequenceNumber": records[50]["SequenceNumber"],
    }
    assert list(chain(*pages(responses, written, 10_000, kind, **start))) == records[skipped:]


def test_calls_are_counted_and_take_their_time_over_https() -> None:
    """A client that trusts the certificate is served, and each of its calls takes the configured time. Others are refused."""
    with (
        trusted_certificate() as tls,
        canned_kinesis(CannedStream(records=10), latency_s=0.05, tls=tls) as kinesis,
        Stream.open("orders", **connection_to(kinesis.endpoint_url)) as stream,
    ):
        started_s = time.monotonic()
        assert len(list(stream.read("TRIM_HORIZON").records())) == 10
        calls = kinesis.calls()
        assert calls["GetRecords"] >= 1
        assert time.monotonic() - started_s >= 0.05 * (calls["ListShards"] + calls["GetRecords"])
    assert CannedResponses(CannedStream(records=1)).body("PutRecord", b"{}") is None


def test_records_arrive_at_the_given_rate() -> None:
    """A live shard has the records that have arrived by now, up to its last one."""
    clock = ManualClock(1_700_000_000.0)
    responses = CannedResponses(LIVE, clock=clock)
    start, counts = iterator(responses, "LATEST"), []
    for passed_s in (0, 1, 2, 100):
        clock.advance(passed_s)
        counts.append(len(call(responses, "GetRecords", ShardIterator=start)["Records"]))
    assert counts == [0, 10, 30, 100]


def test_a_live_shard_reports_the_lag() -> None:
    """MillisBehindLatest is the age of the next record."""
    clock = ManualClock(1_700_000_000.0)
    responses = CannedResponses(LIVE, clock=clock)
    clock.advance(2)
    page = call(responses, "GetRecords", ShardIterator=iterator(responses, "TRIM_HORIZON"), Limit=5)
    assert (len(page["Records"]), page["MillisBehindLatest"]) == (5, 1500)


def test_shards_are_listed_page_by_page_and_share_the_hash_keys() -> None:
    """A listing continues with its token, and covers all hash keys."""
    responses = CannedResponses(CannedStream(shards=2, records=1))
    first = call(responses, "ListShards", MaxResults=1)
    second = call(responses, "ListShards", NextToken=first["NextToken"])
    one, other = (page["Shards"][0]["HashKeyRange"] for page in (first, second))
    assert (one["StartingHashKey"], other["EndingHashKey"]) == ("0", str(2**128 - 1))
    assert int(one["EndingHashKey"]) + 1 == int(other["StartingHashKey"])
    assert "NextToken" not in second


@pytest.mark.parametrize(("records", "record_bytes"), [(10_001, 1), (1000, 20_000)])
def test_an_impossible_page_is_refused(records: int, record_bytes: int) -> None:
    """A benchmark must not measure pages that Kinesis never returns."""
    with pytest.raises(ValueError, match="returns no page"):
        CannedStream(records=records, record_bytes=record_bytes)
