"""A stream that is being created, changed or deleted, for each way to read and write it in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kinesis_consumer import ConsumerGroup, GroupSettings, MemoryLeases
from kinesis_core import Producer, ServiceError, Stream
from kinesis_credentials import StaticKeys
from kinesis_emulator import Emulator, Fault, Request
from support.statuses import PASSING, RECORDS, STREAM, emulator_in
from support.streams import KEY_ID, REGION, SECRET, make_client
from support.user_records import data_of
from support.witness import kinesis_local

KEYS = StaticKeys(KEY_ID, SECRET)


def where(emulator: Emulator) -> dict[str, Any]:
    return {"region": REGION, "endpoint_url": emulator.endpoint_url, "credentials": KEYS}


def read(emulator: Emulator) -> list[bytes]:
    stream = Stream.open(STREAM, **where(emulator))
    return [record.data for record in stream.read("TRIM_HORIZON").records()]


def read_from_a_time(emulator: Emulator) -> list[bytes]:
    stream = Stream.open(STREAM, **where(emulator))
    start = f"AT_TIMESTAMP {emulator.records(STREAM)[0].arrived_ms}"
    return [record.data for record in stream.read(start).records()]


def follow(emulator: Emulator) -> list[bytes]:
    data: list[bytes] = []
    for batch in Stream.open(STREAM, **where(emulator)).follow("TRIM_HORIZON"):
        data += [record.data for record in batch.records()]
        if len(data) >= len(RECORDS):
            break
    return data


def read_by_fan_out(emulator: Emulator) -> list[bytes]:
    with Stream.open(STREAM, consumer="billing", **where(emulator)) as stream:
        return [record.data for record in stream.read("TRIM_HORIZON").records()]


def list_shards(emulator: Emulator) -> list[bytes]:
    assert len(Stream.open(STREAM, **where(emulator)).shards()) == 3
    return RECORDS


def consume(emulator: Emulator, **more: Any) -> list[bytes]:
    data: list[bytes] = []
    settings = GroupSettings(lease_duration_s=3600.0, fetch_interval_s=0.2)
    with ConsumerGroup.open(
        STREAM,
        "billing",
        leases=MemoryLeases(),
        start="TRIM_HORIZON",
        settings=settings,
        **where(emulator),
        **more,
    ) as group:
        for batch in group:
            data += [record.data for record in batch.records()]
            batch.commit()
            if len(data) >= len(RECORDS):
                break
    return data


def consume_by_fan_out(emulator: Emulator) -> list[bytes]:
    return consume(emulator, consumer="billing")


WAYS_TO_READ = [
    read,
    read_from_a_time,
    follow,
    read_by_fan_out,
    list_shards,
    consume,
    consume_by_fan_out,
]


@pytest.mark.parametrize("status", PASSING)
@pytest.mark.parametrize("way", WAYS_TO_READ)
def test_a_reader_waits_for_the_stream(way: Callable[[Emulator], list[bytes]], status: str) -> None:
    """Whatever status passes, a reader that started too early gets every record once."""
    with emulator_in(status) as emulator:
        assert sorted(way(emulator)) == RECORDS


def put(emulator: Emulator) -> None:
    with Producer.open(STREAM, **where(emulator)) as producer:
        for data in RECORDS:
            producer.put(data, data.decode())


@pytest.mark.parametrize("status", PASSING)
def test_a_producer_waits_for_the_stream(status: str) -> None:
    """Whatever status passes, a producer that started too early writes every record once."""
    with emulator_in(status, is_filled=False) as emulator:
        put(emulator)
        assert data_of(emulator, STREAM) == RECORDS


@pytest.mark.parametrize("way", [*WAYS_TO_READ, put])
def test_a_stream_that_is_deleted_is_not_waited_for(way: Callable[[Emulator], object]) -> None:
    """DELETING does not pass: the error says it, after a few calls."""
    with emulator_in("DELETING") as emulator:
        with pytest.raises(ServiceError, match="DELETING"):
            way(emulator)
        assert emulator.calls.count() < 20


@pytest.mark.parametrize("code", ["ResourceNotFoundException", "ResourceInUseException"])
def test_a_consumer_is_registered_once_the_stream_is_known_everywhere(code: str) -> None:
    """A refusal of the stream as a whole passes here too. It is not taken for a consumer of that name that exists."""
    with emulator_in("UPDATING") as emulator:
        left = [1, 1]

        def refuse(request: Request) -> Fault | None:
            emulator.advance(1)
            if request.action != "RegisterStreamConsumer" or not left:
                return None
            left.pop()
            return Fault(code, message=f"Stream {STREAM} under account 000000000000 is not there.")

        emulator.set_status(STREAM, "UPDATING", 0)
        emulator.settings.fault = refuse
        assert sorted(read_by_fan_out(emulator)) == RECORDS
    assert not left


@pytest.mark.witness
def test_a_witness_whose_stream_is_being_created() -> None:
    """kinesis-local lists the shards of a stream that is CREATING, refuses all else, and has other words for it."""
    with kinesis_local(creating_s=3.0) as endpoint_url:
        make_client(endpoint_url).create_stream(StreamName=STREAM, ShardCount=2)
        at: dict[str, Any] = {"region": REGION, "endpoint_url": endpoint_url, "credentials": KEYS}
        with Producer.open(STREAM, **at) as producer:
            producer.put_columns(RECORDS, [data.decode() for data in RECORDS])
        read = Stream.open(STREAM, **at).read("TRIM_HORIZON").records()
        assert sorted(record.data for record in read) == RECORDS
