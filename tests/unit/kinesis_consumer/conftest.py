"""What holds for all tests of the consumer."""

from __future__ import annotations

import pytest

from kinesis_consumer.worker import WorkerThreads
from kinesis_core.termination import TERMINATION
from support.waiting import PATIENCE_S


@pytest.fixture(autouse=True)
def _patient_close(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a group that is closed wait for a thread that stands still: it leaves its leases behind otherwise."""
    monkeypatch.setattr(f"{WorkerThreads.__module__}.CLOSE_S", PATIENCE_S)


@pytest.fixture(autouse=True)
def _quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let threads of a group look often at their clock, which is a quick one or a test's own."""
    monkeypatch.setattr(f"{WorkerThreads.__module__}.LONGEST_WAIT_S", 0.01)


@pytest.fixture(autouse=True)
def _no_producers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no producer count that another test of this process has left open: the handler of SIGTERM stays as long as there is one."""
    monkeypatch.setattr(TERMINATION, "_writers", set())
