"""The memory of a worker that reads stays within what the page Size and tune says, with room for differences between machines."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench import group_worker, reading_worker
from tests.bench.canned import CannedStream, canned_kinesis

MB = 1_000_000
ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not show the peak of a process")
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


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not show the peak of a process")
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
