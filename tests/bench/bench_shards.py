"""
Many shards in one task over HTTPS: pages per second of one process when each call takes 20 ms, by shards and threads.

    python -m tests.bench.bench_shards
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import botocore.session
from attrs import frozen
from botocore.config import Config

from kinesis_core.aws import Connection, StreamRef, stream_client
from kinesis_core.clock import SystemClock
from kinesis_core.model import After, At, ShardRange
from kinesis_core.reading import PollingRangeReader, ReadSettings, read_concurrently
from kinesis_core.reading.arrow import BatchBuilder
from kinesis_credentials import StaticKeys
from tests.bench.bench_decode import SCHEMA, STREAM, user_batch
from tests.bench.canned import CannedStream, canned_kinesis, number_at
from tests.bench.harness import Finding, Note, Plot, Row, show
from tests.bench.server import trusted_certificate

LATENCY_S = 0.02
SHARDS = (1, 4, 8, 16, 32, 64)
ASKED_SHARDS, ASKED_CALLS_PER_S = 16, 250
PLOTTED_SHARDS = (4, 16, 64)
PLOTTED_THREADS = (1, 2, 4, 8, 16, 32)
PAGE_RECORDS, RECORD_BYTES = 500, 1000
PAGES = 32
"""The pages of a shard. A turn reads fewer of each if there are more shards, so that all turns read about as many."""
PAGES_A_TURN = 128
TURNS = 3
CALLS_PER_S = "calls per second"
REGION = "us-east-1"
KEYS = StaticKeys("AKIAEXAMPLE", "example-secret")

WHY_THREADS = """
A task reads its shards with threads, not with asyncio. Waiting, sending and decrypting release Python's lock. Signing a
request and decoding a page hold it, for less than 2 ms per page of this size. So a few threads keep a core busy, and an
event loop could not do more. botocore has no asyncio, and it handles credentials, proxies and certificates.
"""


@frozen
class Task:
    """The work of a task: it reads *pages* of each of *shards*."""

    endpoint_url: str
    shards: int
    pages: int

    @staticmethod
    def of(endpoint_url: str, shards: int) -> Task:
        return Task(endpoint_url, shards, max(1, min(PAGES, PAGES_A_TURN // shards)))

    def ours(self, threads: int) -> None:
        stream = StreamRef(STREAM)
        connection = Connection((stream,), REGION, self.endpoint_url, KEYS)
        # With the rates of Kinesis it would only wait.
        settings = ReadSettings(PAGE_RECORDS, min_fetch_period_s=0, max_fetch_rate_bytes=1e12)
        ranges = PollingRangeReader(lambda _: stream_client(connection, stream), settings, random.Random(0))
        builder = BatchBuilder(SCHEMA.names)
        first, last = At(number_at(0)), After(number_at(self.pages * PAGE_RECORDS - 1))
        groups = [(ShardRange(STREAM, _shard(index), first, last),) for index in range(self.shards)]
        rows = [
            builder.build(page, STREAM, read.shard_id).num_rows
            for read, page in read_concurrently(groups, ranges, threads, SystemClock())
        ]
        self._check(rows)

    def by_hand(self, boto: Any, threads: int) -> None:
        """Read as a user of boto3 does, with a thread pool."""

        def read(index: int) -> list[int]:
            where = {"StreamName": STREAM, "ShardId": _shard(index), "ShardIteratorType": "TRIM_HORIZON"}
            iterator, rows = boto.get_shard_iterator(**where)["ShardIterator"], []
            for _ in range(self.pages):
                response = boto.get_records(ShardIterator=iterator, Limit=PAGE_RECORDS)
                rows.append(user_batch(response["Records"]).num_rows)
                iterator = response["NextShardIterator"]
            return rows

        with ThreadPoolExecutor(threads) as pool:
            self._check([rows for shard in pool.map(read, range(self.shards)) for rows in shard])

    def _check(self, rows: list[int]) -> None:
        if rows != [PAGE_RECORDS] * self.shards * self.pages:
            raise AssertionError("every page must come once")

    def calls_per_s(self, read: Callable[[], None]) -> float:
        """Return the calls per second of *read*. The first call of each shard is for its iterator."""
        started_s = time.perf_counter()
        read()
        return self.shards * (self.pages + 1) / (time.perf_counter() - started_s)


def _shard(index: int) -> str:
    return f"shardId-{index:012}"


def run() -> list[Finding]:
    """Return the calls per second by number of shards with the default threads, and a plot by threads."""
    stream = CannedStream(
        shards=max(SHARDS), pages=PAGES, records=PAGE_RECORDS, record_bytes=RECORD_BYTES, name=STREAM
    )
    with trusted_certificate() as tls, canned_kinesis(stream, latency_s=LATENCY_S, tls=tls) as kinesis:
        boto = _boto(kinesis.endpoint_url)
        rows = [_against_boto3(Task.of(kinesis.endpoint_url, shards), boto) for shards in SHARDS]
        return [*rows, _against_what_is_asked(rows), _plot(kinesis.endpoint_url), Note(WHY_THREADS)]


def _boto(endpoint_url: str) -> Any:
    return botocore.session.get_session().create_client(
        "kinesis",
        region_name=REGION,
        endpoint_url=endpoint_url,
        aws_access_key_id=KEYS.access_key_id,
        aws_secret_access_key=KEYS.secret_key,
        config=Config(max_pool_connections=max(PLOTTED_THREADS)),
    )


def _against_boto3(task: Task, boto: Any) -> Row:
    threads = ReadSettings().threads
    turns = [
        (
            task.calls_per_s(lambda: task.ours(threads)),
            task.calls_per_s(lambda: task.by_hand(boto, min(threads, task.shards))),
        )
        for _ in range(TURNS + 1)
    ][1:]  # the first turn opens the connections
    case = f"{task.shards} shards" if task.shards > 1 else "1 shard"
    return Row.of("shards in one task, against boto3 in as many threads", case, CALLS_PER_S, turns)


def _against_what_is_asked(rows: list[Row]) -> Row:
    ours = rows[SHARDS.index(ASKED_SHARDS)].ours
    group, case = "shards in one task, against what is asked for", f"{ASKED_SHARDS} shards"
    return Row.of(group, case, CALLS_PER_S, [(ours, ASKED_CALLS_PER_S)], 1)


def _plot(endpoint_url: str) -> Plot:
    lines = {f"{shards} shards": _by_threads(Task.of(endpoint_url, shards)) for shards in PLOTTED_SHARDS}
    return Plot(
        "threads", "Pages of 500 x 1 KB in one task, 20 ms a call", "threads", CALLS_PER_S, lines, log="x"
    )


def _by_threads(task: Task) -> list[tuple[float, float]]:
    points: list[tuple[float, float]] = []
    for threads in (count for count in PLOTTED_THREADS if count <= task.shards):
        read = partial(task.ours, threads)
        points.append((threads, statistics.median(task.calls_per_s(read) for _ in range(TURNS))))
    return points


if __name__ == "__main__":
    show(run())
