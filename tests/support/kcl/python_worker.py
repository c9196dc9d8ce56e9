"""One worker of this project's consumer groups in a process of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

from support.kcl.event_process import EventProcess
from support.kcl.group_worker import GroupWorker, WorkerOptions

PROGRAM = Path(__file__).with_name("group_process.py")
QUICK_PYTHON: Mapping[str, float] = {
    "lease_duration_s": 2.0,
    "fetch_interval_s": 0.2,
    "hand_over_timeout_s": 5.0,
    "max_batch_records": 5,
}
"""The same times as the KCL has in tests. A batch has some aggregates."""


@frozen(kw_only=True)
class PythonOptions(WorkerOptions):
    """At most one batch a shard is open."""

    settings: Mapping[str, float] = QUICK_PYTHON


def start_python(options: PythonOptions, log: Path) -> GroupWorker:
    """Start a worker, and return at once."""
    arguments = options.arguments(settings=json.dumps(options.settings))
    return GroupWorker(options.worker, EventProcess([sys.executable, str(PROGRAM), *arguments], log))
