"""The memory of a worker that reads stays within what the page Size and tune says, with room for differences between machines."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.canned import CannedStream, canned_kinesis
from tests.bench.reading_worker import command

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
    environment = {**os.environ, "KINESIS_NATIVE": "0"}  # Python's decoder takes more
    with canned_kinesis(stream) as kinesis:
        read = command(stream, kinesis.endpoint_url)
        peak_bytes = int(subprocess.check_output(read, env=environment, cwd=ROOT, text=True))
    assert peak_bytes < most_bytes
