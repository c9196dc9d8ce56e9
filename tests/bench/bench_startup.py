"""
The cost of a process before its first record: importing each package, reading a first page, planning a first batch.

    python -m tests.bench.bench_startup

Each figure is the CPU time of a new process, but for the planner, whose query waits for it: that is wall time. Two processes that
follow each other are compared.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

from tests.bench.canned import CannedStream, canned_kinesis
from tests.bench.harness import Finding, Row, show

GROUP = "Start-up"
TURNS = 9
TARGET = 1.3
WORKER = "import pyspark.worker, pyspark.sql.datasource"
"""The modules that Spark has imported in a worker before it imports a data source."""
FLOOR = "import pyarrow, botocore.session"
PACKAGES = {
    "kinesis_credentials": "",
    "kinesis_core": "",
    "spark_kinesis_source": WORKER,
    "spark_kinesis_sink": WORKER,
    "kinesis_emulator": "",
}
"""The code that is run before each import."""
OURS = """
from kinesis_core.model import At, After
from kinesis_core.model import ShardRange
from spark_kinesis_source.data_source import KinesisDataSource
from spark_kinesis_source.schema import default_schema
from spark_kinesis_source.partitions import ShardPartition

given = {"streamName": "orders", "endpointUrl": URL, "region": "us-east-1", "awsAccessKeyId": "k", "awsSecretKey": "s"}
reader = KinesisDataSource(given).streamReader(default_schema())
number = 49660 * 10**51
rows = sum(b.num_rows for b in reader.read(ShardPartition([(ShardRange("orders", "shardId-000000000000", At(number), After(number)),)])))
"""
PLANNER = "import pyspark.sql.streaming.python_streaming_source_runner"
"""What Spark runs in the process of a query's planner. It imports PySpark, and then our package."""
FIRST_OFFSET = """
from spark_kinesis_source.data_source import KinesisDataSource
from spark_kinesis_source.schema import default_schema

given = {"streamName": "orders", "endpointUrl": URL, "region": "us-east-1", "awsAccessKeyId": "k", "awsSecretKey": "s"}
assert KinesisDataSource(given).streamReader(default_schema()).initialOffset()
"""
BY_HAND = """
import boto3
import pyarrow as pa

client = boto3.client("kinesis", endpoint_url=URL, region_name="us-east-1", aws_access_key_id="k", aws_secret_access_key="s")
first = {"StreamName": "orders", "ShardId": "shardId-000000000000", "ShardIteratorType": "TRIM_HORIZON"}
iterator = client.get_shard_iterator(**first)["ShardIterator"]
records = client.get_records(ShardIterator=iterator)["Records"]
names = {"data": "Data", "partitionKey": "PartitionKey", "sequenceNumber": "SequenceNumber", "arrived": "ApproximateArrivalTimestamp"}
batch = pa.RecordBatch.from_pydict({ours: [record[its] for record in records] for ours, its in names.items()})
rows = batch.num_rows
"""


BEFORE = "import time; started_s = time.process_time()"
AFTER = """
ms = (time.process_time() - started_s) * 1000
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(ms, int(peak.split()[1]) * 1024 / 1e6)
"""


class _Cost(NamedTuple):
    """CPU time, and the largest memory of the process."""

    ms: float
    mb: float


def run() -> list[Finding]:
    """Return one row per package, one for the first task, and one for the planner."""
    rows = [_importing(package, first) for package, first in PACKAGES.items()]
    return [*rows, _first_task(), _first_offset()]


def _importing(package: str, first: str) -> Row:
    target = TARGET if package == "spark_kinesis_source" else None
    case = f"import {package}{' in a worker' if first else ''}"
    return _row(case, "pyarrow and botocore", _turns(first, f"import {package}", FLOOR), target)


def _first_task() -> Row:
    with canned_kinesis(CannedStream(records=1)) as kinesis:
        first = f"{WORKER}\n\nURL = {kinesis.endpoint_url!r}\n"
        turns = _turns(first, f"{OURS}\nassert rows == 1", f"{BY_HAND}\nassert rows == 1")
    case = "a worker's first record, with all imports"
    return _row(case, "boto3 by hand", turns)


def _first_offset() -> Row:
    """Return how long the planner of a query takes from its start to its first offset: our part, and before that Spark's."""
    turns = []
    with canned_kinesis(CannedStream(records=1)) as kinesis:
        now = "import time; print(time.time())"
        code = f"{PLANNER}\n{now}\nURL = {kinesis.endpoint_url!r}\n{FIRST_OFFSET}\n{now}"
        for _ in range(TURNS):
            started_s = time.time()
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            imported_s, ended_s = (float(line) for line in done.stdout.split())
            turns.append(((ended_s - imported_s) * 1000, (imported_s - started_s) * 1000))
    case = "a query's first offset, with imports and calls"
    return Row.of(GROUP, case, "ms, vs. Spark's start of the planner", turns, is_cost=True)


def _row(case: str, other: str, turns: Sequence[tuple[_Cost, _Cost]], target: float | None = None) -> Row:
    pairs = [(ours.ms, theirs.ms) for ours, theirs in turns]
    memory_mb = statistics.median(ours.mb for ours, _ in turns), statistics.median(its.mb for _, its in turns)
    return Row.of(GROUP, case, f"ms, vs. {other}", pairs, target, is_cost=True, memory_mb=memory_mb)


def _turns(first: str, ours: str, theirs: str) -> list[tuple[_Cost, _Cost]]:
    """Return what both take. Each runs after *first* in new processes."""
    return [(_cost(first, ours), _cost(first, theirs)) for _ in range(TURNS)]


def _cost(first: str, code: str) -> _Cost:
    timed = f"{first}\n{BEFORE}\n{code}\n{AFTER}"
    done = subprocess.run([sys.executable, "-c", timed], capture_output=True, text=True, check=True)
    return _Cost(*map(float, done.stdout.split()))


if __name__ == "__main__":
    show(run())
