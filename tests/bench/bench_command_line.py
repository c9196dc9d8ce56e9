"""
The command `kinesis`: reading a backlog beside `Stream.read`, and the time until the first record beside a script with boto3.

    python -m tests.bench.bench_command_line

Each figure is of a whole process, with the start of Python and the plan of the batch.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from attrs import frozen

from kinesis_emulator.client_settings import environment
from tests.bench.canned import CannedStream, canned_kinesis
from tests.bench.harness import Finding, Note, Row, show
from tests.bench.memory import MB, peak_bytes_of
from tests.bench.server import Server

GROUP = "Command line"
TURNS = 3
SHARDS = 16
HALF = 0.5
"""Of the records a second that `Stream.read` delivers."""
LARGER = 4
"""How many times larger the backlog is that shows whether memory grows."""
BACKLOGS = {
    "100 B": CannedStream(shards=SHARDS, pages=2, records=10_000, record_bytes=100),
    "1 KB": CannedStream(shards=SHARDS, pages=3, records=1000, record_bytes=1000),
    "100 B, aggregated": CannedStream(shards=SHARDS, pages=2, records=20, record_bytes=100, user_records=500),
}
KINESIS = str(Path(sys.executable).with_name("kinesis"))
OUTPUTS: dict[str, Sequence[str]] = {
    "tail, raw": ("tail", "orders", "--since", "TRIM_HORIZON", "--no-follow", "-o", "raw"),
    "tail, text": ("tail", "orders", "--since", "TRIM_HORIZON", "--no-follow"),
    "dump, raw": ("dump", "orders", "-o", "raw"),
    "dump, JSON": ("dump", "orders"),
    "dump, Arrow": ("dump", "orders", "-o", "arrow"),
}
WITH_TARGET = {"tail, raw", "dump, raw"}
READ = """
from kinesis_core import Stream

for record in Stream.open("orders").read("TRIM_HORIZON").records():
    pass
"""
FIRST = ("tail", "orders", "-n", "1")
FIRST_BY_HAND = """
import time
import boto3

client = boto3.client("kinesis")
iterators = [
    client.get_shard_iterator(StreamName="orders", ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
    for shard in client.list_shards(StreamName="orders")["Shards"]
]
for iterator in iterators:
    for record in client.get_records(ShardIterator=iterator)["Records"]:
        print(record["Data"], flush=True)
time.sleep(60)
"""
WHY = """\
The figures of reading are CPU of the process per record, because a shard's rate of 2 MiB/s bounds all of them alike. The last rows
have a backlog four times larger than the others: its peak of memory beside that of the smaller one.
"""


@frozen
class Cost:
    """What one process took."""

    cpu_s: float
    peak_bytes: int


def run() -> list[Finding]:
    found: list[Finding] = []
    for name, stream in BACKLOGS.items():
        found += _reading(name, stream)
    found += _memory(BACKLOGS["1 KB"])
    return [*found, _first_record(), Note(WHY)]


def _reading(name: str, stream: CannedStream) -> Iterator[Row]:
    with canned_kinesis(stream) as kinesis:
        turns = [_turn(kinesis) for _ in range(TURNS)]
    for output in OUTPUTS:
        target = HALF if output in WITH_TARGET else None
        metric, records = "records/µs of CPU, vs. Stream.read", stream.total_rows / 1e6
        rates = [(records / turn[output].cpu_s, records / turn[""].cpu_s) for turn in turns]
        memory_mb = tuple(max(turn[each].peak_bytes for turn in turns) / MB for each in (output, ""))
        yield Row.of(GROUP, f"{output}, {name}", metric, rates, target, memory_mb=memory_mb)


def _turn(kinesis: Server) -> dict[str, Cost]:
    found = {"": _run(kinesis, [sys.executable, "-c", READ])}
    return found | {output: _run(kinesis, [KINESIS, *command]) for output, command in OUTPUTS.items()}


def _memory(stream: CannedStream) -> Iterator[Row]:
    larger = replace(stream, pages=stream.pages * LARGER)
    for output in ("tail, raw", "dump, JSON"):
        peaks = []
        for each in (larger, stream):
            with canned_kinesis(each) as kinesis:
                peaks.append(_run(kinesis, [KINESIS, *OUTPUTS[output]]).peak_bytes / 2**20)
        case = f"{output}, {LARGER} times the backlog"
        yield Row.cost(GROUP, case, "MiB at most, vs. once", peaks[0], peaks[1], 1.2)


def _run(kinesis: Server, command: Sequence[str]) -> Cost:
    process = subprocess.Popen(
        command, env=_environment(kinesis), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    peak_bytes = 0
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        peak_bytes = max(peak_bytes, peak_bytes_of(process.pid))
        time.sleep(0.02)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.stderr is not None
    errors = process.stderr.read().decode()
    process.stderr.close()
    if process.returncode:
        raise AssertionError(errors)
    return Cost(usage.ru_utime + usage.ru_stime, peak_bytes)


def _first_record() -> Row:
    with canned_kinesis(CannedStream(shards=4, records=1)) as kinesis:
        turns = [
            (
                _first_output_ms(kinesis, [KINESIS, *FIRST]),
                _first_output_ms(kinesis, [sys.executable, "-c", FIRST_BY_HAND]),
            )
            for _ in range(2 * TURNS)
        ]
    return Row.of(GROUP, "first record of tail, 4 shards", "ms, vs. boto3", turns, is_cost=True)


def _first_output_ms(kinesis: Server, command: Sequence[str]) -> float:
    """Return the milliseconds from the start of a process to its first output."""
    started_s = time.perf_counter()
    with subprocess.Popen(command, env=_environment(kinesis), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        first = process.stdout.read(1)
        passed_ms = 1000 * (time.perf_counter() - started_s)
        process.kill()
    if not first:
        raise AssertionError(f"{command} printed nothing")
    return passed_ms


def _environment(kinesis: Server) -> dict[str, str]:
    return {**os.environ, **environment(kinesis.endpoint_url, "us-east-1")}


if __name__ == "__main__":
    show(run())
