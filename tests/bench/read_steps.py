"""Where the CPU time of reading a page goes, step by step, beside what the step takes at least."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from tests.bench.raw_reader import RawReader

from kinesis_core.arrow import BatchBuilder
from kinesis_core.columns import DEFAULT_COLUMNS
from kinesis_core.connections import open_stream
from kinesis_core.cuts import TrimHorizon
from kinesis_core.direct_calls import BODY
from kinesis_core.pages import decode_page
from spark_kinesis_source.options import SourceOptions

TURNS = 7
CALLS = 5
STEPS = (
    "call: sign, send, receive the body",
    "a bare TLS socket takes of it",
    "decode and check the page",
    "a bare decoder takes of it",
    "build the record batch",
)


def measure_steps(options: Mapping[str, str], certificate: Path, rows: int) -> list[float]:
    """Return microseconds of CPU per (user) record of each of `STEPS`, for a shard's first page, which has *rows*."""
    connection = SourceOptions.parse(options).connection
    api = open_stream(connection, connection.streams[0])
    builder = BatchBuilder([column.name for column in DEFAULT_COLUMNS])
    iterator = api.get_iterator("shardId-000000000000", TrimHorizon())
    request = msgspec.json.encode({"ShardIterator": iterator})

    def call() -> bytes:
        body: bytes = api.calls.call("GetRecords", {}, request)[BODY]
        return body

    body = call()
    page = decode_page(body)
    with RawReader(urlsplit(options["endpointUrl"]).port or 443, certificate) as raw:
        steps: tuple[Callable[[], object], ...] = (
            call,
            lambda: raw.call("GetRecords", {"ShardIterator": iterator}),
            lambda: decode_page(body),
            lambda: raw.decode(body),
            lambda: builder.build(page, "orders", "shardId-000000000000"),
        )
        turns = [[_spent_s(step) for step in steps] for _ in range(TURNS)]
    return [statistics.median(turn) / rows * 1e6 for turn in zip(*turns, strict=True)]


def steps_table(measured: dict[str, list[float]]) -> str:
    """Return a table with a column for each size."""
    lines = [["us of CPU per record", *measured], ["---", *("---:" for _ in measured)]]
    lines += [
        [step, *(f"{steps[place]:.2f}" for steps in measured.values())] for place, step in enumerate(STEPS)
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _spent_s(work: Callable[[], object]) -> float:
    """Return the CPU seconds of one call of *work*."""
    work()
    begun_s = time.process_time()
    for _ in range(CALLS):
        work()
    return (time.process_time() - begun_s) / CALLS
