"""
A thousand subscriptions in two worker processes, by HTTP/2 and by HTTP/1.1, to an emulator over TLS: sockets, CPU time and memory.

    python -m tests.bench.bench_subscriptions
"""

from __future__ import annotations

import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from attrs import frozen

from kinesis_core.aws import Connection, FanOutTransport, StreamRef, subscription_client
from kinesis_core.model import TrimHorizon
from kinesis_core.threads import ThreadPool
from kinesis_credentials import StaticKeys
from kinesis_emulator import Emulator, Limits, Settings
from tests.bench.harness import Row, show
from tests.bench.memory import peak_bytes
from tests.bench.server import TlsFiles, trusted_certificate

STREAM, REGION = "orders", "us-east-1"
SHARDS, WORKERS = 1000, 2
RECORDS, RECORD_BYTES = 20, 1000
"""In each shard: what a micro-batch has of a shard that takes in some records a second."""
THREADS = 16
"""Subscriptions that a worker makes at the same time. Those that are open need no thread."""
PATIENCE_S = 600.0
MIB = 1024 * 1024
HTTP_2, HTTP_1_1 = FanOutTransport.HTTP_2, FanOutTransport.HTTP_1_1


@frozen
class Cost:
    """What the workers needed together."""

    sockets: int
    """Those that are open while all subscriptions are."""
    cpu_s: float
    peak_bytes: int
    time_s: float
    """Until each shard's records were read."""


def run() -> list[Row]:
    """Return the rows of both protocols."""
    with trusted_certificate() as tls:
        new, old = _cost(tls, HTTP_2), _cost(tls, HTTP_1_1)
    case = f"{SHARDS:,} subscriptions, {WORKERS} workers"
    return [
        Row.cost("Subscriptions by HTTP/2, against HTTP/1.1", f"{case}: {what}", metric, ours, theirs)
        for what, metric, ours, theirs in (
            ("sockets", "open at once", new.sockets, old.sockets),
            ("CPU", f"s for {RECORDS} records of each", new.cpu_s, old.cpu_s),
            ("memory", "MiB, peaks of both processes", new.peak_bytes / MIB, old.peak_bytes / MIB),
            ("time", "s until all are read", new.time_s, old.time_s),
        )
    ]


def _cost(tls: TlsFiles, transport: FanOutTransport) -> Cost:
    context = multiprocessing.get_context("spawn")
    with ExitStack() as stack:
        manager = stack.enter_context(context.Manager())
        ends = manager.Event()
        server = stack.enter_context(ProcessPoolExecutor(1, context))
        pipe = manager.Queue()
        served = server.submit(_serve, tls, pipe, ends)
        stack.callback(served.result)
        stack.callback(ends.set)
        endpoint_url, consumer, shards = pipe.get(timeout=PATIENCE_S)
        together: Any = manager.Barrier(WORKERS)
        workers = stack.enter_context(ProcessPoolExecutor(WORKERS, context))
        parts = [shards[i::WORKERS] for i in range(WORKERS)]
        costs = list(
            workers.map(
                _read,
                *zip(*((endpoint_url, consumer, part, transport, together) for part in parts), strict=True),
            )
        )
    return Cost(
        sum(cost.sockets for cost in costs),
        sum(cost.cpu_s for cost in costs),
        sum(cost.peak_bytes for cost in costs),
        max(cost.time_s for cost in costs),
    )


def _serve(tls: TlsFiles, pipe: Any, ends: Any) -> None:
    """Run an emulator, which has the records already."""
    with Emulator(settings=Settings(limits=Limits.unlimited()), tls=tls) as emulator:
        emulator.create_stream(STREAM, shards=SHARDS)
        shards = [f"shardId-{i:012}" for i in range(SHARDS)]
        for i in range(SHARDS):
            hash_key = str(i * 2**128 // SHARDS + 1)
            for _ in range(RECORDS):
                emulator.put(STREAM, bytes(RECORD_BYTES), explicit_hash_key=hash_key)
        pipe.put((emulator.endpoint_url, emulator.register_consumer(STREAM, "me"), shards))
        ends.wait(PATIENCE_S)


def _read(
    endpoint_url: str, consumer: str, shards: list[str], transport: FanOutTransport, together: Barrier
) -> Cost:
    """Subscribe to all *shards* at the same time, and read their records."""
    ref = StreamRef(STREAM)
    connection = Connection((ref,), REGION, endpoint_url, StaticKeys("invented", "invented"))
    api = subscription_client(connection, ref, consumer, transport)
    subscriptions: list[Any] = []

    def read(shard_id: str) -> None:
        events, left = api.subscribe(shard_id, TrimHorizon()), RECORDS
        subscriptions.append(events)
        while left > 0:
            left -= len(next(events).records)

    together.wait(PATIENCE_S)
    started_s, cpu_s = time.monotonic(), time.process_time()
    try:
        with ThreadPool(THREADS, "subscription") as pool:
            list(pool.map(read, shards))
    except BaseException:
        together.abort()  # the other worker does not wait for this one
        raise
    time_s, cpu_s = time.monotonic() - started_s, time.process_time() - cpu_s
    sockets = _sockets()
    together.wait(PATIENCE_S)
    for events in subscriptions:
        events.close()
    return Cost(sockets, cpu_s, peak_bytes(), time_s)


def _sockets() -> int:
    files = Path("/proc/self/fd")
    return sum(os.readlink(file).startswith("socket:") for file in files.iterdir() if file.is_symlink())


if __name__ == "__main__":
    show(run())
