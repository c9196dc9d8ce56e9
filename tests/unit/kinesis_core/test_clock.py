"""The steady clock counts the time for which a machine is suspended. Pauses double."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import cast

import pytest

from kinesis_core.clock import SteadyClock, doubled_s, find_steady

AWAKE_S, ALL_S = 5.0, 605.0
"""Of a machine that was suspended for ten minutes."""


@pytest.mark.parametrize(
    "clocks",
    [
        pytest.param({"CLOCK_MONOTONIC": AWAKE_S, "CLOCK_BOOTTIME": ALL_S, "monotonic": AWAKE_S}, id="Linux"),
        pytest.param({"CLOCK_MONOTONIC": ALL_S, "monotonic": AWAKE_S}, id="macOS"),
        pytest.param({"monotonic": ALL_S}, id="Windows"),
    ],
)
def test_suspended_time_counts(clocks: dict[str, float]) -> None:
    """A machine's clock that goes on while it is suspended is used, whatever the platform calls it."""
    module = SimpleNamespace(
        **{name: name for name in clocks if name.isupper()},
        clock_gettime=clocks.__getitem__,
        monotonic=lambda: clocks["monotonic"],
    )
    assert find_steady(cast(ModuleType, module))() == ALL_S


def test_it_never_goes_back() -> None:
    """Two looks at the clock are in order."""
    clock = SteadyClock()
    assert clock.now_s() <= clock.now_s()


def test_pauses_double_up_to_a_limit() -> None:
    """After as many failures as an outage of days has, too."""
    assert [doubled_s(0.5, times, 3.0) for times in range(4)] == [0.5, 1.0, 2.0, 3.0]
    assert doubled_s(0.5, 100_000, 3.0) == 3.0
