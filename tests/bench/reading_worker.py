"""
A Spark worker without Spark: reads all shards of a canned stream in one task, drops the rows, and prints its largest memory in bytes.

    python -m tests.bench.reading_worker URL SHARDS RECORDS [OPTION=VALUE ...]
"""

from __future__ import annotations

import os
import sys

import pyarrow as pa
import pyspark.worker  # noqa: F401 - what a worker has imported

from kinesis_core.model import After, At, ShardRange
from kinesis_core.reading import DEFAULT_COLUMNS
from spark_kinesis_source.options import SourceOptions
from spark_kinesis_source.partitions import ShardPartition
from spark_kinesis_source.task import ReadTask
from tests.bench.canned import CannedStream, number_at
from tests.bench.memory import peak_bytes
from tests.support.streams import KEY_ID, SECRET


def command(stream: CannedStream, endpoint_url: str, *options: str) -> list[str]:
    """Return the command that reads all of *stream*."""
    records = stream.pages * stream.records
    return [sys.executable, "-m", __name__, endpoint_url, str(stream.shards), str(records), *options]


def main(endpoint_url: str, shards: str, records: str, *options: str) -> None:
    stream = CannedStream()
    given = {
        "streamName": stream.name,
        "region": stream.region,
        "endpointUrl": endpoint_url,
        "awsAccessKeyId": KEY_ID,
        "awsSecretKey": SECRET,
        "minFetchPeriod": "0",
        "maxFetchRate": "1000",
        **dict(option.split("=", 1) for option in options),
    }
    first, last = At(number_at(0)), After(number_at(int(records) - 1))
    groups = tuple(
        (ShardRange(stream.name, f"shardId-{index:012}", first, last),) for index in range(int(shards))
    )
    task = ReadTask.of(SourceOptions.parse(given), tuple(column.name for column in DEFAULT_COLUMNS))
    rows = 0
    with open(os.devnull, "wb") as dropped:
        writer = None
        for batch in task.read(ShardPartition(groups)):
            writer = writer or pa.ipc.new_stream(dropped, batch.schema)
            writer.write_batch(batch)
            rows += batch.num_rows
    if rows != int(shards) * int(records):
        raise AssertionError(f"of {int(shards) * int(records)} records it read {rows}")
    sys.stdout.write(f"{peak_bytes()}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
