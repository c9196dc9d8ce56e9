"""The CPU time of each step of reading a page, and the least that the step takes."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import urlsplit

import msgspec

from kinesis_core.aws import stream_client
from kinesis_core.aws.client import BotoStreamApi
from kinesis_core.aws.fast.fast_path import BODY
from kinesis_core.aws.fast.wire import decode_page
from kinesis_core.clock import SystemClock
from kinesis_core.model import After, At, ShardRange, TrimHorizon
from kinesis_core.reading import DEFAULT_COLUMNS, PollingRangeReader, ReadSettings, read_concurrently
from kinesis_core.reading.arrow import BatchBuilder
from spark_kinesis_source.options import SourceOptions
from tests.bench.canned import CannedStream
from tests.bench.harness import table
from tests.bench.raw_reader import RawReader
from tests.bench.server import TlsFiles

MAX_RECORDS = 10_000
TURNS = 5
STEPS = (
    "call: sign, send, receive the body",
    "a bare TLS socket takes of it",
    "decode and check the page",
    "a bare decoder takes of it",
    "build the record batch",
    "all of it, as a task does it, in 16 threads",
)
SETTINGS = ReadSettings(min_fetch_period_s=0.0, max_fetch_rate_bytes=1e12)
"""With the rates of Kinesis it would only wait."""


def measure_steps(options: Mapping[str, str], tls: TlsFiles, stream: CannedStream) -> list[float]:
    """
    Return the microseconds of CPU per (user) record for each of `STEPS`.

    Each step processes all pages of a shard in turn. As in a task, they do not fit into the caches of the processor.
    """
    connection = SourceOptions.parse(options).connection
    api = stream_client(connection, connection.streams[0])
    builder = BatchBuilder([column.name for column in DEFAULT_COLUMNS])
    iterators = [*_iterators(api)]
    requests = [msgspec.json.encode({"ShardIterator": iterator}) for iterator in iterators]

    def call(request: bytes) -> bytes:
        body: bytes = api.calls.call("GetRecords", {}, request)[BODY]
        return body

    bodies = [call(request) for request in requests]
    pages = [decode_page(body) for body in bodies]
    first, last = At(pages[0].records[0].number), After(pages[-1].records[-1].number)
    shards = [f"shardId-{index:012}" for index in range(stream.shards)]
    groups = [(ShardRange(stream.name, shard, first, last),) for shard in shards]

    def read() -> None:
        polling = PollingRangeReader(lambda _: api, SETTINGS, random.Random(0))
        for shard_range, page in read_concurrently(groups, polling, SETTINGS.threads, SystemClock()):
            builder.build(page, stream.name, shard_range.shard_id)

    with RawReader(urlsplit(options["endpointUrl"]).port or 443, tls[0]) as raw:
        steps: tuple[Callable[[], object], ...] = (
            lambda: [call(request) for request in requests],
            lambda: [raw.call("GetRecords", {"ShardIterator": iterator}) for iterator in iterators],
            lambda: [decode_page(body) for body in bodies],
            lambda: [raw.decode(body) for body in bodies],
            lambda: [builder.build(page, stream.name, shards[0]) for page in pages],
            read,
        )
        turns = [[_spent_s(step) for step in steps] for _ in range(TURNS)]
    rows = [stream.total_rows // stream.shards] * 5 + [stream.total_rows]
    return [
        statistics.median(turn) / count * 1e6
        for turn, count in zip(zip(*turns, strict=True), rows, strict=True)
    ]


def _iterators(api: BotoStreamApi) -> Iterator[str]:
    """Yield the iterators of the pages of a shard."""
    iterator: str | None = api.get_iterator("shardId-000000000000", TrimHorizon())
    while iterator is not None:
        page = api.get_records(iterator, MAX_RECORDS)
        yield iterator
        iterator = page.next_iterator if page.millis_behind else None


def steps_table(measured: dict[str, list[float]]) -> str:
    """Return a table with a column for each size."""
    return table(
        ["µs of CPU per record", *measured],
        ([step, *(f"{steps[i]:.2f}" for steps in measured.values())] for i, step in enumerate(STEPS)),
    )


def _spent_s(work: Callable[[], object]) -> float:
    """Return the CPU seconds of *work*."""
    started_s = time.process_time()
    work()
    return time.process_time() - started_s
