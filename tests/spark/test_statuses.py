"""Queries on a stream that is being created, changed or deleted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from kinesis_emulator import Emulator
from spark.sinks import PATIENCE, write
from support.spark_harness import Query
from support.statuses import PASSING, RECORDS, STREAM, emulator_in
from support.streams import KEY_ID, SECRET
from support.user_records import data_of

pytestmark = pytest.mark.tests

MakeQuery = Callable[..., Query]


def options_of(emulator: Emulator, **more: Any) -> dict[str, Any]:
    return {
        "streamName": STREAM,
        **emulator.spark_options,
        "awsAccessKeyId": KEY_ID,
        "awsSecretKey": SECRET,
        "startingPosition": "TRIM_HORIZON",
        **more,
    }


def loaded(spark: SparkSession, options: dict[str, Any]) -> DataFrame:
    return spark.read.format("kinesis").options(**options).load()


@pytest.mark.parametrize("status", PASSING)
def test_a_batch_read_waits_for_the_stream(spark: SparkSession, status: str) -> None:
    """Whatever status passes, a batch read that started too early gets every record once."""
    with emulator_in(status, by_calls=False) as emulator:
        rows = loaded(spark, options_of(emulator)).select("data").collect()
    assert sorted(bytes(row.data) for row in rows) == RECORDS


@pytest.mark.parametrize("status", ["CREATING, then refusing", "UPDATING"])
@pytest.mark.parametrize("reading", [{}, {"consumerName": "billing"}], ids=["polling", "fan-out"])
def test_a_query_waits_for_the_stream(make_query: MakeQuery, reading: dict[str, str], status: str) -> None:
    """Whatever status passes, a query that started too early gets every record once."""
    with emulator_in(status, by_calls=False) as emulator:
        query = make_query(options_of(emulator, **reading)).start(availableNow=True).finish()
    assert sorted(query.payloads) == RECORDS


@pytest.mark.parametrize("status", PASSING)
def test_a_write_waits_for_the_stream(spark: SparkSession, status: str) -> None:
    """Whatever status passes, each row becomes one record."""
    rows = spark.createDataFrame(
        [(data.decode(), data.decode()) for data in RECORDS], "data string, partitionKey string"
    )
    with emulator_in(status, is_filled=False, by_calls=False) as emulator:
        options = options_of(emulator, recordTtlMs=PATIENCE)
        write(rows, {name: value for name, value in options.items() if name != "startingPosition"})
        assert data_of(emulator, STREAM) == RECORDS


def test_a_stream_that_is_deleted_is_an_error(spark: SparkSession) -> None:
    """DELETING does not pass: reading and writing fail with an error that says it."""
    with emulator_in("DELETING") as emulator:
        options = options_of(emulator)
        with pytest.raises(Exception, match="DELETING"):
            loaded(spark, options).collect()
        del options["startingPosition"]
        with pytest.raises(Exception, match="DELETING"):
            write(spark.range(3).selectExpr("cast(id as string) as data"), options)
