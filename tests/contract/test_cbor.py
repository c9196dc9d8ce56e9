"""
The core's calls in CBOR.

kinesis-local writes payloads as text in base64, so pages are read from it in JSON. moto does not speak CBOR.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kinesis_core.aws import BotoStreamApi, Connection, RetryPolicy, StreamRef, WireFormat, stream_client
from kinesis_core.errors import InvalidRequestError, StreamNotFoundError, UnavailableError
from kinesis_core.model import After, At, AtTimestamp, Cut, PutEntry, TrimHorizon
from kinesis_credentials import StaticKeys
from support.servers import KINESIS_LOCAL, MOTO

SPEAKING = pytest.mark.parametrize("endpoint_url", ["emulator", KINESIS_LOCAL], indirect=True)
SHARD = "shardId-000000000000"
PAYLOADS = [b"", b"\x00\xff", b"\xf3\x89\x9a\xc2", "é".encode()]


def open_api(endpoint_url: str, stream: str, wire_format: WireFormat = WireFormat.CBOR) -> BotoStreamApi:
    keys = StaticKeys("AKIAEXAMPLE", "secret")
    ref = StreamRef(stream)
    return stream_client(
        Connection((ref,), "us-east-1", endpoint_url, keys, RetryPolicy(0), wire_format=wire_format), ref
    )


@pytest.fixture
def api(endpoint_url: str, stream: Any) -> BotoStreamApi:
    """Return the client of a stream with four records."""
    made = open_api(endpoint_url, stream.name)
    response = made.put_records([PutEntry(payload, "ключ", "0") for payload in PAYLOADS])
    assert (response.failed, {result.shard_id for result in response.results}) == (0, {SHARD})
    return made


@pytest.fixture
def read(api: BotoStreamApi, endpoint_url: str) -> Callable[[Cut], list[bytes]]:
    """Return a function that reads from an iterator of a call in CBOR."""
    reader = open_api(endpoint_url, api.name, WireFormat.JSON)
    return lambda cut: [
        record.data for record in reader.get_records(api.get_iterator(SHARD, cut), 10).records
    ]


@SPEAKING
@pytest.mark.deviates("kinesis-local", "writes payloads as text")
def test_records_come_back(api: BotoStreamApi, endpoint_url: str) -> None:
    """A page in CBOR has the records that were put in CBOR, and equals the same page in JSON."""
    pages = [
        found.get_records(found.get_iterator(SHARD, TrimHorizon()), 10)
        for found in (api, open_api(endpoint_url, api.name, WireFormat.JSON))
    ]
    assert [record.data for record in pages[0].records] == PAYLOADS
    assert {record.partition_key for record in pages[0].records} == {"ключ"}
    assert list(pages[0].records) == list(pages[1].records)
    assert pages[0].millis_behind == 0
    assert pages[0].body_bytes < pages[1].body_bytes


@SPEAKING
def test_what_was_put_in_cbor_is_read_in_json(read: Callable[[Cut], list[bytes]]) -> None:
    """A payload of any bytes is stored as it was sent."""
    assert read(TrimHorizon()) == PAYLOADS


@SPEAKING
def test_iterators_begin_where_they_say(stream: Any, read: Callable[[Cut], list[bytes]]) -> None:
    """Iterators at a number, after a number and at a time, which has a tag, begin there."""
    record = stream.read()[1]
    number = int(record["SequenceNumber"])
    assert read(At(number)) == PAYLOADS[1:]
    assert read(After(number)) == PAYLOADS[2:]
    arrived_ms = round(record["ApproximateArrivalTimestamp"].timestamp() * 1000)
    assert PAYLOADS[1] in read(AtTimestamp(arrived_ms))
    assert read(AtTimestamp(0)) == PAYLOADS


@SPEAKING
def test_errors_are_those_of_json(endpoint_url: str, api: BotoStreamApi) -> None:
    """An unknown stream or shard gets the same error as in JSON, by the client and past it."""
    for name, shard in ((api.name, "shardId-000000000009"), ("nowhere", SHARD)):
        errors = []
        for wire_format in WireFormat:
            asked = open_api(endpoint_url, name, wire_format)
            for _ in range(2):
                with pytest.raises(StreamNotFoundError) as caught:
                    asked.get_iterator(shard, TrimHorizon())
                errors.append((caught.value.code, str(caught.value).replace(caught.value.request_id, "")))
        assert errors == errors[:1] * 4


@SPEAKING
@pytest.mark.deviates("kinesis-local", "has a status 500 for an iterator that it did not make")
def test_a_malformed_iterator_is_refused(api: BotoStreamApi) -> None:
    """An iterator that Kinesis has not made is an invalid argument."""
    with pytest.raises(InvalidRequestError):
        api.get_records("AAAA", 10)


@SPEAKING
@pytest.mark.deviates("emulator", "refuses the whole request, like AWS")
def test_a_refused_record_is_named(api: BotoStreamApi) -> None:
    """A record that is too large fails alone. Only kinesis-local does so."""
    response = api.put_records([PutEntry(b"small", "key"), PutEntry(b"x" * 2_000_000, "key")])
    assert response.failed == 1
    assert [result.error_code for result in response.results] == [None, "InvalidArgumentException"]


@pytest.mark.parametrize("endpoint_url", [MOTO], indirect=True)
def test_a_server_that_fails_on_cbor(endpoint_url: str, stream: Any) -> None:
    """moto fails with status 500 over a body in CBOR. That is retried, and the error names the option."""
    with pytest.raises(UnavailableError, match=r"not CBOR.*use JSON as the wire format"):
        open_api(endpoint_url, stream.name).get_iterator(SHARD, TrimHorizon())
