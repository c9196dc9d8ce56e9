"""Record batches, built by kinesis-native and by Python: the same rows, or native code leaves the page to Python."""

from __future__ import annotations

import base64
import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings, strategies as st

from kinesis_core.model import Page, Record, RecordColumns
from kinesis_core.reading import COLUMNS
from kinesis_core.reading.arrow import BatchBuilder
from native.package import require_native
from support.aggregates import aggregate, sealed
from support.hostile import mutated

native = require_native()

keys: st.SearchStrategy[str | bytes] = (
    st.text(max_size=5) | st.binary(max_size=5) | st.sampled_from(["k" * 257, b"\xe2\x82" * 99])
)
user_records = st.lists(
    st.tuples(keys, st.none() | st.integers(0, 2**128 - 1).map(str), st.binary(max_size=9)),
    min_size=1,
    max_size=300,
)
usual = user_records.map(aggregate)
GOOD = b"\x0a\x01a\x0a\x02bc\x12\x011\x1a\x07\x08\x01\x10\x00\x1a\x01x\x1a\x0b\x08\x00\x1a\x01y\x22\x04\x0a\x02tt"
plain = st.binary(max_size=30) | usual.map(lambda data: data[:-1]) | st.just(sealed(b""))
odd = mutated(GOOD).map(sealed) | st.just(sealed(GOOD)) | st.just(sealed(b"\x0a\x01k"))
"""Messages with a right checksum in any form."""
columns = st.lists(st.sampled_from(list(COLUMNS)), min_size=1, unique=True)
everything = list(COLUMNS)


def page_of(payloads: list[bytes]) -> Page:
    """Return a page of *payloads*, as native code decodes it."""
    records: list[dict[str, Any]] = [
        {
            "SequenceNumber": str(10**55 + index),
            "Data": base64.b64encode(data).decode(),
            **({"PartitionKey": f"key {index}"} if index % 3 else {}),
            **({"ApproximateArrivalTimestamp": 1790000000.123 + index} if index % 4 else {}),
            **({"EncryptionType": "KMS"} if index % 5 else {}),
        }
        for index, data in enumerate(payloads)
    ]
    body = json.dumps({"Records": records, "MillisBehindLatest": 7}, separators=(",", ":")).encode()
    return Page(RecordColumns(native.decode_page(body, True)), millis_behind=7)


def built_by_python(builder: BatchBuilder, page: Page, skip: int = 0) -> pa.RecordBatch:
    records: list[Record] = list(page.records)
    page = Page(records, millis_behind=page.millis_behind)
    return builder.build(page, "orders", "shardId-000000000000", "arn:orders", skip)


def built_natively(builder: BatchBuilder, page: Page, deaggregate: bool, skip: int = 0) -> Any:
    assert isinstance(page.records, RecordColumns)
    return page.records.to_batch(
        builder.schema.names,
        deaggregate=deaggregate,
        skip=skip,
        stream_name="orders",
        stream="arn:orders",
        shard_id="shardId-000000000000",
        millis_behind=page.millis_behind,
    )


@settings(deadline=None)
@given(st.lists(plain | usual, max_size=12), columns, st.booleans(), st.integers(0, 400))
@example([], everything, True, 3)
@example([aggregate([("\N{SNOWMAN}" * 256, "7", b"x")])], everything, True, 0)  # 768 bytes of key
@example([aggregate([("k", None, b"x")] * 9)] * 9, everything, True, 5)  # more aggregates than lanes
def test_usual_pages_are_built_natively(
    payloads: list[bytes], names: list[str], deaggregate: bool, skip: int
) -> None:
    """Native code unpacks whole aggregates among plain and damaged records, and each column is Python's."""
    builder, page = BatchBuilder(names, deaggregate), page_of(payloads)
    skip = skip if deaggregate else 0
    found = pa.record_batch(built_natively(builder, page, deaggregate, skip))
    found.validate(full=True)
    assert found.schema.equals(builder.schema, check_metadata=True)
    assert found.equals(built_by_python(builder, page, skip))


@settings(deadline=None)
@given(st.lists(plain | usual | odd, max_size=6), st.integers(0, 4), st.integers(0, 6), st.integers(0, 9))
def test_any_page_has_the_rows_that_python_builds(
    payloads: list[bytes], start: int, stop: int, skip: int
) -> None:
    """For aggregates in any form, and for parts of pages, the batch is Python's, whoever builds it."""
    builder, page = BatchBuilder(everything), page_of(payloads)
    page.records = page.records[start:stop]
    found = builder.build(page, "orders", "shardId-000000000000", "arn:orders", skip)
    found.validate(full=True)
    assert found.equals(built_by_python(builder, page, skip))


def test_unusual_aggregates_are_left_to_python() -> None:
    """An aggregate with tags is unpacked by Python, so its page is not built natively."""
    builder, page = BatchBuilder(["data"]), page_of([sealed(GOOD)])
    assert built_natively(builder, page, True) is None
    assert builder.build(page, "orders", "shard")["data"].to_pylist() == [b"x", b"y"]


@pytest.mark.parametrize(
    "message",
    [
        b"\x0a\x01k\x1a\x05\x08\x01\x1a\x01x",  # an index beyond the table
        b"\x0a\x01k\x12\x0207\x1a\x07\x08\x00\x10\x00\x1a\x01x",  # an explicit hash key that Kinesis refuses
        b"\x0a\x01k\x1a\x02\xff\xff",  # a user record that is not a message
        b"\x0a\x01k\x1a\x7f",  # a record that is cut short
        b"\x0a\xd0\x0f"
        + b"k" * 2_000
        + b"\x1a\x05\x08\x00\x1a\x01x" * 5_000,  # keys that take too much memory
    ],
)
def test_what_is_logged_is_left_to_python(message: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """Native code builds no batch of an aggregate that is not decoded as a whole, because Python logs it."""
    stream = f"logged-{len(message)}-{message[-1]}"
    BatchBuilder(["data"]).build(page_of([sealed(message), b"plain"]), stream, "shardId-0")
    assert [record.getMessage().split()[0] for record in caplog.records] == ["aggregate.undecoded"]


def test_a_batch_outlives_its_page() -> None:
    """The columns of a batch belong to it: neither the page nor the body is needed any more."""
    batch = pa.record_batch(
        built_natively(BatchBuilder(["data", "partitionKey"]), page_of([b"x" * 99]), True)
    )
    assert batch.to_pydict() == {"data": [b"x" * 99], "partitionKey": [None]}
