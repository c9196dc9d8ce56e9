"""Reading and writing without Spark, over HTTP, while a fifth of all calls fails."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest

from kinesis_core import Producer, ProducerSettings, WireFormat
from kinesis_core.aws import Connection, RetryPolicy, StreamRef, stream_client
from kinesis_core.clock import SystemClock
from kinesis_core.errors import UnavailableError
from kinesis_core.model import Offset, TrimHorizon
from kinesis_core.planning import Limits, Planner, PlanSettings
from kinesis_core.reading import PollingRangeReader, ReadSettings, read_concurrently
from kinesis_credentials import StaticKeys
from kinesis_emulator import Emulator, Fault, Limits as ServiceLimits, Settings
from support.injected import InjectedFaults
from support.loops import variants

KEYS = StaticKeys("AKIAEXAMPLE", "example-secret")
STREAM = StreamRef("orders")
ROUNDS, ROWS = 6, 60
Read = dict[str, list[bytes]]
"""Payloads by shard, in the order of reading."""


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    with Emulator(settings=Settings(limits=ServiceLimits.unlimited())) as emulator:
        emulator.create_stream(STREAM.name, shards=3)
        yield emulator


def connect(
    emulator: Emulator,
    longest_wait_s: float = 1.0,
    outage_timeout_s: float = 600.0,
    wire_format: WireFormat = WireFormat.JSON,
) -> Connection:
    """Return a connection to *emulator* with quick retries."""
    return Connection(
        (STREAM,),
        "us-east-1",
        emulator.endpoint_url,
        KEYS,
        RetryPolicy(interval_s=0.01, max_interval_s=longest_wait_s, outage_timeout_s=outage_timeout_s),
        wire_format=wire_format,
    )


class Reader:
    """Plans batches and reads them."""

    def __init__(self, connection: Connection, seed: int = 0) -> None:
        self._api = stream_client(connection, STREAM)
        settings = PlanSettings(Limits(max_records=25), min_fetch_period_s=0.0, inline_records=False)
        self._planner = Planner({STREAM.name: self._api}, settings, rng=random.Random(seed))
        self._polling = PollingRangeReader(
            lambda _: self._api, ReadSettings(10, min_fetch_period_s=0.0), random.Random(seed)
        )
        self.reached = self._planner.initial_offset(TrimHorizon())

    def read_until(self, count: int) -> Read:
        """Read batches until *count* records have come."""
        found: Read = {}
        while sum(map(len, found.values())) < count:
            end = self._planner.next_offset(self.reached)
            for shard_id, payloads in self.batch(end).items():
                found.setdefault(shard_id, []).extend(payloads)
            self.reached = end
        return found

    def batch(self, end: Offset) -> Read:
        """Read from the offset reached to *end* twice, and check that both reads are the same."""
        first, second = Read(), Read()
        for read in (first, second):
            groups = self._planner.range_groups(self.reached, end)
            for shard_range, page in read_concurrently(groups, self._polling, 4, SystemClock()):
                read.setdefault(shard_range.shard_id, []).extend(record.data for record in page.records)
        assert first == second
        return first

    def close(self) -> None:
        self._planner.close()


@pytest.mark.parametrize(
    ("seed", "wire_format"),
    [
        *variants([(seed, WireFormat.JSON) for seed in range(12)]),
        *variants([(seed, WireFormat.CBOR) for seed in range(4)]),
    ],
)
def test_every_record_once_and_every_retry_in_the_log(
    emulator: Emulator, caplog: pytest.LogCaptureFixture, seed: int, wire_format: WireFormat
) -> None:
    """
    While a fifth of all calls fails, each record comes once, in the order of its shard, also across a split.

    The log has one line for each failed call, with its reason, and no other line.
    """
    caplog.set_level("INFO", "kinesis_core")
    emulator.settings.fault = faults = InjectedFaults(seed)
    reader = Reader(connect(emulator, wire_format=wire_format), seed)
    found: Read = {}
    for number in range(ROUNDS):
        for row in range(ROWS):
            emulator.put(STREAM.name, b"%d" % (number * ROWS + row), f"key-{row % 7}")
        for shard_id, payloads in reader.read_until(ROWS).items():
            found.setdefault(shard_id, []).extend(payloads)
        if number == 1:
            emulator.split(STREAM.name, emulator.shard_ids(STREAM.name)[0])
    reader.close()
    put: Read = {}
    for record in emulator.records(STREAM.name):
        put.setdefault(record.shard_id, []).append(record.data)
    assert found == put
    assert retries(caplog) == faults.felt
    assert faults.felt.total() > 20
    reads = emulator.calls.count("GetRecords")
    assert emulator.calls.count("GetRecords", wire_format=wire_format.value) == reads


@pytest.mark.parametrize("seed", variants(range(4)))
@pytest.mark.parametrize("aggregated", [True, False])
@pytest.mark.parametrize("wire_format", WireFormat)
def test_everything_is_written_and_every_retry_in_the_log(
    emulator: Emulator,
    caplog: pytest.LogCaptureFixture,
    seed: int,
    *,
    aggregated: bool,
    wire_format: WireFormat,
) -> None:
    """While a fifth of all calls fails, every row is written, and the log has one line for each failed call."""
    caplog.set_level("INFO", "kinesis_core")
    emulator.settings.fault = faults = InjectedFaults(seed)
    settings = ProducerSettings(
        aggregation_enabled=aggregated,
        aggregation_max_size=2000,
        record_max_buffered_time_s=0.01,
        record_ttl_s=600,
    )
    payloads = [b"%d" % number for number in range(3000)]
    connection = connect(emulator, wire_format=wire_format)
    with Producer.connect(connection, STREAM, settings) as producer:
        for start in range(0, len(payloads), 50):
            producer.put_columns(payloads[start : start + 50], [f"key-{n % 83}" for n in range(50)])
            producer.flush()
    emulator.settings.fault = lambda _: None
    assert set(copies(emulator)) == set(payloads)
    assert retries(caplog) == faults.felt
    assert faults.felt["PutRecords"] > 5
    puts = emulator.calls.count("PutRecords")
    assert emulator.calls.count("PutRecords", wire_format=wire_format.value) == puts


def copies(emulator: Emulator) -> Counter[bytes]:
    from kinesis_core import Stream

    stream = Stream.open(
        STREAM.name, region="us-east-1", endpoint_url=emulator.endpoint_url, credentials=KEYS
    )
    return Counter(record.data for record in stream.read("TRIM_HORIZON").records())


def retries(caplog: pytest.LogCaptureFixture) -> Counter[str]:
    """Return the number of logged retries of each call, and check that each line has a reason."""
    lines = [
        record.__dict__["context"]
        for record in caplog.records
        if record.getMessage().startswith("call.retried ")
    ]
    assert all(line["reason"] and line["stream"] == STREAM.name for line in lines)
    return Counter(line["call"] for line in lines)


def test_an_outage_is_reported_and_the_offset_is_good(emulator: Emulator) -> None:
    """
    During an outage planning fails after `outageTimeout`, and the error says what to check.

    After the outage a reader continues from its last offset, without loss or repetition.
    """
    for number in range(ROWS):
        emulator.put(STREAM.name, b"%d" % number, f"key-{number % 7}")
    reader = Reader(connect(emulator, 0.1, 0.6))
    found = reader.read_until(ROWS)
    emulator.put(STREAM.name, b"late", "key-0")
    emulator.settings.fault = lambda _: Fault("InternalFailure", status=500)
    with pytest.raises(UnavailableError, match=r"InternalFailure.*Check endpoint_url, region, network"):
        reader.read_until(1)
    emulator.settings.fault = lambda _: None
    late = reader.read_until(1)
    reader.close()
    assert sorted(data for payloads in found.values() for data in payloads) == sorted(
        b"%d" % number for number in range(ROWS)
    )
    assert list(late.values()) == [[b"late"]]
