"""
The sink with a writer for Arrow record batches, one for rows, and a hand-written sink. All record what a task takes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, DataSourceWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from spark_kinesis_sink.columns import find_columns
from spark_kinesis_sink.options import SinkOptions
from spark_kinesis_sink.task import WriteTask, Written
from tests.bench.memory import measured


class _Measured:
    """What a task takes is measured."""

    def __init__(self, task: WriteTask, notes: Path) -> None:
        self._task = task
        self._notes = notes

    def _measure(self, write: Callable[[], Written]) -> Written:
        with measured(self._notes):
            return write()


class MeasuredArrowWriter(_Measured, DataSourceArrowWriter):
    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return self._measure(lambda: self._task.write_batches(iterator))


class MeasuredRowWriter(_Measured, DataSourceWriter):
    def write(self, iterator: Iterator[Any]) -> Written:
        return self._measure(lambda: self._task.write_rows(iterator))


class ArrowSink(DataSource):
    """Has the options of the sink, and `notes`, the file for the results."""

    make: type[MeasuredArrowWriter] | type[MeasuredRowWriter] = MeasuredArrowWriter

    @classmethod
    def name(cls) -> str:
        return "arrow-sink"

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: ARG002 - Spark's signature
        given = {name: value for name, value in self.options.items() if name != "notes"}
        task = WriteTask(SinkOptions.parse(given), find_columns(schema, routes_rows=False))
        return self.make(task, Path(self.options["notes"]))


class RowSink(ArrowSink):
    make = MeasuredRowWriter

    @classmethod
    def name(cls) -> str:
        return "row-sink"


class HandWriter(DataSourceWriter):
    """The code that a PySpark user writes: boto3, and `aws_kinesis_agg` if rows are aggregated."""

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        with measured(Path(self._options["notes"])):
            self._put_all(iterator)
        return WriterCommitMessage()

    def _put_all(self, rows: Iterator[Any]) -> None:
        import boto3  # type: ignore[import-untyped] # in the worker, as in a user's function

        client = boto3.client(
            "kinesis",
            endpoint_url=self._options["endpointUrl"],
            region_name=self._options["region"],
            aws_access_key_id=self._options["awsAccessKeyId"],
            aws_secret_access_key=self._options["awsSecretKey"],
        )
        is_aggregated = self._options["aggregationEnabled"] == "True"
        records = _aggregate(rows) if is_aggregated else _records(rows)
        while chunk := list(islice(records, AGGREGATES_A_REQUEST if is_aggregated else 500)):
            response = client.put_records(StreamName=self._options["streamName"], Records=chunk)
            assert response["FailedRecordCount"] == 0, response


AGGREGATES_A_REQUEST = 200
"""Keeps a request under 10 MiB."""
AGGREGATE_BYTES = 51_200


def _records(rows: Iterator[Any]) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield {"Data": row.data.encode(), "PartitionKey": row.partitionKey}


def _aggregate(rows: Iterator[Any]) -> Iterator[dict[str, Any]]:
    path = list(sys.path)
    from aws_kinesis_agg import aggregator

    sys.path[:] = path  # the library changes it
    made = aggregator.RecordAggregator(AGGREGATE_BYTES)
    for row in rows:
        full = made.add_user_record(row.partitionKey, row.data.encode())
        if full:
            yield _entry(full)
    last = made.clear_and_get()
    if last:
        yield _entry(last)


def _entry(full: Any) -> dict[str, Any]:
    key, _, data = full.get_contents()
    return {"Data": data, "PartitionKey": key}


class HandSink(DataSource):
    """Has the options of `ArrowSink`. Names are case-insensitive, as Spark passes them."""

    @classmethod
    def name(cls) -> str:
        return "hand-sink"

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: ARG002 - Spark's signature
        names = (
            "endpointUrl",
            "region",
            "awsAccessKeyId",
            "awsSecretKey",
            "aggregationEnabled",
            "streamName",
            "notes",
        )
        return HandWriter({name: self.options[name] for name in names})
