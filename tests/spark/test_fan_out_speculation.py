"""Enhanced fan-out on a cluster that runs a task twice at the same time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kinesis_emulator import Emulator
from spark.subscribe_calls import SubscribeCalls
from support import python_starts
from support.standalone import has_two_hosts, standalone
from support.streams import StreamUnderTest

JOB = Path(__file__).parent / "jobs" / "speculating_job.py"


@pytest.mark.skipif(not has_two_hosts(), reason="127.0.0.2 is not an address of this machine")
def test_speculative_task(emulator: Emulator, stream: StreamUnderTest, tmp_path: Path) -> None:
    """Of two attempts at the same time, only the first subscribes. The second polls the identical records."""
    subscribe_calls = SubscribeCalls(emulator)
    stream.put_numbers(20)
    options = stream.options(consumerType="SubscribeToShard")
    with standalone(tmp_path) as url:
        environment = {**os.environ, "OPTIONS": json.dumps(options), "PYSPARK_PYTHON": sys.executable}
        job = [sys.executable, str(JOB), url, str(tmp_path)]
        ran = python_starts.run(job, env=environment, stderr=subprocess.STDOUT)
    assert ran.returncode == 0, ran.stdout
    assert json.loads((tmp_path / "rows").read_text()) == [data.decode() for data in stream.payloads]
    assert (tmp_path / "attempt-1").exists()
    assert len(subscribe_calls.asked) == 1
