"""One worker of this project's consumer groups in a process of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from attrs import frozen

from support.kcl.event_process import EventProcess
from support.kcl.group_worker import GroupWorker
from support.streams import REGION

PROGRAM = Path(__file__).with_name("group_process.py")
QUICK_PYTHON: Mapping[str, float] = {
    "lease_duration_s": 2.0,
    "fetch_interval_s": 0.2,
    "hand_over_timeout_s": 5.0,
    "max_batch_records": 5,
}
"""The same times as the KCL has in tests. A batch has some aggregates."""


@frozen(kw_only=True)
class PythonOptions:
    """A worker as a test wants it."""

    application: str
    stream: str
    kinesis_url: str
    dynamodb_url: str
    worker: str = "worker"
    position: str = "TRIM_HORIZON"
    checkpoint: Literal["batch", "command", "never"] = "batch"
    """After each batch; by `checkpoint()`, before a hand-over and an orderly end; or never. At most one batch a shard is open."""
    paused: bool = False
    """Process nothing before `resume()`."""
    settings: Mapping[str, float] = QUICK_PYTHON

    def arguments(self) -> list[str]:
        values = {
            "application": self.application,
            "stream": self.stream,
            "kinesis": self.kinesis_url,
            "dynamodb": self.dynamodb_url,
            "region": REGION,
            "worker": self.worker,
            "position": self.position,
            "checkpoint": self.checkpoint,
            "paused": str(self.paused).lower(),
            "settings": json.dumps(self.settings),
        }
        return [f"{name}={value}" for name, value in values.items()]


def start_python(options: PythonOptions, log: Path) -> GroupWorker:
    """Start a worker, and return at once."""
    return GroupWorker(
        options.worker, EventProcess([sys.executable, str(PROGRAM), *options.arguments()], log)
    )
