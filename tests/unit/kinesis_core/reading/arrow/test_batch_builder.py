from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys
from datetime import datetime, timezone

import pyarrow as pa
import pytest
from hypothesis import example, given, settings, strategies as st

from kinesis_core.aggregation import MAGIC
from kinesis_core.errors import OptionError
from kinesis_core.model import Page, Record
from kinesis_core.reading import COLUMNS
from kinesis_core.reading.arrow import BatchBuilder
from kinesis_core.reading.arrow.arrays import FEW, timestamps


def seal(message: bytes) -> bytes:
    return MAGIC + message + hashlib.md5(message, usedforsecurity=False).digest()


AGGREGATE = seal(b"\x0a\x01k\x0a\x01l\x12\x0212\x1a\x05\x08\x00\x1a\x01a\x1a\x07\x08\x01\x10\x00\x1a\x01b")
"""Two user records: a under key k, b under key l with explicit hash key 12."""
EMPTY_AGGREGATE = seal(b"\x0a\x01k")
ARRIVED = datetime(2026, 9, 21, 14, 13, 32, 345000, tzinfo=timezone.utc)

PLAIN = Page([Record("1", b"one", "key", 1790000012.345, "KMS"), Record("2", b"")], millis_behind=7)
MIXED = Page(
    [
        Record("1", b"one", "key", 1790000012.345, "KMS"),
        Record("2", AGGREGATE, "a", 1790000012.346),
        Record("3", EMPTY_AGGREGATE, "a", 1790000012.347),
        Record("4", AGGREGATE[:-1], "a", 1790000012.348),
        Record("5", b"five"),
    ],
    millis_behind=7,
)

subsets = st.lists(st.sampled_from(list(COLUMNS)), min_size=1, unique=True)


def build(page: Page, columns: list[str], deaggregate: bool = True) -> pa.RecordBatch:
    return BatchBuilder(columns, deaggregate).build(page, "orders", "shardId-000000000000")


@pytest.mark.tests  # with Spark's own schema
@settings(deadline=None)
@given(names=subsets)
def test_the_schema_is_the_one_spark_expects(names: list[str]) -> None:
    """Spark compares the first batch with its own schema exactly: types, order, time zone, nullability."""
    spark = pytest.importorskip("pyspark.sql.types", reason="the core is installed alone")
    conversion = pytest.importorskip("pyspark.sql.pandas.types")
    schema = spark.StructType()
    for name in names:
        schema.add(name, COLUMNS[name].kind.value)
    assert BatchBuilder(names).schema.equals(conversion.to_arrow_schema(schema, timezone="UTC"))


def test_column_stream_is_the_stream_as_given() -> None:
    """Column `stream` distinguishes two streams of the same name: it has the ARN, while `streamName` has the name."""
    arn = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders"
    builder = BatchBuilder(["streamName", "stream"])
    for page in (PLAIN, MIXED):
        rows = builder.build(page, "orders", "shardId-000000000000", arn).to_pylist()
        assert {(row["streamName"], row["stream"]) for row in rows} == {("orders", arn)}


def test_a_record_is_a_row_with_every_column() -> None:
    """Every column of a plain record has Kinesis' value, and null where Kinesis returns none."""
    first, second = build(PLAIN, list(COLUMNS)).to_pylist()
    assert first == {
        "data": b"one",
        "streamName": "orders",
        "partitionKey": "key",
        "sequenceNumber": "1",
        "approximateArrivalTimestamp": ARRIVED,
        "shardId": "shardId-000000000000",
        "subSequenceNumber": 0,
        "explicitHashKey": None,
        "stream": "orders",
        "encryptionType": "KMS",
        "millisBehindLatest": 7,
    }
    assert [
        second[name] for name in ("data", "partitionKey", "approximateArrivalTimestamp", "encryptionType")
    ] == [
        b"",
        None,
        None,
        None,
    ]


def test_a_mixed_page_keeps_the_order() -> None:
    """User records replace their aggregate in order. An empty aggregate has no rows, a damaged one is a plain record."""
    batch = build(MIXED, ["sequenceNumber", "subSequenceNumber", "data", "partitionKey", "explicitHashKey"])
    assert [tuple(row.values()) for row in batch.to_pylist()] == [
        ("1", 0, b"one", "key", None),
        ("2", 0, b"a", "k", None),
        ("2", 1, b"b", "l", "12"),
        ("4", 0, AGGREGATE[:-1], "a", None),
        ("5", 0, b"five", None, None),
    ]


def test_user_records_share_what_belongs_to_their_record() -> None:
    """Arrival time, encryption and the page's constants are those of the aggregate."""
    batch = build(MIXED, ["approximateArrivalTimestamp", "encryptionType", "stream", "millisBehindLatest"])
    assert batch.column(0).cast(pa.int64()).to_pylist() == [
        1790000012345000,
        1790000012346000,
        1790000012346000,
        1790000012348000,
        None,
    ]
    assert batch.column(1).to_pylist() == ["KMS", None, None, None, None]
    assert batch.column(2).to_pylist() == ["orders"] * 5
    assert batch.column(3).to_pylist() == [7] * 5


def test_aggregates_can_be_left_whole() -> None:
    """Without de-aggregation every record is one row."""
    batch = build(MIXED, ["data", "subSequenceNumber"], deaggregate=False)
    assert batch.column(0).to_pylist() == [record.data for record in MIXED.records]
    assert batch.column(1).to_pylist() == [0] * 5


@settings(deadline=None)
@given(names=subsets, deaggregate=st.booleans())
def test_any_subset_gives_the_same_values(names: list[str], deaggregate: bool) -> None:
    """A column's values and the number of rows do not depend on the other columns or their order."""
    batch = build(MIXED, names, deaggregate)
    batch.validate(full=True)
    assert batch.equals(build(MIXED, list(COLUMNS), deaggregate).select(names))


@settings(deadline=None)
@given(names=subsets, deaggregate=st.booleans())
def test_an_empty_page_is_a_batch_of_no_rows(names: list[str], deaggregate: bool) -> None:
    """An empty page gives the same schema as any other page."""
    batch = build(Page([], millis_behind=0), names, deaggregate)
    assert (batch.num_rows, batch.schema) == (0, BatchBuilder(names).schema)


def test_a_page_of_nothing_but_empty_aggregates_has_no_rows() -> None:
    """Empty aggregates have no user records."""
    batch = build(Page([Record("1", EMPTY_AGGREGATE)], millis_behind=0), list(COLUMNS))
    assert batch.num_rows == 0


@pytest.mark.parametrize(
    ("columns", "deaggregate", "needed"),
    [(["data"], False, True), (["stream"], True, True), (["stream", "sequenceNumber"], False, False)],
)
def test_data_is_needed_for_its_column_and_for_aggregates(
    columns: list[str], deaggregate: bool, needed: bool
) -> None:
    """A page may be decoded without data only if no column needs it and no aggregate is unpacked."""
    assert BatchBuilder(columns, deaggregate).needs_data is needed


@pytest.mark.parametrize("columns", [[], ["payload"], ["data", "data"]])
def test_bad_columns_are_refused(columns: list[str]) -> None:
    """The builder refuses the same columns as `find_columns`."""
    with pytest.raises(OptionError):
        BatchBuilder(columns)


def test_a_builder_pickles() -> None:
    """A builder from the driver builds the same batches in a worker."""
    builder = BatchBuilder(["sequenceNumber", "data"], deaggregate=False)
    copy = pickle.loads(pickle.dumps(builder))  # noqa: S301  # our own bytes
    assert copy.build(MIXED, "orders", "0").equals(builder.build(MIXED, "orders", "0"))
    assert copy.needs_data is builder.needs_data


@settings(deadline=None)
@given(st.lists(st.none() | st.integers(0, 253_402_300_799_999), max_size=50))
@example([1790000012345, None, 0, 253_402_300_799_999])
@example([1790000012345, 0, 253_402_300_799_999])
@example([1790000012345, 0, 253_402_300_799_999] * FEW)
def test_milliseconds_come_out_exactly(milliseconds: list[int | None]) -> None:
    """A float of seconds gives its exact millisecond, from 1970 to the end of the year 9999."""
    seconds = [
        None if value is None else float(f"{value // 1000}.{value % 1000:03}") for value in milliseconds
    ]
    expected = [None if value is None else value * 1000 for value in milliseconds]
    assert timestamps(seconds).cast(pa.int64()).to_pylist() == expected


@pytest.mark.parametrize("deaggregate", [True, False])
def test_long_and_short_pages_have_the_same_values(deaggregate: bool) -> None:
    """Arrow builds the columns of long pages, and this package those of short ones. The values and the types are the same."""
    texts = ["", "caf\u00e9", "\u65e5\u672c", "\U0001f375", "tea"]
    records = [
        Record(
            str(number),
            AGGREGATE if number % 9 == 4 else b"x" * (number % 7),
            texts[number % 5],
            number / 1000,
        )
        for number in range(2 * FEW)
    ]
    long = build(Page(records, 7), list(COLUMNS), deaggregate)
    short = [
        build(Page(records[first : first + 100], 7), list(COLUMNS), deaggregate)
        for first in range(0, len(records), 100)
    ]
    assert pa.Table.from_batches(short).combine_chunks().to_batches() == [long]


@pytest.mark.tests
def test_short_pages_import_no_pandas() -> None:
    """A task that reads few records imports neither pandas nor pyarrow.compute, which take longer than the rest of the task."""
    code = f"""
import sys
from kinesis_core.model import Page, Record
from kinesis_core.reading import COLUMNS
from kinesis_core.reading.arrow import BatchBuilder

records = [Record("1", data, "key", 1790000012.345, "KMS") for data in (b"one", {AGGREGATE!r})]
for deaggregate in (True, False):
    assert BatchBuilder(list(COLUMNS), deaggregate).build(Page(records, 7), "orders", "0", skip=0).num_rows
sys.exit(str({{"pandas", "pyarrow.compute"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "set()"


@pytest.mark.tests
def test_the_core_does_not_import_pyarrow() -> None:
    """pyarrow is optional: decoding and user records work without it."""
    code = "import sys, kinesis_core, kinesis_core.reading.columns, kinesis_core.aggregation; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
