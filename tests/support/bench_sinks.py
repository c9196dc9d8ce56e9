"""The sink with a writer for Arrow record batches and one for rows, which both say what a task took."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, DataSourceWriter
from pyspark.sql.types import StructType

from spark_kinesis_sink import SinkOptions
from spark_kinesis_sink.columns import find_columns
from spark_kinesis_sink.tasks import WriteTask, Written


class _Measured:
    """Adds a line to a file: a task's CPU seconds, its worker's memory when it began, and the most it had."""

    def __init__(self, task: WriteTask, notes: Path) -> None:
        self._task = task
        self._notes = notes

    def _measure(self, write: Callable[[], Written]) -> Written:
        begun_s, idle_bytes = time.process_time(), _resident_bytes()
        written = write()
        spent_s = time.process_time() - begun_s
        peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        with self._notes.open("a") as file:
            file.write(f"{spent_s} {idle_bytes} {peak_bytes}\n")
        return written


def _resident_bytes() -> int:
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * resource.getpagesize()


class MeasuredArrowWriter(_Measured, DataSourceArrowWriter):
    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return self._measure(lambda: self._task.write_batches(iterator))


class MeasuredRowWriter(_Measured, DataSourceWriter):
    def write(self, iterator: Iterator[Any]) -> Written:
        return self._measure(lambda: self._task.write_rows(iterator))


class ArrowSink(DataSource):
    """Takes the sink's options, and `notes`, the file."""

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
