"""What a progress report of Spark says of Kinesis."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

pytest.importorskip("pyspark")

from spark_kinesis_source.metrics import QueryProgress, StreamProgress, read_progress
from unit.spark_kinesis_source.metrics.progresses import (
    KAFKA_SOURCE,
    RATE_SOURCE,
    STARTED_S,
    kinesis_source,
    offset,
    progress,
)


def read(*sources: Any, **more: Any) -> QueryProgress:
    found = read_progress(progress(*sources, **more))
    assert found is not None
    return found


def test_facts() -> None:
    """The facts are in base units. The lag is that of the shard that is furthest behind."""
    found = read(kinesis_source("orders", lags_ms={"a": 1500, "b": 0}, losses=2))
    (source,) = found.sources
    assert source.streams == {"orders": StreamProgress(lag_s=1.5, retention_s=86400.0, losses=2)}
    assert (source.rows, source.input_rows_per_s, source.processed_rows_per_s) == (86, 43.0, 5.0)
    assert (found.query, found.batch, found.started_s) == ("copy", 7, STARTED_S)
    assert found.durations_s == {"addBatch": 2.0, "latestOffset": 0.25, "triggerExecution": 2.5}


def test_older_sparks() -> None:
    """Spark 4.0 and 4.1 repeat the offset instead of the report, so that lag, retention and losses are unknown."""
    (source,) = read(kinesis_source("orders")).sources
    assert source.streams == {"orders": StreamProgress()}
    assert source.rows == 86


def test_offsets_as_text() -> None:
    """`lastProgress` as a dict holds offsets as text. The facts are the same."""
    parsed = kinesis_source("orders", lags_ms={"a": 1500})
    texts = {key: json.dumps(parsed[key]) for key in ("endOffset", "latestOffset")}
    assert read({**parsed, **texts}) == read(parsed)


def test_packed_offsets() -> None:
    """The facts do not depend on the form of the offset."""
    plain = kinesis_source("orders", lags_ms={"a": 1500})
    packed = {"version": 2, "streams": {"orders": {"created": 1, "packed": "AQQ..."}}}
    assert read({**plain, "startOffset": packed, "endOffset": packed}) == read(plain)


def test_other_sources() -> None:
    """Of a query with several sources, those of Kinesis are read. Each has its place in Spark's list."""
    found = read(RATE_SOURCE, kinesis_source("orders"), KAFKA_SOURCE, kinesis_source("teas", rows=1))
    facts = [(source.index, source.label, source.rows) for source in found.sources]
    assert facts == [(1, "orders", 86), (3, "teas", 1)]


def test_sources_of_one_stream() -> None:
    """Rows and rates of two sources of one stream add up, as far as Spark knows them."""
    other = kinesis_source("orders", rows=4, inputRowsPerSecond=None, processedRowsPerSecond=None)
    for sources in ((kinesis_source("orders"), other), (other, kinesis_source("orders"))):
        found = read(*sources, kinesis_source("teas", rows=1)).by_label()
        assert {label: source.rows for label, source in found.items()} == {"orders": 90, "teas": 1}
        assert (found["orders"].input_rows_per_s, found["orders"].processed_rows_per_s) == (43, 5)
    found = read(other, other).by_label()
    assert found["orders"].input_rows_per_s is None


@pytest.mark.parametrize("sources", [[], [RATE_SOURCE], [KAFKA_SOURCE], [{"endOffset": None}], [None]])
def test_no_kinesis(sources: list[Any]) -> None:
    """A query without a Kinesis source has no facts."""
    assert read_progress(progress(*sources)) is None


def test_a_source_of_several_streams() -> None:
    """Each stream has its lag. Their rows are counted together, under a label that names both."""
    (source,) = read(kinesis_source("teas", "orders", lags_ms={"a": 1000})).sources
    assert source.label == "orders,teas"
    assert {name: stream.lag_s for name, stream in source.streams.items()} == {"orders": 1.0, "teas": 1.0}


def test_a_stream_without_open_shards() -> None:
    """A stream of which nothing is left to read has no lag."""
    (source,) = read(kinesis_source("orders", lags_ms={})).sources
    assert source.streams["orders"].lag_s is None


def test_a_query_without_a_name() -> None:
    """A query without a name is known by its id, which the checkpoint keeps."""
    assert read(kinesis_source("orders"), name=None).query == "4434f1fd-0b7a-4ec6-bced-487812fc23fd"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
FIELDS = ["batchId", "durationMs", "id", "name", "sources", "timestamp"]
SOURCE_FIELDS = ["endOffset", "inputRowsPerSecond", "latestOffset", "numInputRows", "processedRowsPerSecond"]


@given(st.sampled_from(FIELDS), JSON)
def test_odd_reports(key: str, value: Any) -> None:
    """A report of another form than expected never raises."""
    read_progress({**progress(kinesis_source("orders", lags_ms={"a": 1})), key: value})


@example("inputRowsPerSecond", math.inf, "")
@example("numInputRows", 10**400, "")
@example("", {"a": math.nan}, "msBehindLatest")
@given(
    st.sampled_from(SOURCE_FIELDS),
    JSON,
    st.sampled_from(["", "msBehindLatest", "retentionHours", "dataLosses"]),
)
def test_odd_sources(key: str, value: Any, part: str) -> None:
    """A source of another form than expected never raises, and gives no number that is not finite."""
    source = kinesis_source("orders", lags_ms={"a": 1})
    source |= {"latestOffset": {**source["latestOffset"], part: {"orders": value}}} if part else {key: value}
    found = read_progress(progress(source))
    for read in () if found is None else found.sources:
        lags = [stream.lag_s for stream in read.streams.values()]
        numbers = [*lags, read.input_rows_per_s, read.processed_rows_per_s]
        assert all(math.isfinite(number) for number in numbers if number is not None)


@pytest.mark.parametrize("missing", FIELDS)
def test_missing_fields(missing: str) -> None:
    """A report may lack any field. All facts but those of the sources are optional."""
    report = progress(kinesis_source("orders"))
    del report[missing]
    assert (read_progress(report) is None) == (missing == "sources")


@pytest.mark.parametrize("missing", ["version", "streams"])
def test_offsets_of_other_sources(missing: str) -> None:
    """An offset that only resembles ours is one of another source."""
    end = {key: value for key, value in offset("orders").items() if key != missing}
    assert read_progress(progress({**kinesis_source("orders"), "endOffset": end})) is None
