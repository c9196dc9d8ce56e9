"""The minimum work of a sink in Python: PutRecords bodies sent over HTTP, without routing, signing and checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, DataSourceWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from tests.bench.memory import measured

RECORDS = {"True": 40, "False": 500}
"""Records of a request, by whether they are aggregates: 2 MB, as in our sink."""
AGGREGATE_BYTES = 51_200
HEADERS = {"X-Amz-Target": "Kinesis_20131202.PutRecords", "Content-Type": "application/x-amz-json-1.1"}

Entry = tuple[bytes, str]


class FloorWriter(DataSourceArrowWriter):
    def __init__(self, options: dict[str, str]) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        with measured(Path(self._options["notes"])):
            self._put_all(iterator)
        return WriterCommitMessage()

    def _put_all(self, batches: Iterator[pa.RecordBatch]) -> None:
        aggregated = self._options["aggregationEnabled"]
        entries = (entry for batch in batches for entry in _entries(batch, aggregated))
        where = urlsplit(self._options["endpointUrl"])
        connection = HTTPConnection(where.hostname or "", where.port)
        while chunk := list(islice(entries, RECORDS[aggregated])):
            connection.request("POST", "/", _body(chunk, self._options["streamName"]), HEADERS)
            response = connection.getresponse()
            body = response.read()
            assert response.status == 200, body


def _entries(batch: pa.RecordBatch, aggregated: str) -> Iterator[Entry]:
    data, keys = (batch.column(name).cast(pa.binary()) for name in ("data", "partitionKey"))
    if aggregated == "False":
        yield from zip(data.to_pylist(), map(bytes.decode, keys.to_pylist()), strict=True)
        return
    payloads = data.buffers()[2].to_pybytes()
    for start in range(0, len(payloads), AGGREGATE_BYTES):
        yield payloads[start : start + AGGREGATE_BYTES], "a"


def _body(entries: Sequence[Entry], stream: str) -> bytes:
    records = [{"Data": data, "PartitionKey": key} for data, key in entries]
    return msgspec.json.encode({"Records": records, "StreamName": stream})


class FloorSink(DataSource):
    """Has the options of `compared_sinks.ArrowSink`."""

    @classmethod
    def name(cls) -> str:
        return "floor-sink"

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: ARG002 - Spark's signature
        names = ("endpointUrl", "aggregationEnabled", "streamName", "notes")
        return FloorWriter({name: self.options[name] for name in names})
