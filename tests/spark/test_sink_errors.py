"""Bad input and permanent failures: no row is dropped, and the error says what to do."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from kinesis_emulator import Emulator, Fault, Request
from spark.sinks import Feed, SinkQuery, sink_options, write
from support.checks import is_check
from support.ports import refusing_port
from support.streams import SECRET, StreamUnderTest

Fails = Callable[..., str]


@pytest.fixture
def write_fails(emulator: Emulator) -> Fails:
    """Return a function that writes a frame, checks that nothing was put, and returns the text of the error."""

    def write_fails(frame: DataFrame, options: dict[str, Any]) -> str:
        with pytest.raises(Exception) as caught:  # noqa: PT011 - Spark's classes differ by version
            write(frame, options)
        text = str(caught.value)
        assert SECRET not in text
        assert "botocore/" not in text
        assert emulator.calls.count("PutRecords") == 0
        return text

    return write_fails


def frame_of(spark: SparkSession, columns: str) -> DataFrame:
    return spark.range(1).selectExpr(*columns.split(", "))


def test_columns(spark: SparkSession, stream: StreamUnderTest, write_fails: Fails) -> None:
    """A mistyped column is an error that names it, before any task runs."""
    text = write_fails(frame_of(spark, "1 as data"), sink_options(stream))
    assert "Column 'data' has the type int; the sink writes string or binary" in text


@pytest.mark.tests
@pytest.mark.all_sparks
def test_columns_of_a_stream(
    spark: SparkSession, emulator: Emulator, stream: StreamUnderTest, tmp_path: Path
) -> None:
    """A streaming query with wrong columns stops before its first task."""
    feed = Feed(spark, tmp_path / "feed", "value string")
    feed.add([("x",)])
    query = SinkQuery(feed.frame(), tmp_path / "checkpoint", sink_options(stream))
    with pytest.raises(Exception, match="Column 'data' is missing"):
        query.start().process_all()
    assert emulator.calls.count("PutRecords") == 0


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("agregationEnabled", "true", "Did you mean 'aggregationEnabled'?"),
        ("streamName", "absent", "Check streamName or streamARN, the region, the account and endpointUrl"),
    ],
)
def test_options(
    spark: SparkSession, stream: StreamUnderTest, write_fails: Fails, option: str, value: str, message: str
) -> None:
    """A bad option, or a stream that does not exist, is an error before any task runs."""
    assert message in write_fails(frame_of(spark, "'x' as data"), sink_options(stream, **{option: value}))


def test_unreachable_endpoint(spark: SparkSession, stream: StreamUnderTest, write_fails: Fails) -> None:
    """An endpoint that refuses connections is an error that names it."""
    with refusing_port() as port:
        url = f"http://127.0.0.1:{port}"
        options = sink_options(stream, endpointUrl=url, maxRetries=1)
        text = write_fails(frame_of(spark, "'x' as data"), options)
    assert url in text
    assert "Check endpointUrl, region, network and proxy" in text


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        (
            "overwrite",
            'A stream cannot be overwritten: Kinesis keeps records until their retention ends. Use .mode("',
        ),
        ("errorifexists", "Append"),
        ("ignore", "Append"),
    ],
)
def test_modes(
    spark: SparkSession, emulator: Emulator, stream: StreamUnderTest, mode: str, message: str
) -> None:
    """A batch write appends. The sink or Spark refuses every other mode."""
    writer = frame_of(spark, "'x' as data").write.format("kinesis").options(**sink_options(stream))
    with pytest.raises(Exception) as caught:  # noqa: PT011 - Spark's classes differ by version
        writer.mode(mode).save()
    assert message in str(caught.value)
    assert emulator.records(stream.name) == []


@pytest.mark.tests
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            ["if(id = 7, null, 'x') as data"],
            "Column 'data' is null in 1 of 10 rows, first in row 7 of the task",
        ),
        (["repeat('x', if(id = 7, 1048576, 1)) as data"], "This stream accepts 1024 KiB"),
    ],
)
def test_rows(spark: SparkSession, stream: StreamUnderTest, columns: list[str], message: str) -> None:
    """A bad row fails the task. The error has the row and the reason."""
    frame = spark.range(0, 10, 1, 1).selectExpr(*columns)
    with pytest.raises(Exception) as caught:  # noqa: PT011 - Spark's classes differ by version
        write(frame, sink_options(stream))
    assert message in str(caught.value)
    assert "row 7" in str(caught.value)


@pytest.mark.tests
@pytest.mark.all_sparks
def test_permanent_failure(spark: SparkSession, emulator: Emulator, stream: StreamUnderTest) -> None:
    """A write that is denied after the first check fails the batch. The error has counts, code, shard and the hash of a key."""
    emulator.settings.fault = deny_tasks
    frame = spark.createDataFrame([("x", "secret-key")] * 10, "data string, partitionKey string").coalesce(1)
    with pytest.raises(Exception) as caught:  # noqa: PT011 - Spark's classes differ by version
        write(frame, sink_options(stream))
    text = str(caught.value)
    assert "10 user records could not be written" in text
    assert "AccessDeniedException 10" in text
    assert "kinesis:PutRecords" in text
    assert f"shard={emulator.shard_ids(stream.name)[0]}" in text
    assert hashlib.sha256(b"secret-key").hexdigest()[:16] in text
    assert "secret-key" not in text


def deny_tasks(request: Request) -> Fault | None:
    """Deny the writes of tasks, but not the driver's check, as if the permission were removed in between."""
    is_write = request.action == "PutRecords" and not is_check(request)
    return Fault("AccessDeniedException") if is_write else None


def test_out_of_time(spark: SparkSession, emulator: Emulator, stream: StreamUnderTest) -> None:
    """If a shard accepts nothing for recordTtlMs, its rows fail the batch, with the reason. They are not dropped."""
    emulator.settings.fault = lambda request: (
        Fault("InternalFailure", status=500) if request.action == "PutRecords" else None
    )
    frame = spark.createDataFrame([("x",)] * 10, "data string").coalesce(1)
    with pytest.raises(Exception, match=r"10 user records are not confirmed as written.* InternalFailure 10"):
        write(frame, sink_options(stream, recordTtlMs="300"))


@pytest.mark.all_sparks
def test_failed_batch_is_written_later(
    spark: SparkSession, emulator: Emulator, stream: StreamUnderTest, tmp_path: Path
) -> None:
    """A failed batch is not committed: after a restart its rows are written."""
    feed = Feed(spark, tmp_path / "feed", "data string")
    feed.add((str(number),) for number in range(100))
    query = SinkQuery(feed.frame(), tmp_path / "checkpoint", sink_options(stream))
    emulator.settings.fault = deny_tasks
    with pytest.raises(Exception, match="100 user records could not be written"):
        query.start().process_all()
    assert not list((tmp_path / "checkpoint" / "commits").glob("[0-9]*"))
    emulator.settings.fault = None
    query.start().process_all().stop()
    from spark.written import user_records

    assert {int(record.data) for record in user_records(emulator, stream.name)} == set(range(100))
