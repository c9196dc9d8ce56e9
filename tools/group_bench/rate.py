"""CPU per record and memory: a worker of a group, `Stream.follow` and the KCL read the same stream."""

from __future__ import annotations

import gc
import os
import random
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from attrs import frozen

from kinesis_consumer import ConsumerGroup, DynamoLeases, GroupSettings, LeaseStore, SqliteLeases
from kinesis_core import PlanSettings, ReadSettings, Stream
from kinesis_emulator import EmulatorProcess
from support.kcl.dynamodb_local import DynamoDbLocal
from support.kcl.group_worker import GroupWorker
from support.kcl.worker import KclOptions, KclWorker
from support.streams import StreamUnderTest, connection_to
from tests.bench.harness import in_own_process
from tests.bench.memory import MB, peak_bytes, peak_bytes_of
from tools.group_bench.streams import fill

SHARDS = 4
RECORD_BYTES = 200
WARM_UP = 0.25
"""The share of the records that is read before the measurement begins: threads and connections are there then."""
WARM_UP_KCL = 0.5
"""The JVM compiles for longer."""
UNLIMITED = float("inf")
AT_ONCE = {
    "polling.idleTimeBetweenReadsInMillis": 200,
    "polling.maxRecords": 10_000,
}
_TICKS_A_S = os.sysconf("SC_CLK_TCK")
_WITHIN_S = 600.0


def measure_rates(records: int, turns: int, dynamodb: DynamoDbLocal, folder: Path) -> dict[str, Any]:
    """
    Return what `_measure` finds by kind of stream.

    These are microseconds of CPU per user record by reader, the ratios of neighbouring turns to `follow`, and the largest memory.
    """
    found = {}
    for name, aggregate, count in (("plain", False, records), ("aggregated", True, 2 * records)):
        with EmulatorProcess() as emulator:
            stream = StreamUnderTest(emulator.endpoint_url, name, SHARDS)
            fill(name, emulator.endpoint_url, count, RECORD_BYTES, aggregate=aggregate)
            stream.client.close()
            readers = _Readers(name, count, emulator.endpoint_url, dynamodb.endpoint_url, folder)
            found[name] = _measure(readers, dynamodb, turns)
    return found


def _measure(readers: _Readers, dynamodb: DynamoDbLocal, turns: int) -> dict[str, dict[str, float]]:
    contenders = readers.ours()
    for read in contenders.values():
        read()  # imports and caches do not count
    memory_mb = {name: in_own_process(_peak_mb, readers, name) for name in contenders}
    spent = [{name: read() for name, read in contenders.items()} for _ in range(turns)]
    us = {name: median(turn[name] for turn in spent) for name in contenders}
    ratios = {name: median(turn[name] / turn["follow"] for turn in spent) for name in contenders}
    us["kcl"], memory_mb["kcl"] = readers.kcl(dynamodb)
    return {"us": us, "ratios": ratios, "memory_mb": memory_mb}


def _peak_mb(readers: _Readers, name: str) -> float:
    readers.ours()[name]()
    return peak_bytes() / MB


@frozen
class _Readers:
    """Each reads the whole stream from its oldest record, and returns the microseconds of CPU per user record."""

    stream: str
    records: int
    kinesis_url: str
    dynamodb_url: str
    folder: Path

    def ours(self) -> dict[str, Callable[[], float]]:
        return {"follow": self.follow, "sqlite": self.sqlite, "dynamodb": self.with_dynamodb}

    def follow(self) -> float:
        stream = Stream.open(
            self.stream,
            **connection_to(self.kinesis_url),
            plan=PlanSettings(min_fetch_period_s=0.0),
            read=ReadSettings(min_fetch_period_s=0.0, max_fetch_rate_bytes=UNLIMITED),
        )
        with stream:
            return self._spent(
                record for batch in stream.follow("TRIM_HORIZON") for record in batch.records()
            )

    def sqlite(self) -> float:
        return self._group(SqliteLeases(self.folder / "leases.db"))

    def with_dynamodb(self) -> float:
        return self._group(DynamoLeases(endpoint_url=self.dynamodb_url))

    def kcl(self, dynamodb: DynamoDbLocal) -> tuple[float, float]:
        """Return the same of the KCL, and the largest memory of its process in MB."""
        application = _new_name()
        dynamodb.create_lease_table(application)
        options = KclOptions(
            version="3.5.1",
            application=application,
            stream=self.stream,
            kinesis_url=self.kinesis_url,
            dynamodb_url=self.dynamodb_url,
            settings=AT_ONCE,
            is_counting=True,
            is_cbor=False,
            is_fast=True,
        )
        with KclWorker.start(options, self.folder / f"{application}.log") as worker:
            before, before_s = self._wait_counted(worker, round(self.records * WARM_UP_KCL))
            after, after_s = self._wait_counted(worker, self.records)
            memory_mb = peak_bytes_of(worker.process.pid) / MB
        return (after_s - before_s) / (after - before) * 1e6, memory_mb

    def _wait_counted(self, worker: GroupWorker, records: int) -> tuple[int, float]:
        """Return how many records were delivered and the CPU seconds of the process, once there are at least *records*."""

        def counted() -> int:
            return sum(event["count"] for event in worker.process.events("counted"))

        worker.process.wait_until(lambda: counted() >= records, _WITHIN_S)
        return counted(), process_cpu_s(worker.process.pid)

    def _group(self, leases: LeaseStore) -> float:
        group = ConsumerGroup.open(
            self.stream,
            _new_name(),
            leases=leases,
            **connection_to(self.kinesis_url),
            start="TRIM_HORIZON",
            settings=GroupSettings(max_fetch_rate_bytes=UNLIMITED),
        )
        with group:
            return self._spent(_committed_records(group))

    def _spent(self, records: Iterator[object]) -> float:
        warm_up = round(self.records * WARM_UP)
        gc.collect()
        deque(islice(records, warm_up), 0)
        start_s = time.process_time()
        deque(islice(records, self.records - warm_up), 0)
        return (time.process_time() - start_s) / (self.records - warm_up) * 1e6


def _committed_records(group: ConsumerGroup) -> Iterator[object]:
    for batch in group:
        yield from batch.records()
        batch.commit()


def _new_name() -> str:
    return f"group-{random.getrandbits(64):x}"


def process_cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process until now; see proc_pid_stat(5)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_A_S
