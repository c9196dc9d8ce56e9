"""Plain Python keeps nothing of what it has read and written: the same memory, files and threads after a thousand times."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from kinesis_core import Stream
from kinesis_core.producing import Producer
from kinesis_core.reader import ReadSettings
from kinesis_core.stream_planner import PlanSettings
from kinesis_credentials import StaticKeys
from kinesis_emulator import EmulatorProcess
from support.soak.processes import DRIVER, EMULATOR, Holding, holding
from support.soak.verdict import Look, leaks
from support.streams import KEY_ID, REGION, SECRET

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux has /proc"),
    pytest.mark.timeout(600),
]
SHARDS, RECORDS = 2, 20
PAYLOADS = [b"%d" % number * 500 for number in range(RECORDS)]
UNPACED: dict[str, Any] = {
    "plan": PlanSettings(min_fetch_period_s=0.0),
    "read": ReadSettings(min_fetch_period_s=0.0, max_fetch_rate_bytes=1e9),
}
DEADLINE_S = 60


@pytest.fixture
def emulator() -> Iterator[EmulatorProcess]:
    with EmulatorProcess({"orders": SHARDS}, shard_capacity_records=2 * RECORDS) as running:
        yield running


@pytest.fixture
def connection(emulator: EmulatorProcess) -> dict[str, Any]:
    return {
        "endpoint_url": emulator.endpoint_url,
        "region": REGION,
        "credentials": StaticKeys(KEY_ID, SECRET),
    }


def watch(emulator: EmulatorProcess, times: int, every: int, do: Callable[[], object]) -> list[Look]:
    """*do* something so many times, and look at this process and the emulator every so often."""
    looks = []
    for step in range(times):
        do()
        if step % every == 0:
            looks.append(Look(step, {DRIVER: holding(os.getpid()), EMULATOR: holding(emulator.pid)}))
    return looks


def open_things(pid: int) -> tuple[int, int]:
    held: Holding = holding(pid)
    return held.files, held.threads


def wait_for(things: tuple[int, int], pid: int) -> None:
    """Wait until a process has so many files and threads, or less: threads that nobody waits for end in their own time."""
    deadline = time.monotonic() + DEADLINE_S
    while any(now > then for now, then in zip(open_things(pid), things, strict=True)):
        assert time.monotonic() < deadline, f"files and threads were {things}, and are {open_things(pid)}"
        time.sleep(0.01)


def test_a_thousand_batches(emulator: EmulatorProcess, connection: dict[str, Any]) -> None:
    """1,000 times a plan of its own and a read: each batch has what was put, and nothing is left of it."""
    with (
        Stream.open("orders", **connection, **UNPACED) as stream,
        Producer.open("orders", **connection) as producer,
    ):
        offset = stream.read("TRIM_HORIZON").offset
        begun: list[tuple[int, int]] = []

        def put_and_read() -> None:
            nonlocal offset
            producer.put_columns(PAYLOADS)
            producer.flush()
            batch = stream.read(offset)
            assert sorted(record.data for record in batch.records()) == sorted(PAYLOADS)
            offset = batch.offset
            begun[:] = begun or [open_things(os.getpid())]

        assert leaks(watch(emulator, 1000, 10, put_and_read)) == []
        wait_for(begun[0], os.getpid())


def test_following_for_a_thousand_batches(emulator: EmulatorProcess, connection: dict[str, Any]) -> None:
    """One planner that plans 1,000 batches, each of which is read, is as small at the end as at first."""
    with Producer.open("orders", **connection) as producer:
        stream = Stream.open("orders", **connection, **UNPACED)
        producer.put_columns(PAYLOADS)
        producer.flush()
        batches = stream.follow("TRIM_HORIZON")

        def read_and_put() -> None:
            [batch] = islice(batches, 1)
            assert list(batch.records())
            producer.put_columns(PAYLOADS)
            producer.flush()

        assert leaks(watch(emulator, 1000, 10, read_and_put)) == []


def test_producers_that_come_and_go(emulator: EmulatorProcess, connection: dict[str, Any]) -> None:
    """A producer that was opened, used and closed 50 times has left neither threads nor connections."""

    def produce() -> None:
        with Producer.open("orders", **connection) as producer:
            producer.put_columns(PAYLOADS)

    produce()
    ours, theirs = open_things(os.getpid()), open_things(emulator.pid)
    assert leaks(watch(emulator, 50, 1, produce)) == []
    wait_for(ours, os.getpid())
    wait_for(theirs, emulator.pid)


def test_fan_out_readers_that_come_and_go(emulator: EmulatorProcess, connection: dict[str, Any]) -> None:
    """A stream that was opened 50 times with a consumer, read and closed has left neither threads nor subscriptions."""
    with Producer.open("orders", **connection) as producer:
        producer.put_columns(PAYLOADS)

    def subscribe() -> None:
        with Stream.open("orders", consumer="audit", **connection) as stream:
            assert len([*stream.read("TRIM_HORIZON").records()]) == RECORDS

    subscribe()
    ours, theirs = open_things(os.getpid()), open_things(emulator.pid)
    assert leaks(watch(emulator, 50, 1, subscribe)) == []
    wait_for(ours, os.getpid())
    wait_for(theirs, emulator.pid)
