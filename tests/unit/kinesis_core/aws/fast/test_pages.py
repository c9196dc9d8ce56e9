"""Pages and events: what is decoded, what is malformed, and that both formats agree."""

from __future__ import annotations

import json
from typing import Any

import cbor2
import pytest

from kinesis_core.aws import MALFORMED
from kinesis_core.aws.fast import wire, wire_cbor
from support.vectors import (
    ARRIVED_MS,
    JSON_RECORD,
    MALFORMED_CBOR,
    MALFORMED_JSON,
    NUMBER,
    PAGES,
    RECORD,
    body,
    expected_facts,
    facts,
    in_cbor,
    in_json,
    json_body,
    record,
    value,
)


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
        assert found.is_shard_end == (page.get("NextShardIterator") is None)


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


@pytest.mark.parametrize(
    ("decode", "malformed"),
    [
        *[pytest.param(wire.decode_page, text, id=f"JSON: {name}") for name, text in MALFORMED_JSON.items()],
        *[pytest.param(wire_cbor.decode_page, it, id=f"CBOR: {name}") for name, it in MALFORMED_CBOR.items()],
    ],
)
def test_anything_else_is_malformed(decode: Any, malformed: bytes) -> None:
    """An incomplete body is never a page and never the end of a shard."""
    with pytest.raises(MALFORMED):
        decode(malformed)


@pytest.mark.parametrize("children", [[], [{"ShardId": "shardId-000000000001"}]], ids=["none", "one"])
@pytest.mark.parametrize("continuation", [NUMBER, None], ids=["named", "null"])
def test_children_or_no_continuation_end_a_subscribed_shard(
    children: list[Any], continuation: str | None
) -> None:
    """An event ends its shard if it names children, or if it has no continuation sequence number."""
    event = {"Records": [JSON_RECORD], "MillisBehindLatest": 0, "ChildShards": children}
    page = wire.decode_event(json.dumps(event | {"ContinuationSequenceNumber": continuation}).encode())
    assert page.is_shard_end == (bool(children) or continuation is None)


def test_the_error_shows_no_payload() -> None:
    """The error shows neither data nor partition key, so no payload reaches a log."""
    with pytest.raises(MALFORMED) as caught:
        wire.decode_page(json_body(JSON_RECORD | {"Data": "c2VjcmV0!", "PartitionKey": "secret"}))
    assert "c2Vj" not in str(caught.value)
    assert "secret" not in str(caught.value)
