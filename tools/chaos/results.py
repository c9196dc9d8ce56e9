"""Reads the results of a run for the verdict."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow.parquet as pq

from tools.chaos.verdict import Row, Stored


def read_files(folder: Path) -> list[Row]:
    """Return the rows of the files in the file sink's log. Other files belong to tasks that do not count."""
    return [row for batch, file in _logged(folder / "_spark_metadata") for row in _read_file(batch, file)]


def _logged(log: Path) -> Iterator[tuple[int, Path]]:
    for entry in sorted(log.glob("[0-9]*")):
        version, *lines = entry.read_text().splitlines()
        assert version == "v1", f"{entry.name} of the file sink's log is of version {version}"
        for line in lines:
            yield int(entry.name), Path(unquote(urlsplit(json.loads(line)["path"]).path))


def _read_file(batch: int, file: Path) -> Iterator[Row]:
    columns = pq.read_table(file, partitioning=None)
    for index, row in enumerate(columns.to_pylist()):
        record = Stored(row["shardId"], int(row["sequenceNumber"]), row["partitionKey"], row["data"])
        yield Row(batch, file.name, index, record)


def unpack(records: list[Stored]) -> list[bytes]:
    """Return the data of the user records in *records*, as an independent implementation finds them."""
    from aws_kinesis_agg.deaggregator import iter_deaggregate_records

    raw = [
        {
            "Data": r.data,
            "PartitionKey": r.key,
            "SequenceNumber": str(r.number),
            "ApproximateArrivalTimestamp": 0,
        }
        for r in records
    ]
    return [_data(found["kinesis"]) for found in iter_deaggregate_records(raw, data_format="Boto3")]


def _data(found: dict[str, Any]) -> bytes:
    return base64.b64decode(found["data"]) if found.get("aggregated") else bytes(found["data"])
