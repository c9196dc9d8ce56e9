"""The producer against the emulator, over HTTP, while calls fail in every way."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import md5
from typing import Any

import pytest

from kinesis_core import (
    AccessDeniedError,
    Producer,
    ProducerSettings,
    PutError,
    Stream,
    StreamNotFoundError,
    Totals,
)
from kinesis_core.aggregation import unpack
from kinesis_credentials import StaticKeys
from kinesis_emulator import Emulator, Fault, Limits, ManualClock, Settings
from kinesis_emulator.requests import Request
from support.loops import variants
from support.mishaps import Mishaps

KEYS = StaticKeys("AKIAEXAMPLE", "example-secret")
ROWS = 4_000
PATIENCE_S = 600.0
"""A record may wait while a busy machine stands still."""
PAYLOADS = {b"%d" % number for number in range(ROWS)}


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    with Emulator(settings=Settings(limits=Limits.unlimited())) as emulator:
        emulator.create_stream("orders", shards=4)
        yield emulator


def open_producer(emulator: Emulator, name: str = "orders", **settings: Any) -> Producer:
    return Producer.open(
        name,
        region="us-east-1",
        endpoint_url=emulator.endpoint_url,
        credentials=KEYS,
        settings=ProducerSettings(**{"record_ttl_s": PATIENCE_S, **settings}),
    )


def put_numbers(producer: Producer, after_each: Callable[[int], object] = lambda _: None) -> None:
    for start in range(0, ROWS, 200):
        numbers = range(start, start + 200)
        producer.put_columns([b"%d" % n for n in numbers], [f"key-{n % 83}" for n in numbers])
        after_each(start)


def copies(emulator: Emulator) -> Counter[bytes]:
    stream = Stream.open("orders", region="us-east-1", endpoint_url=emulator.endpoint_url, credentials=KEYS)
    return Counter(record.data for record in stream.read("TRIM_HORIZON").records())


@pytest.mark.parametrize("seed", variants(range(3)))
@pytest.mark.parametrize("enabled", [True, False])
def test_every_user_record_is_there_and_every_copy_is_explained(
    emulator: Emulator, enabled: bool, seed: int
) -> None:
    """
    Through partial failures, throttles, 500s, resets and lost responses, every copy is a record written under a lost
    response. The totals bound their number: the user records of all calls without a response that refuses them.
    """
    mishaps = Mishaps(seed)
    emulator.settings.fault = mishaps
    with open_producer(emulator, aggregation_enabled=enabled, aggregation_max_size=1_000) as producer:
        totals = Totals()

        def flush(_: int) -> None:
            nonlocal totals
            totals += producer.flush()

        put_numbers(producer, flush)
    found = copies(emulator)
    assert set(found) == PAYLOADS
    assert sum(found.values()) - ROWS == mishaps.lost
    assert mishaps.lost
    assert totals.user_records == ROWS
    assert totals.resent == mishaps.unsure
    assert totals.requests == emulator.calls.count("PutRecords")


OK = {"ShardId": "shardId-000000000000", "SequenceNumber": "4966"}
REFUSED = {"ErrorCode": "InternalFailure", "ErrorMessage": "Internal service failure."}


def successful(results: Any, failed: Any = 0) -> Callable[[int], bytes]:
    """Return the body of a successful response to a request, by its number of records."""
    return lambda count: json.dumps({"FailedRecordCount": failed, "Records": results(count)}).encode()


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize(
    "body",
    [
        lambda _: b"",
        lambda _: b"{}",
        lambda _: b'{"FailedRecordCount":0}',
        successful(lambda _: None),
        successful(lambda _: []),
        successful(lambda count: [OK] * (count - 1)),
        successful(lambda count: [OK] * (count + 1)),
        successful(lambda count: [*[OK] * (count - 1), {}]),
        successful(lambda count: [*[OK] * (count - 1), {"ShardId": OK["ShardId"]}]),
        successful(lambda count: [*[OK] * (count - 1), REFUSED]),
        successful(lambda count: [OK] * count, failed=1),
    ],
    ids=[
        "empty",
        "no members",
        "no results",
        "null",
        "none",
        "one too few",
        "one too many",
        "an empty result",
        "a result without a number",
        "an error that is not counted",
        "a count without an error",
    ],
)
def test_a_response_that_does_not_fit_the_request_counts_nothing_as_written(
    emulator: Emulator, body: Callable[[int], bytes], enabled: bool
) -> None:
    """A request whose successful response does not say what became of each record is sent again, and counted as `resent`."""
    requests = 0

    def fault(request: Request) -> Fault | None:
        nonlocal requests
        requests += request.action == "PutRecords"
        if request.action != "PutRecords" or requests != 2:
            return None
        return Fault(status=200, body=body(len(request.params["Records"])))  # and nothing is stored

    emulator.settings.fault = fault
    with open_producer(emulator, aggregation_enabled=enabled, aggregation_max_size=64) as producer:
        producer.put(b"first", "k")  # after it, the shards of plain records are of no interest for a while
        producer.flush()
        data = [b"%d" % number for number in range(20)]
        producer.put_columns(data, ["k"] * 20)
        totals = producer.flush()
    assert copies(emulator) == Counter([b"first", *data])
    assert (totals.user_records, totals.resent, totals.requests) == (20, 20, 2)


@pytest.mark.parametrize("enabled", [True, False])
def test_throttled_records_are_sent_again_alone(enabled: bool) -> None:
    """
    Shards with a quota of 1,000 records and 1 MiB a second refuse parts of requests. Each user record is written
    once.
    """

    clock = ManualClock()

    def pass_time(request: Request) -> None:  # noqa: ARG001 # the signature of a fault
        clock.advance(0.15)  # refills the quota by 150 records, fewer than a request has

    with Emulator(settings=Settings(limits=Limits(), fault=pass_time), clock=clock) as emulator:
        emulator.create_stream("orders", shards=2)
        with open_producer(emulator, aggregation_enabled=enabled, aggregation_max_size=64) as producer:
            put_numbers(producer)
            totals = producer.flush()
        stored = [record.data for record in emulator.records("orders")]
    aggregates = [unpack(data) for data in stored]
    written = [
        aggregate.data if aggregate else [data] for aggregate, data in zip(aggregates, stored, strict=True)
    ]
    assert Counter(data for user_records in written for data in user_records) == Counter(PAYLOADS)
    assert totals.throttled
    assert totals.user_records == ROWS


@pytest.mark.parametrize("mishaps", [None, Mishaps(5)], ids=["quiet", "with mishaps"])
def test_a_reshard_while_writing_misplaces_nothing_for_good(
    emulator: Emulator, mishaps: Mishaps | None
) -> None:
    """
    While the stream is split and merged, every record is written, and the KCL, which drops misplaced aggregates,
    misses nothing. Each additional copy was written under a lost response.
    """

    def reshard(start: int) -> None:
        if start in (600, 1_800):
            emulator.split("orders", emulator.shard_ids("orders")[1])
        if start == 3_000:
            emulator.merge("orders", *emulator.shard_ids("orders")[:2])
        if start % 600 == 0:
            producer.flush()

    emulator.settings.fault = mishaps
    with open_producer(emulator, aggregation_max_size=1_000) as producer:
        put_numbers(producer, reshard)
        producer.flush()
    assert set(copies(emulator)) == PAYLOADS
    kcl_copies = _copies_for_the_kcl(emulator)
    assert set(kcl_copies) == PAYLOADS
    assert sum(kcl_copies.values()) - ROWS <= (mishaps.lost if mishaps else 0)


def _copies_for_the_kcl(emulator: Emulator) -> Counter[bytes]:
    """Return the user records in plain records, and in aggregates whose shard owns all their keys."""
    ranges = _ranges(emulator)
    kcl_copies: Counter[bytes] = Counter()
    for record in emulator.records("orders"):
        aggregate = unpack(record.data)
        names = [record.partition_key] if aggregate is None else aggregate.partition_keys
        first, last = ranges[record.shard_id]
        if all(first <= int.from_bytes(md5((name or "").encode()).digest(), "big") <= last for name in names):  # noqa: S324 # routing
            kcl_copies.update([record.data] if aggregate is None else aggregate.data)
    return kcl_copies


def _ranges(emulator: Emulator) -> dict[str, tuple[int, int]]:
    stream = Stream.open("orders", region="us-east-1", endpoint_url=emulator.endpoint_url, credentials=KEYS)
    return {shard.shard_id: (shard.hash_start, shard.hash_end) for shard in stream.shards()}


def test_a_service_that_stays_away_is_a_failure_in_time(emulator: Emulator) -> None:
    """An outage does not block the producer, and drops nothing silently: the error has the last response."""

    def refuse(request: Request) -> Fault | None:
        return Fault("InternalFailure", status=500) if request.action == "PutRecords" else None

    emulator.settings.fault = refuse
    with open_producer(emulator, record_ttl_s=0.5) as producer:
        producer.put(b"data", "key")
        with pytest.raises(PutError, match=r"accepted nothing for 0\.5 s: InternalFailure 1") as caught:
            producer.flush()
    assert caught.value.counts == {"InternalFailure": 1}


def test_a_missing_stream_is_an_error_when_opening(emulator: Emulator) -> None:
    """A missing stream is an error before anything is put."""
    with pytest.raises(StreamNotFoundError, match="Check the stream's name or ARN, the region"):
        open_producer(emulator, "nowhere")


@pytest.mark.parametrize("action", ["DescribeStreamSummary", "ListShards"])
def test_a_missing_permission_is_an_error_when_opening(emulator: Emulator, action: str) -> None:
    """The error names the IAM action."""
    emulator.settings.deny.add(action)
    with pytest.raises(AccessDeniedError, match=f"Allow the IAM action kinesis:{action}"):
        open_producer(emulator)


def test_a_missing_permission_to_write_is_an_error_at_once(emulator: Emulator) -> None:
    """The producer does not check the permission to write when it opens. The first request fails without a retry."""
    emulator.settings.deny.add("PutRecords")
    with open_producer(emulator) as producer:
        producer.put(b"data", "key")
        with pytest.raises(PutError, match="Allow the IAM action kinesis:PutRecords") as caught:
            producer.flush()
    assert caught.value.counts == {"AccessDeniedException": 1}
    assert emulator.calls.count("PutRecords") == 1


def test_the_largest_records_are_written(emulator: Emulator) -> None:
    """A stream may accept records of 10 MiB, one in a request. One more byte, the key included, is too large."""
    emulator.create_stream("large", max_record_kib=10_240)
    with open_producer(emulator, "large") as producer:
        producer.put_columns([bytes(10 * 1024 * 1024 - 3)] * 3, ["key"] * 3)
        with pytest.raises(ValueError, match=r"has 10241 KiB \(data and partition key\)"):
            producer.put(bytes(10 * 1024 * 1024 - 2), "key")
    assert [len(record.data) for record in emulator.records("large")] == [10 * 1024 * 1024 - 3] * 3


def test_a_stream_is_written_to_by_its_arn(emulator: Emulator) -> None:
    """The region is taken from the ARN, and every call has the ARN."""
    arn = emulator.create_stream("by-arn", shards=2)
    with Producer.open(arn, endpoint_url=emulator.endpoint_url, credentials=KEYS) as producer:
        producer.put_columns([b"1", b"2"])
    assert len(emulator.records("by-arn")) >= 1
