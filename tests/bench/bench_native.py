"""
From the bytes of GetRecords to a record batch: kinesis-native compared with Python, and two threads with one.

    python -m tests.bench.bench_native
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import cbor2
import msgspec
import pyarrow as pa
from attrs import frozen

from kinesis_core.aws.fast import wire, wire_cbor
from kinesis_core.model import Page
from kinesis_core.native import find_native
from kinesis_core.reading.arrow import BatchBuilder
from tests.bench.bench_decode import SCHEMA, SHARD, STREAM, aggregate, page_body, random_payloads
from tests.bench.harness import Finding, Note, Row, compare_batches, show

PAGES_A_THREAD = 60
THREAD_TURNS = 9
WITHOUT = "kinesis-native is not installed here, so it was not measured."


@frozen
class Case:
    """A page, and how much faster native code must be."""

    name: str
    payloads: Sequence[bytes]
    records: int
    target: float | None


CASES = (
    Case("10,000 x 100 B", random_payloads(10_000, 100), 10_000, 6),
    Case("1,000 x 1 KB", random_payloads(1_000, 1_000), 1_000, 8),
    Case("1,000 x 10 KB", random_payloads(1_000, 10_000), 1_000, 4),
    Case("20 aggregates of 500 x 100 B", [aggregate(500, 100, seed) for seed in range(20)], 10_000, 6),
)


def run() -> list[Finding]:
    if find_native() is None:
        return [Note(WITHOUT)]
    return [*map(_in_json, CASES), *map(_in_cbor, CASES), *_threads()]


def _in_json(case: Case) -> Row:
    body = page_body(case.payloads)
    ours, theirs = _building(wire.decode_page, body), _building(wire.decode_page_in_python, body)
    return compare_batches(
        "a page in JSON, against Python", case.name, ours, theirs, case.records, case.target
    )


def _in_cbor(case: Case) -> Row:
    """Compare native CBOR with native JSON: what `wireFormat=cbor` brings to the decoder."""
    body = page_body(case.payloads)
    ours, theirs = _building(wire_cbor.decode_page, page_in_cbor(body)), _building(wire.decode_page, body)
    return compare_batches("a page in CBOR, against JSON", case.name, ours, theirs, case.records, None)


def page_in_cbor(body: bytes) -> bytes:
    """Return a page in JSON as Kinesis writes it in CBOR."""
    page = msgspec.json.decode(body)
    for record in page["Records"]:
        record["Data"] = msgspec.convert(record["Data"], bytes)
        record["ApproximateArrivalTimestamp"] = cbor2.CBORTag(
            1, round(record["ApproximateArrivalTimestamp"] * 1000)
        )
    return cbor2.dumps(page)


def _building(decode: Callable[[bytes], Page], body: bytes) -> Callable[[], pa.RecordBatch]:
    builder = BatchBuilder(SCHEMA.names)
    return lambda: builder.build(decode(body), STREAM, SHARD)


def _threads() -> Iterator[Row]:
    for case, target in zip(CASES, (None, 1.7, None, 1.7), strict=True):
        work = _building(wire.decode_page, page_body(case.payloads))
        with ThreadPoolExecutor(2) as pool:
            turns = [(_pages_per_s(pool, work, 2), _pages_per_s(pool, work, 1)) for _ in range(THREAD_TURNS)]
        yield Row.of("two threads, against one", case.name, "pages per second", turns, target)


def _pages_per_s(pool: ThreadPoolExecutor, work: Callable[[], object], threads: int) -> float:
    def many() -> None:
        for _ in range(PAGES_A_THREAD):
            work()

    started_s = time.perf_counter()
    for done in [pool.submit(many) for _ in range(threads)]:
        done.result()
    return threads * PAGES_A_THREAD / (time.perf_counter() - started_s)


if __name__ == "__main__":
    show(run())
