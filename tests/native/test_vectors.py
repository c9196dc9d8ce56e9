"""kinesis-native finds what Python finds in the same tables of examples, or leaves it to Python."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kinesis_core.aggregation import UserRecords, unpack
from kinesis_core.model import Page, PutEntry, RecordColumns
from kinesis_core.producing.rows import Rows, columns_of_arrays
from native.package import require_native
from native.rows import as_columns
from support.aggregates import sealed
from support.vectors import (
    HASH_KEYS,
    KEYS_OF_BYTES,
    LEFT_TO_PYTHON,
    LEFT_WHOLE,
    MALFORMED_CBOR,
    MALFORMED_JSON,
    ONE,
    PAGES,
    PUTS,
    VALID_ENCODINGS,
    expected_facts,
    facts,
    in_cbor,
    in_json,
    varint,
)

native = require_native()


@pytest.mark.parametrize("with_data", [True, False])
@pytest.mark.parametrize("name", PAGES)
def test_pages(name: str, with_data: bool) -> None:
    """A page in JSON and in CBOR has the same records."""
    page = PAGES[name]
    for decode, body, form in (
        (native.decode_page, in_json(page), "JSON"),
        (native.decode_cbor_page, in_cbor(page), "CBOR"),
    ):
        found = decode(body, with_data)
        assert (found is None) == (name in LEFT_TO_PYTHON[form])
        if found is not None:
            found = Page(RecordColumns(found), found.millis_behind, found.next_iterator)
            assert facts(found) == expected_facts(page, with_data)


@pytest.mark.parametrize("name", MALFORMED_JSON)
def test_malformed_pages_in_json(name: str) -> None:
    """What is no page in JSON is not recognised."""
    assert native.decode_page(MALFORMED_JSON[name], True) is None


@pytest.mark.parametrize("name", MALFORMED_CBOR)
def test_malformed_pages_in_cbor(name: str) -> None:
    """What is no page in CBOR is not recognised."""
    assert native.decode_cbor_page(MALFORMED_CBOR[name], True) is None


@pytest.mark.parametrize(("entries", "in_json", "in_cbor"), PUTS.values(), ids=PUTS)
def test_requests(entries: list[PutEntry], in_json: bytes, in_cbor: bytes) -> None:
    """A request is the same, byte for byte."""
    hash_keys = [entry.explicit_hash_key for entry in entries]
    rows = Rows(
        [e.data for e in entries], [e.partition_key for e in entries], hash_keys if any(hash_keys) else None
    )
    written = as_columns(rows).entries().native
    assert written.encode_json("orders", None) == in_json
    assert written.encode_cbor("orders", None) == in_cbor


@pytest.mark.parametrize("text", HASH_KEYS)
def test_hash_keys(text: str) -> None:
    """A row is taken if its explicit hash key is one."""
    found = columns_of_arrays(pa.array([b"x"]), pa.array(["k"]), pa.array([text]), 1_000)
    assert (found is not None) == HASH_KEYS[text]


def unpacked(message: bytes) -> Any:
    """Return the user records of an aggregate with *message*; None if native code leaves it to Python."""
    page = {"Records": [{"SequenceNumber": "1", "Data": sealed(message)}], "MillisBehindLatest": 0}
    names = ["data", "partitionKey", "explicitHashKey"]
    facts = {"stream_name": "s", "stream": "s", "shard_id": "s", "millis_behind": 0}
    batch = native.decode_cbor_page(in_cbor(page), True).batch(names, 0, 1, deaggregate=True, skip=0, **facts)
    return None if batch is None else UserRecords(*pa.record_batch(batch).to_pydict().values())


@pytest.mark.parametrize(("key", "read"), KEYS_OF_BYTES)
def test_keys_of_bytes(key: bytes, read: str) -> None:
    """A partition key may be any bytes."""
    assert unpacked(b"\x0a" + varint(len(key)) + key + ONE) == UserRecords([b"one"], [read], [None])


@pytest.mark.parametrize("message", [message for message, _ in VALID_ENCODINGS])
def test_valid_encodings(message: bytes) -> None:
    """Any valid encoding is unpacked like the usual one, or left to Python."""
    assert unpacked(message) in (None, unpack(sealed(message)))


@pytest.mark.parametrize("message", [message for message, _ in LEFT_WHOLE])
def test_damaged_messages(message: bytes) -> None:
    """A damaged message is left to Python, which logs it."""
    assert unpacked(message) is None
