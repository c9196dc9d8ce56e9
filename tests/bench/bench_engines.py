"""
Engines that read Arrow, over HTTPS: a batch of ours, compared with a boto3 loop whose list of dicts the engine gets.

    python -m tests.bench.bench_engines
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
from attrs import frozen
from datafusion import SessionContext

from kinesis_core import PlanSettings, ReadSettings, Stream
from kinesis_core.polars import scan_kinesis
from tests.bench.canned import CannedStream, canned_kinesis
from tests.bench.harness import Finding, Note, Row, in_own_process, measure, one_core, show
from tests.bench.memory import MB, added_bytes
from tests.bench.server import trusted_certificate
from tests.support.streams import connection_to, make_client

CASES = {
    "100 B": CannedStream(shards=2, pages=4, records=5000, record_bytes=100),
    "1 KB": CannedStream(shards=2, pages=10, records=1000, record_bytes=1000),
}
NO_WAITING: dict[str, Any] = {
    "plan": PlanSettings(min_fetch_period_s=0.0),
    "read": ReadSettings(min_fetch_period_s=0.0, max_fetch_rate_bytes=math.inf),
}
GROUP = "engine, over HTTPS, against boto3"
METRIC = "µs of CPU per record"
Records = list[dict[str, Any]]


@frozen
class Engine:
    """An engine, with two functions that return how many payloads it has got: from a stream, and from records of boto3."""

    name: str
    ours: Callable[[Stream], int]
    theirs: Callable[[Records], int]


def _duckdb_count(orders: Any, column: str) -> int:  # noqa: ARG001 # DuckDB finds it by its name
    ((count,),) = duckdb.sql(f"SELECT count({column}) FROM orders").fetchall()  # noqa: S608 # no input
    return int(count)


def _datafusion_count(add: Callable[[SessionContext], object], column: str) -> int:
    context = SessionContext()
    add(context)
    found = context.sql(f'SELECT count("{column}") AS found FROM orders').to_pydict()  # noqa: S608 # no input
    return int(found["found"][0])


ENGINES = (
    Engine(
        "Polars",
        lambda stream: int(scan_kinesis(stream).collect()["data"].count()),
        lambda records: int(pl.DataFrame(records)["Data"].count()),
    ),
    Engine(
        "Polars, one column",
        lambda stream: int(scan_kinesis(stream).select("data").collect()["data"].count()),
        lambda records: int(pl.Series("Data", [record["Data"] for record in records]).count()),
    ),
    Engine(
        "DuckDB",
        lambda stream: _duckdb_count(stream.read(), "data"),
        lambda records: _duckdb_count(pa.Table.from_pylist(records), "Data"),
    ),
    Engine(
        "DataFusion",
        lambda stream: _datafusion_count(lambda into: into.from_arrow(stream.read(), name="orders"), "data"),
        lambda records: _datafusion_count(lambda into: into.from_pylist(records, name="orders"), "Data"),
    ),
    Engine(
        "pandas",
        lambda stream: int(stream.read().to_pandas()["data"].count()),
        lambda records: int(pd.DataFrame(records)["Data"].count()),
    ),
)
VERSIONS = ("polars", "duckdb", "datafusion", "pandas")


def run() -> list[Finding]:
    """Return a row for each engine and size of records, and the versions of the engines."""
    with one_core(), trusted_certificate() as tls:
        rows: list[Finding] = []
        for size, stream in CASES.items():
            with canned_kinesis(stream, tls=tls) as kinesis:
                rows += [_compare(engine, size, stream, kinesis.endpoint_url) for engine in ENGINES]
    versions = ", ".join(f"{name} {version(name)}" for name in VERSIONS)
    return [*rows, Note(f"With {versions}.")]


def _compare(engine: Engine, size: str, canned: CannedStream, endpoint_url: str) -> Row:
    counts = _counts(engine, canned.name, endpoint_url)
    ours, theirs = counts["ours"], counts["theirs"]
    if (ours(), theirs()) != (canned.total_rows, canned.total_rows):
        raise AssertionError(f"{engine.name} has not got all records")
    rates = measure(GROUP, f"{engine.name}, {size}", ours, theirs, canned.total_rows)
    memory_mb = tuple(
        in_own_process(_added_mb, engine.name, side, canned.name, endpoint_url) for side in ("ours", "theirs")
    )
    return Row.cost(GROUP, rates.case, METRIC, 1e6 / rates.ours, 1e6 / rates.theirs, memory_mb=memory_mb)


def _added_mb(engine: str, side: str, stream: str, endpoint_url: str) -> float:
    """Return what one side adds to a process: an engine keeps freed memory for what it does next."""
    counts = _counts(next(each for each in ENGINES if each.name == engine), stream, endpoint_url)
    return added_bytes(counts[side]) / MB


def _counts(engine: Engine, stream: str, endpoint_url: str) -> dict[str, Callable[[], int]]:
    opened = Stream.open(stream, **connection_to(endpoint_url), **NO_WAITING)
    client = make_client(endpoint_url)
    return {
        "ours": lambda: engine.ours(opened),
        "theirs": lambda: engine.theirs(read_by_hand(client, stream)),
    }


def read_by_hand(client: Any, stream: str) -> Records:
    """Return all records of a stream, as a user of boto3 would."""
    records: Records = []
    for shard in client.list_shards(StreamName=stream)["Shards"]:
        found = client.get_shard_iterator(
            StreamName=stream, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )
        iterator, behind_ms = found["ShardIterator"], 1
        while iterator and behind_ms:
            response = client.get_records(ShardIterator=iterator, Limit=10_000)
            records += response["Records"]
            iterator, behind_ms = response["NextShardIterator"], response["MillisBehindLatest"]
    return records


if __name__ == "__main__":
    show(run())
