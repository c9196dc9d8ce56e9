"""Writes for the tests of the sink: frames from files, one micro-batch for each file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from support.python_starts import PatientQuery
from support.streams import KEY_ID, SECRET, StreamUnderTest

PATIENCE = "10 m"
"""The TTL of rows. It is long, so that no test fails on a slow machine."""

Row = tuple[Any, ...]


def sink_options(stream: StreamUnderTest, **more: Any) -> dict[str, Any]:
    """Return the options of a sink that writes to *stream*. None removes an option."""
    options = {
        "streamName": stream.name,
        "endpointUrl": stream.endpoint_url,
        "region": "us-east-1",
        "awsAccessKeyId": KEY_ID,
        "awsSecretKey": SECRET,
        "recordTtlMs": PATIENCE,
        **more,
    }
    return {name: value for name, value in options.items() if value is not None}


def write(frame: DataFrame, options: Mapping[str, Any], format_name: str = "kinesis") -> None:
    """Write *frame* once."""
    frame.write.format(format_name).options(**options).mode("append").save()


class Feed:
    """A streaming source for tests: each call of `add` becomes a micro-batch."""

    def __init__(self, spark: SparkSession, directory: Path, schema: str) -> None:
        self._spark = spark
        self._directory = directory
        self._schema = schema
        self._added = 0
        directory.mkdir()

    def add(self, rows: Iterable[Row]) -> None:
        names = [column.split()[0] for column in self._schema.split(",")]
        lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
        self._added += 1
        unfinished = self._directory / f".{self._added:05d}"
        unfinished.write_text("\n".join(lines))
        unfinished.rename(self._directory / f"{self._added:05d}.json")

    def frame(self) -> DataFrame:
        reader = self._spark.readStream.schema(self._schema).option("maxFilesPerTrigger", 1)
        return reader.json(str(self._directory))


class SinkQuery:
    """A streaming query into Kinesis with its checkpoint. It may be restarted."""

    def __init__(
        self,
        frame: DataFrame,
        checkpoint: Path,
        options: Mapping[str, Any],
        mode: str = "append",
        format_name: str = "kinesis",
    ) -> None:
        self._frame = frame
        self._mode = mode
        self._format_name = format_name
        self.checkpoint = checkpoint
        self.options = dict(options)
        self._running: PatientQuery | None = None

    def start(self) -> SinkQuery:
        writer = self._frame.writeStream.format(self._format_name).outputMode(self._mode)
        writer = writer.options(**self.options).option("checkpointLocation", str(self.checkpoint))
        self._running = PatientQuery(writer.start)
        return self

    def process_all(self) -> SinkQuery:
        """Wait until all data that the source has now is written."""
        assert self._running is not None, "start() comes first"
        self._running.do(StreamingQuery.processAllAvailable)
        return self

    def stop(self) -> SinkQuery:
        if self._running is not None:
            self._running.query.stop()
        return self
