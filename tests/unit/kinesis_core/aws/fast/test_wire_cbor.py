"""Bodies in CBOR: what is decoded, what is malformed, and that both formats agree."""

from __future__ import annotations

from typing import Any

import cbor2
import pytest

from kinesis_core.aws import MALFORMED
from kinesis_core.aws.fast import wire, wire_cbor
from kinesis_core.model import Page, PutEntry, PutResponse, PutResult, Record, WrittenResult
from support.vectors import (
    ARRIVED_MS,
    MALFORMED_CBOR,
    NUMBER,
    PAGES,
    RECORD,
    body,
    expected_facts,
    facts,
    in_cbor,
    in_json,
    record,
    value,
)


def test_decodes_what_get_records_returns() -> None:
    """Every member of a response is decoded, with the payload as bytes and the time to the millisecond."""
    page = wire_cbor.decode_page(body(RECORD))
    assert page == Page(
        records=[Record(NUMBER, b"payload\x00\xff", "ключ", 1_790_000_012.345, "KMS")],
        millis_behind=7,
        next_iterator="next",
        body_bytes=len(body(RECORD)),
    )
    assert page.records[0].arrived_ms == ARRIVED_MS


@pytest.mark.parametrize("with_data", [True, False])
@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_a_page_is_the_same_in_both_formats(page: dict[str, Any], with_data: bool) -> None:
    """The same response in CBOR and in JSON gives equal pages, with and without data."""
    for decode, sent in (
        (wire_cbor.decode_page_in_python, in_cbor(page)),
        (wire.decode_page_in_python, in_json(page)),
    ):
        found = decode(sent, with_data)
        assert (facts(found), found.body_bytes) == (expected_facts(page, with_data), len(sent))


@pytest.mark.parametrize("body_type", [bytes, bytearray, memoryview])
def test_any_kind_of_bytes(body_type: Any) -> None:
    """The transports return bytes and bytearrays."""
    assert (
        wire_cbor.decode_page(body_type(body(RECORD))).records == wire_cbor.decode_page(body(RECORD)).records
    )


def test_a_time_needs_no_tag() -> None:
    """A time without a tag is in milliseconds as well: kinesis-local leaves the tag out."""
    [found] = wire_cbor.decode_page(body(record(ApproximateArrivalTimestamp=ARRIVED_MS))).records
    assert found.arrived_ms == ARRIVED_MS


def test_indefinite_lengths() -> None:
    """Maps, arrays, texts and byte strings may come in parts."""
    whole = body(RECORD)
    parts = cbor2.dumps(value(RECORD), indefinite_containers=True)
    assert parts[0] == 0xBF
    parts = parts.replace(cbor2.dumps(RECORD["Data"]), b"\x5f\x43pay\x46load\x00\xff\xff")
    parts = parts.replace(cbor2.dumps("next"), b"\x7f\x62ne\x60\x62xt\xff")
    first, second = wire_cbor.decode_page(whole), wire_cbor.decode_page(parts)
    second.body_bytes = first.body_bytes
    assert first == second


@pytest.mark.parametrize("malformed", MALFORMED_CBOR.values(), ids=MALFORMED_CBOR)
def test_a_malformed_page_is_never_taken_for_data(malformed: bytes) -> None:
    """A body that is no page is malformed."""
    with pytest.raises(MALFORMED):
        wire_cbor.decode_page(malformed)


PUT: dict[str, Any] = {
    "FailedRecordCount": 1,
    "Records": [{"ShardId": "shardId-1", "SequenceNumber": "5"}, {"ErrorCode": "x", "ErrorMessage": "y"}],
}


def test_a_response_to_a_put() -> None:
    """A response has one result per record. Without failures they can be left out."""
    results = [PutResult("shardId-1", sequence_number="5"), PutResult(None, "x", "y")]
    assert wire_cbor.decode_put_response(cbor2.dumps(PUT), 2, False) == PutResponse(1, results)
    good = cbor2.dumps({"FailedRecordCount": 0, "Records": PUT["Records"][:1] * 2})
    assert wire_cbor.decode_put_response(good, 2, False) == PutResponse(0, ())
    written = WrittenResult(shard_id="shardId-1", sequence_number="5")
    assert wire_cbor.decode_put_response(good, 2, True) == PutResponse(0, [written] * 2)


@pytest.mark.parametrize(
    "malformed",
    [
        b"",
        cbor2.dumps([]),
        cbor2.dumps({"Records": []}),
        cbor2.dumps({"FailedRecordCount": 0}),
        cbor2.dumps({"FailedRecordCount": 0, "Records": PUT["Records"]}),
        cbor2.dumps(PUT | {"FailedRecordCount": 0.0}),
        cbor2.dumps(PUT | {"FailedRecordCount": False}),
        cbor2.dumps(PUT | {"FailedRecordCount": 2}),
        cbor2.dumps(PUT | {"Records": PUT["Records"][:1]}),
        cbor2.dumps(PUT | {"Records": [{"ShardId": b"shardId-1"}] * 2}),
        cbor2.dumps(PUT) + b"\x00",
    ],
)
def test_a_malformed_response_to_a_put(malformed: bytes) -> None:
    """A response that does not say for each record what became of it is malformed."""
    with pytest.raises(MALFORMED):
        wire_cbor.decode_put_response(malformed, 2, False)


def test_a_put_has_fewer_bytes_than_in_json() -> None:
    """Payloads are sent as they are, which is a quarter less than in base64."""
    entries = [PutEntry(bytes(1000), f"key-{index}") for index in range(500)]
    sizes = [len(codec.encode_put(entries, "orders", None)) for codec in (wire_cbor, wire)]
    assert sizes[0] < 0.77 * sizes[1]
