"""
The memory of a worker that reads stays within what the page Size and tune says, with room for differences between machines. And what
the benchmarks measure of memory is there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.bench import group_worker, reading_worker
from tests.bench.canned import CannedStream, canned_kinesis
from tests.bench.memory import added_bytes
from tests.bench.process_tree import largest_mb

MB = 1_000_000
ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not show it")


def test_what_work_adds() -> None:
    """It is what the work has at once, and not what work before it had, or has left free. Linux counts pages to a megabyte or so."""
    first, again, little = (
        added_bytes(partial(bytes.ljust, b"", size, b"x")) for size in (99 * MB, 99 * MB, MB)
    )
    assert 97 * MB <= first < 110 * MB
    assert 97 * MB <= again < 110 * MB
    assert little < 10 * MB


def test_the_memory_of_all_processes() -> None:
    """Processes that work has started count, without those that are left out."""
    kept: list[subprocess.Popen[str]] = []

    def start() -> None:
        hold = "data = bytearray(200_000_000); print(len(data), flush=True); input()"
        kept.append(
            subprocess.Popen(
                [sys.executable, "-c", hold], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        )
        assert kept[-1].stdout is not None
        assert kept[-1].stdout.readline() == "200000000\n"

    before_mb = largest_mb(lambda: None)
    try:
        assert largest_mb(start) >= before_mb + 150
        assert largest_mb(lambda: None, [kept[0].pid]) < before_mb + 50
    finally:
        kept[0].communicate("")


@pytest.mark.parametrize(
    ("stream", "most_bytes"),
    [
        pytest.param(
            CannedStream(shards=16, pages=2, records=10, record_bytes=2**20), 350 * MB, id="10 MiB pages"
        ),
        pytest.param(CannedStream(shards=16, pages=4, records=2000), 290 * MB, id="2 MB pages"),
    ],
)
def test_a_reading_worker(stream: CannedStream, most_bytes: int) -> None:
    """A task of 16 shards holds responses and pages of 128 MiB at most, and leaves little freed memory in its process."""
    with canned_kinesis(stream) as kinesis:
        peak_bytes = _peak_bytes(reading_worker.command(stream, kinesis.endpoint_url))
    assert peak_bytes < most_bytes


@pytest.mark.parametrize(
    ("stream", "most_bytes"),
    [
        pytest.param(
            CannedStream(shards=16, pages=2, records=10, record_bytes=2**20), 170 * MB, id="10 MiB pages"
        ),
        pytest.param(
            CannedStream(shards=16, pages=2, records=10_000, record_bytes=100), 200 * MB, id="small records"
        ),
    ],
)
def test_a_worker_of_a_group(stream: CannedStream, most_bytes: int) -> None:
    """It has batches, pages and responses of 64 MiB at most, and the modules and threads of its process."""
    with canned_kinesis(stream) as kinesis:
        # As the docs advise a program in plain Python; a Spark worker does so by itself.
        peak_bytes = _peak_bytes(
            group_worker.command(stream, kinesis.endpoint_url, 64 * 2**20), MALLOC_ARENA_MAX="1"
        )
    assert peak_bytes < most_bytes


def _peak_bytes(command: list[str], **more: str) -> int:
    """Return what a program prints that runs without native code: Python's decoder takes more memory."""
    environment = {**os.environ, "KINESIS_NATIVE": "0", **more}
    return int(subprocess.check_output(command, env=environment, cwd=ROOT, text=True))
