"""How long the opening of a group waits for a service that fails."""

from __future__ import annotations

import random

import pytest

from kinesis_consumer.patience import patiently
from kinesis_core import AccessDeniedError, ServiceError, ThrottledError, UnavailableError
from support.fake_stream import FakeClock


@pytest.mark.parametrize("error", [UnavailableError("It fails."), ThrottledError("Too fast.")])
def test_an_outage_is_waited_out(error: ServiceError) -> None:
    """A call is repeated for more than 20 seconds, and then its error is raised."""
    clock, waited_s = FakeClock(), []
    for seed in range(20):
        began_s = clock.now

        def fail() -> None:
            raise error

        with pytest.raises(type(error)):
            patiently("Scan", fail, clock, random.Random(seed))
        waited_s.append(clock.now - began_s)
    assert sorted(waited_s)[2] > 20
    assert max(waited_s) < 60


def test_other_errors_are_raised_at_once() -> None:
    """Waiting does not help against a denied access."""
    clock = FakeClock()
    began_s = clock.now

    def fail() -> None:
        raise AccessDeniedError("Allow it.")

    with pytest.raises(AccessDeniedError):
        patiently("Scan", fail, clock, random.Random(1))
    assert clock.now == began_s
