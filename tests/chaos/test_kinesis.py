"""The Kinesis of a run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kinesis_emulator import Emulator, Fault, FaultScript, Step
from kinesis_emulator.faults import ANY_CALL
from support.paths import python_path
from tools.chaos.kinesis import Kinesis


def test_reshards_among_faults(tmp_path: Path) -> None:
    """Each reshard happens once, although many calls fail: before it, or in its place, or after it."""
    kinesis = Kinesis(tmp_path, {**os.environ, "PYTHONPATH": python_path()})
    kinesis.start()
    try:
        kinesis.create("orders", 8)
        kinesis.set_faults(0.3, 1)
        for splits in (True, False, True):
            kinesis.reshard("orders", 0.5, splits=splits)
        scaled = kinesis.scale("orders", 6)
        kinesis.set_faults(0, 0)
        assert kinesis.faults > 0
        kinesis.restart()
        assert scaled > 3, "some shards are closed at once"
        assert kinesis.count_reshards("orders") == 3 + scaled
        assert kinesis.scale("orders", 6) == 0
    finally:
        kinesis.kill()


@pytest.mark.parametrize("fault", ANY_CALL)
@pytest.mark.parametrize("splits", [True, False])
def test_a_reshard_whose_own_call_has_a_fault(tmp_path: Path, fault: Fault, *, splits: bool) -> None:
    """The response has no members, so that a page of HTML in its place looks like one to boto3."""
    with Emulator() as emulator:
        emulator.settings.stream_updating_s = 0.0
        emulator.create_stream("orders", 4)
        emulator.settings.fault = FaultScript(Step(fault, "SplitShard" if splits else "MergeShards"))
        kinesis = Kinesis(tmp_path, {})
        kinesis.port = emulator.port
        kinesis.reshard("orders", 0.5, splits=splits)
        assert kinesis.count_reshards("orders") == 1
