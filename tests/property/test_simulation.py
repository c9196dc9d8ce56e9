"""The simulation itself: a history always ends."""

from __future__ import annotations

import pytest

from property.simulation import Simulation


@pytest.mark.timeout(120)
def test_killed_threads_end_although_they_clean_up() -> None:
    """A thread that is killed within a call may make another one as it cleans up. That call is not made, and takes no time."""
    simulation = Simulation()
    process = simulation.process("worker")
    called = []

    def run() -> None:
        try:
            process.sleep(10)
        finally:
            process.sleep(0.001)
            called.append("again")

    process.start("user", run)
    simulation.sleep(1)
    simulation.end()
    assert process.tasks[0].has_ended
    assert not called
