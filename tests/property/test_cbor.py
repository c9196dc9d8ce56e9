"""CBOR: hostile pages, the emulator's codec beside another one, and pages that are the same in JSON."""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from typing import Any

import cbor2
import pytest
from hypothesis import given, strategies as st

from kinesis_core.aws import MALFORMED
from kinesis_core.aws.fast import wire, wire_cbor
from kinesis_core.model import PutEntry
from kinesis_emulator import cbor
from support.hostile import mutated, peak_bytes

RECORD = {
    "SequenceNumber": "4966",
    "Data": b"\x00\xffx",
    "PartitionKey": "k",
    "ApproximateArrivalTimestamp": cbor2.CBORTag(1, 1_790_000_000_123),
    "EncryptionType": "NONE",
}
PAGE = {
    "Records": [RECORD, RECORD],
    "MillisBehindLatest": 0,
    "NextShardIterator": "next",
    "ChildShards": [{"ShardId": "shardId-1", "ParentShards": ["shardId-0"]}],
}
PUT: dict[str, Any] = {
    "FailedRecordCount": 1,
    "Records": [{"ShardId": "shardId-0", "SequenceNumber": "4966"}, {"ErrorCode": "x", "ErrorMessage": "y"}],
}
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
times = st.integers(0, 253_402_300_799_999)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**64), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),  # which cbor2 writes as short floats
    texts,
    st.binary(max_size=40),
    st.integers(-(2**63), 2**63 - 1).map(cbor.Time),
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)
numbers = st.from_regex(r"\A[0-9]{1,129}\Z")
records = st.fixed_dictionaries(
    {"SequenceNumber": numbers, "Data": st.binary(max_size=50)},
    optional={
        "PartitionKey": st.none() | texts,
        "ApproximateArrivalTimestamp": st.none() | times.map(lambda time_ms: cbor2.CBORTag(1, time_ms)),
        "EncryptionType": st.none() | st.sampled_from(["NONE", "KMS"]),
    },
)
pages = st.fixed_dictionaries(
    {"Records": st.lists(records, max_size=6), "MillisBehindLatest": st.integers(0, 2**63 - 1)},
    optional={
        "NextShardIterator": st.none() | texts,
        "ChildShards": st.none() | st.just(PAGE["ChildShards"]),
    },
)
wholes = st.sampled_from([PAGE, PUT]).flatmap(
    lambda page: st.booleans().map(lambda parts: _dumps(page, parts))
)
heads = st.integers(0, 255).flatmap(
    lambda head: st.binary(max_size=12).map(lambda rest: bytes([head]) + rest)
)
bodies = st.one_of(
    st.binary(max_size=300),
    wholes.flatmap(mutated),
    values.map(cbor.encode),
    st.tuples(
        st.integers(1, 2000),
        heads,
        st.sampled_from([b"\x81", b"\x9f", b"\xa1\x61a", b"\xbf\x61a", b"\xc1", b"\xd8\x1c"]),
    ).map(lambda drawn: drawn[2] * drawn[0] + drawn[1]),
)


def _dumps(value: Any, parts: bool) -> bytes:
    return cbor2.dumps(value, indefinite_containers=parts)


def _oracle(value: Any) -> Any:
    """Return *value* with the tags of the other codec."""
    match value:
        case dict():
            return {key: _oracle(item) for key, item in value.items()}
        case list():
            return [_oracle(item) for item in value]
        case cbor.Time(epoch_ms):
            return cbor2.CBORTag(1, epoch_ms)
    return value


def _loads(body: bytes) -> Any:
    return cbor2.loads(body, semantic_decoders={1: lambda value, _: cbor.Time(value)})


@given(bodies, st.booleans())
def test_a_body_is_a_page_or_malformed(body: bytes, with_data: bool) -> None:
    """Any bytes are a page whose numbers and times are valid, or a malformed response. Nothing else is raised."""
    with suppress(*MALFORMED):
        page = wire_cbor.decode_page(body, with_data)
        assert all(record.number >= 0 for record in page.records)
        assert all(type(record.data) is bytes for record in page.records)
        assert all(record.arrived_ms is None or record.arrived_ms >= 0 for record in page.records)


@given(bodies, st.booleans())
def test_any_bytes_are_a_response_to_a_put_or_malformed(body: bytes, with_results: bool) -> None:
    """Any bytes are a response with an outcome for each record, or a malformed response. Nothing else is raised."""
    with suppress(*MALFORMED):
        response = wire_cbor.decode_put_response(body, 2, with_results)
        assert len(response.results) == (2 if response.failed or with_results else 0)


members = st.none() | st.sampled_from(["", "x", "4966"])
results = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(["ShardId", "SequenceNumber", "ErrorCode", "ErrorMessage"], members)
)
WRITTEN = PUT["Records"][0]


@given(
    st.lists(st.just(WRITTEN) | st.sampled_from(PUT["Records"]) | results, max_size=4),
    st.sampled_from([None, 0, 0, 1, 2]),
    st.integers(0, 4),
)
def test_a_response_to_a_put_says_what_became_of_each_record(
    results: list[dict[str, str | None]], count: int | None, records: int
) -> None:
    """
    In both formats, and whether the caller wants the results or not, a response is taken if it has a result for each
    record, with a shard and a number or with an error code, and no other number of failures.
    """
    failed = sum(result.get("ErrorCode") is not None for result in results)
    is_whole = len(results) == records and all(
        result["ErrorCode"] if result.get("ErrorCode") is not None else is_written(result)
        for result in results
    )
    is_whole = is_whole and all(result.get(name) != "" for result in results for name in NAMES)
    body = {"FailedRecordCount": count, "Records": results}
    for with_results in (True, False):
        for codec, encoded in ((wire, json.dumps(body).encode()), (wire_cbor, cbor2.dumps(body))):
            if not (is_whole and count in (None, failed)):
                with pytest.raises(MALFORMED):
                    codec.decode_put_response(encoded, records, with_results)
                continue
            found = codec.decode_put_response(encoded, records, with_results)
            assert found.failed == failed
            expected = [tuple(map(result.get, NAMES)) for result in results]
            got = [(result.shard_id, result.sequence_number, result.error_code) for result in found.results]
            assert got == (expected if failed or with_results else [])


NAMES = ("ShardId", "SequenceNumber", "ErrorCode")


def is_written(result: dict[str, str | None]) -> bool:
    return bool(result.get("ShardId") and result.get("SequenceNumber"))


@given(bodies)
def test_an_error_body_becomes_json(body: bytes) -> None:
    """Any bytes as the body of an error become a JSON object of texts."""
    found = json.loads(wire_cbor.error_as_json(body))
    assert all(isinstance(text, str) for text in found.values())


@given(pages, st.booleans(), st.booleans())
def test_a_page_is_the_same_in_json(page: dict[str, Any], with_data: bool, parts: bool) -> None:
    """A response in CBOR, with definite lengths or not, gives the page that the same response in JSON gives."""
    text = json.dumps(
        page,
        default=lambda item: (
            base64.b64encode(item).decode() if isinstance(item, bytes) else item.value / 1000
        ),
    )
    in_cbor, in_json = (
        wire_cbor.decode_page_in_python(_dumps(page, parts), with_data),
        wire.decode_page_in_python(text.encode(), with_data),
    )
    in_cbor.body_bytes = in_json.body_bytes
    assert in_cbor == in_json


@given(st.lists(st.builds(PutEntry, st.binary(max_size=50), texts, st.none() | numbers), max_size=5))
def test_a_put_is_the_same_in_json(entries: list[PutEntry]) -> None:
    """A request in CBOR has the members of the request in JSON, with payloads as byte strings."""
    in_cbor = cbor2.loads(wire_cbor.encode_put(entries, "orders", None))
    in_json = json.loads(wire.encode_put(entries, "orders", None))
    for record in in_json["Records"]:
        record["Data"] = base64.b64decode(record["Data"])
    assert in_cbor == in_json


@given(values)
def test_what_the_emulator_writes_another_codec_reads(value: Any) -> None:
    """cbor2 reads the same value, and writes the same bytes."""
    written = cbor.encode(value)
    assert _loads(written) == value
    assert cbor2.dumps(_oracle(value)) == written


@given(values, st.booleans())
def test_what_another_codec_writes_the_emulator_reads(value: Any, parts: bool) -> None:
    """The emulator reads what cbor2 writes, with definite lengths or in parts."""
    assert cbor.decode(_dumps(_oracle(value), parts)) == value


@given(bodies)
def test_the_emulator_accepts_no_more_than_another_codec(body: bytes) -> None:
    """Any bytes are a value for cbor2 too, which has the same value, or are refused with a ValueError."""
    try:
        value = cbor.decode(body)
    except ValueError:
        return
    assert repr(_loads(body)) == repr(value)


MANY = 20_000


@pytest.mark.parametrize(
    "hostile",
    [
        b"\x80" * MANY,
        b"\xa0" * MANY,
        b"\xf6" * MANY,
        b"\x40" * MANY,
        b"\x61a" * MANY,
        b"\x5b\x00\x00\x00\x7f" + b"\xff" * 4,
        b"\x7b\x00\x00\x00\x7f" + b"\xff" * 4,
        b"\x9b\x00\x00\x00\x7f" + b"\xff" * 4,
        b"\xbb\x00\x00\x00\x7f" + b"\xff" * 4,
        b"\x81" * MANY,
    ],
    ids=[
        "lists",
        "maps",
        "nulls",
        "bytes",
        "texts",
        "huge bytes",
        "huge text",
        "huge array",
        "huge map",
        "deep",
    ],
)
def test_memory_is_bounded_by_the_body(hostile: bytes) -> None:
    """A page takes no more memory than a multiple of its body, whatever it announces."""
    page = cbor2.dumps({"Records": [], "MillisBehindLatest": 0, "ChildShards": "@@@"})
    body = page.replace(b"\x63@@@", b"\x9f" + hostile + b"\xff")

    def decode() -> None:
        with suppress(*MALFORMED):
            wire_cbor.decode_page(body)

    assert peak_bytes(decode) < 100 * len(body) + 2**18
