"""Programs that choose CBOR, against the emulator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kinesis_consumer import ConsumerGroup, MemoryLeases
from kinesis_core import AtTimestamp, Producer, Stream, WireFormat
from kinesis_credentials import StaticKeys
from kinesis_emulator import Emulator, Limits, Settings

KEYS = StaticKeys("AKIAEXAMPLE", "example-secret")
SHARD = "shardId-000000000000"
PAYLOADS = [b"", b"\x00\xff", "é".encode(), bytes(5000)]
ACTIONS = ("GetRecords", "GetShardIterator", "PutRecords")


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    with Emulator(settings=Settings(limits=Limits.unlimited())) as started:
        started.create_stream("orders", shards=2)
        yield started


def arguments(emulator: Emulator) -> dict[str, Any]:
    return {"endpoint_url": emulator.endpoint_url, "credentials": KEYS, "wire_format": WireFormat.CBOR}


def test_a_producer_and_a_stream(emulator: Emulator) -> None:
    """What a producer writes in CBOR a stream reads in CBOR, from an offset and from a time. The other calls are in JSON."""
    with Producer.open("orders", **arguments(emulator)) as producer:
        for payload in PAYLOADS:
            producer.put(payload, "key")
    stream = Stream.open("orders", **arguments(emulator))
    assert [record.data for record in stream.read("TRIM_HORIZON").records()] == PAYLOADS
    arrived_ms = min(record.arrived_ms or 0 for record in emulator.records("orders"))
    assert [record.data for record in stream.read(AtTimestamp(arrived_ms)).records()] == PAYLOADS
    calls = emulator.calls
    assert all(calls.count(action, wire_format="cbor") == calls.count(action) > 0 for action in ACTIONS)
    assert calls.count(wire_format="cbor") == sum(calls.count(action) for action in ACTIONS)


def test_a_consumer_group(emulator: Emulator) -> None:
    """A group reads in CBOR, and names its own argument in an error."""
    for payload in PAYLOADS:
        emulator.put("orders", payload)
    leases = MemoryLeases()
    with ConsumerGroup.open(
        "orders", "billing", leases=leases, start="TRIM_HORIZON", **arguments(emulator)
    ) as group:
        found = []
        for batch in group:
            found += [record.data for record in batch.records()]
            if len(found) == len(PAYLOADS):
                break
    assert found == PAYLOADS
    assert emulator.calls.count("GetRecords", wire_format="cbor") == emulator.calls.count("GetRecords") > 0
