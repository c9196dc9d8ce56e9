"""A short run of `nox -s chaos`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from support.standalone import has_two_hosts
from tools.chaos.run import run
from tools.chaos.script import KILLS, KINDS

SEED = 1
ROUNDS = 2
"""One of each kind."""


@pytest.mark.skipif(not has_two_hosts(), reason="127.0.0.2 is not an address of this machine")
@pytest.mark.skipif(sys.platform != "linux", reason="it finds its victims in /proc")
@pytest.mark.timeout(3600)
def test_everything_is_killed(tmp_path: Path) -> None:
    """
    Executors, Python workers, the driver and Kinesis are killed in the middle of micro-batches. The files hold each record once
    and in order, and the second stream holds each record at least once. No query fails of it, nor of a reshard and of faulty calls.
    This also holds for runs of AvailableNow, and where the number of shards changes twice between two of them.
    """
    outcome = run(SEED, ROUNDS, tmp_path, print)
    assert outcome.problems == ()
    assert outcome.kills == dict.fromkeys(KINDS, KILLS * ROUNDS)
    assert outcome.reshards > ROUNDS
    assert outcome.records
