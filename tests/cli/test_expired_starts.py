"""Times that have expired, or are still to come: a command says so, and never shows less than it was asked for."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from kinesis_emulator import Emulator, Limits, ManualClock, Settings
from support.command_line import CommandLine

DAY_S, MINUTE_S = 24 * 3600, 60
TO_COME = "2099-01-01T00:00:00Z"


@pytest.fixture
def old(kinesis: CommandLine) -> Iterator[CommandLine]:
    """Return the command line with a stream `orders` that is three days old, and has a record a minute from a day ago on."""
    clock = ManualClock(time.time() - 3 * DAY_S)
    with Emulator(settings=Settings(limits=Limits.unlimited()), clock=clock) as emulator:
        emulator.create_stream("orders", 1)
        emulator.create_stream("teas", 1)
        clock.advance(3 * DAY_S)
        for minute in range(60):
            emulator.put(
                "orders", b"%d" % minute, "k", arrived_s=clock.now_s - DAY_S + (minute - 29.5) * MINUTE_S
            )
        yield kinesis.to(emulator)


@pytest.mark.parametrize(
    ("command", "lost"),
    [
        (("dump", "orders", "-o", "raw"), ""),
        (("tail", "orders", "--no-follow", "-o", "raw"), ""),
        (("tail", "orders", "-n", "100", "--no-follow", "-o", "raw"), ""),
        (("copy", "orders", "teas"), "0 records copied to teas\n"),
    ],
)
@pytest.mark.parametrize("until", [(), ("--until", "23h")])
def test_a_time_that_has_expired(
    old: CommandLine, command: tuple[str, ...], lost: str, until: tuple[str, ...]
) -> None:
    """It is an error that names the time, what is left and the retention. The exit status is 3, and nothing is written."""
    ran = old(*command, "--since", "25h", *until, status=3)
    assert ran.out == b""
    assert ran.err.startswith(f"{lost}kinesis {command[0]}: --since asks for the records since ")
    assert "the retention is 24 h. Start at TRIM_HORIZON, or at that time or later. [stream=orders" in ran.err
    assert "failOnDataLoss" not in ran.err


def test_a_time_that_has_not_expired(old: CommandLine) -> None:
    """What is left is all there, also what leaves the stream within minutes."""
    assert old("dump", "orders", "-o", "raw", "--since", "1437m").lines == [str(n) for n in range(33, 60)]


@pytest.mark.parametrize("last", ["3", "20", "100"])
@pytest.mark.parametrize("until", [(), ("--until", "1413m"), ("--until", "22h"), ("--until", "25h")])
def test_the_last_records_of_an_old_stream(old: CommandLine, last: str, until: tuple[str, ...]) -> None:
    """The search for the last records goes back to the oldest one, and asks for no time before it."""
    there = [] if "25h" in until else [str(n) for n in range(35, 57 if "1413m" in until else 60)]
    assert old("tail", "orders", "--no-follow", "-o", "raw", "-n", last, *until).lines == there[-int(last) :]


@pytest.mark.parametrize(
    "command", [("dump", "orders"), ("copy", "orders", "teas"), ("tail", "orders", "--no-follow", "-n", "1")]
)
def test_an_end_that_is_still_to_come(old: CommandLine, command: tuple[str, ...]) -> None:
    """A command that does not wait refuses it: it would end now, and nobody would know."""
    ran = old(*command, "--until", TO_COME, status=2)
    assert ran.err.startswith(f"kinesis {command[0]}: --until is '{TO_COME}'. Use a time in the past. ")
