"""The Kinesis of a run."""

from __future__ import annotations

import os
from pathlib import Path

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
