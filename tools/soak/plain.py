"""
Repeat an action of plain Python in a process of its own, in which nothing else opens or closes anything.

    python -m tools.soak.plain a_thousand_batches

The exit status is 1 if something is left open; the output says what.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from itertools import islice
from typing import Any

from kinesis_core import Stream
from kinesis_core.planning import PlanSettings
from kinesis_core.producing import Producer
from kinesis_core.reading import ReadSettings
from kinesis_emulator import EmulatorProcess
from support.streams import connection_to
from support.waiting import wait_until
from tools.soak.processes import DRIVER, EMULATOR, Holding, holding
from tools.soak.verdict import Look, leaks

SHARDS, RECORDS = 2, 20
PAYLOADS = [b"%d" % number * 500 for number in range(RECORDS)]
UNPACED: dict[str, Any] = {
    "plan": PlanSettings(min_fetch_period_s=0.0),
    "read": ReadSettings(min_fetch_period_s=0.0, max_fetch_rate_bytes=1e9),
}
Connection = dict[str, Any]


def watch(emulator: EmulatorProcess, times: int, every: int, do: Callable[[], object]) -> list[Look]:
    """Repeat *do*, and measure this process and the emulator every so often."""
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
    """
    Wait until a process has no more files and threads than *things*: some end later by themselves.

    There may be as many more connections as shards, because the number that the first readers open depends on chance.
    """
    wait_until(
        lambda: all(now <= then + SHARDS for now, then in zip(open_things(pid), things, strict=True)),
        lambda: f"files and threads were {things}, and are {open_things(pid)}",
    )


def a_thousand_batches(emulator: EmulatorProcess, connection: Connection) -> None:
    """Plan and read 1,000 times with a planner each: each batch has the records put, and leaves nothing behind."""
    with (
        Stream.open("orders", **connection, **UNPACED) as stream,
        Producer.open("orders", **connection) as producer,
    ):
        offset = stream.read("TRIM_HORIZON").offset
        started: list[tuple[int, int]] = []

        def put_and_read() -> None:
            nonlocal offset
            producer.put_columns(PAYLOADS)
            producer.flush()
            batch = stream.read(offset)
            assert sorted(record.data for record in batch.records()) == sorted(PAYLOADS)
            offset = batch.offset
            started[:] = started or [open_things(os.getpid())]

        assert leaks(watch(emulator, 1000, 10, put_and_read)) == []
        wait_for(started[0], os.getpid())


def following_for_a_thousand_batches(emulator: EmulatorProcess, connection: Connection) -> None:
    """Plan and read 1,000 batches with one planner: it needs no more memory at the end."""
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


def producers_that_come_and_go(emulator: EmulatorProcess, connection: Connection) -> None:
    """Open, use and close a producer 50 times: it leaves neither threads nor connections."""

    def produce() -> None:
        with Producer.open("orders", **connection) as producer:
            producer.put_columns(PAYLOADS)

    produce()
    ours, theirs = open_things(os.getpid()), open_things(emulator.pid)
    assert leaks(watch(emulator, 50, 1, produce)) == []
    wait_for(ours, os.getpid())
    wait_for(theirs, emulator.pid)


def fan_out_readers_that_come_and_go(emulator: EmulatorProcess, connection: Connection) -> None:
    """Open, read and close a stream with a consumer 50 times: it leaves neither threads nor subscriptions."""
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


SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (
        a_thousand_batches,
        following_for_a_thousand_batches,
        producers_that_come_and_go,
        fan_out_readers_that_come_and_go,
    )
}


def main(name: str) -> None:
    with EmulatorProcess({"orders": SHARDS}, shard_capacity_records=2 * RECORDS) as emulator:
        SCENARIOS[name](emulator, connection_to(emulator.endpoint_url))


if __name__ == "__main__":
    main(sys.argv[1])
