"""A signal has its effect also where Python or a library drops the error that it raises."""

from __future__ import annotations

import io
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from kinesis_cli import signals
from kinesis_cli.ending import Status
from kinesis_cli.signals import ReaderGoneError, SignalError, TerminatedError, handle_signals, lasting
from kinesis_cli.stopping import StoppedError, Stopping
from support.waiting import PATIENCE_S

HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)


class Response(io.IOBase):
    """Its `close` runs when nothing refers to it any more. A signal comes then."""

    def __init__(self, number: signal.Signals) -> None:
        self.number = number

    def close(self) -> None:
        if not self.closed:
            super().close()
            signal.raise_signal(self.number)


@pytest.fixture(autouse=True)
def _as_in_a_command(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in HANDLED}
    left_s, _ = signal.getitimer(signal.ITIMER_REAL)  # pytest uses it as well
    monkeypatch.setattr(signals, "_handled", signals._handled)
    handle_signals()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
    signal.setitimer(signal.ITIMER_REAL, left_s)


def wait_after(*steps: Callable[[], object]) -> None:
    """Run *steps*, which drop the error of a signal, and wait as for a response of Kinesis. The next error may come at any time."""
    for step in steps:
        with suppress(SignalError):
            step()
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        time.sleep(1)
    pytest.fail("nothing ends the wait")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_a_response_is_cleaned_up(number: signal.Signals) -> None:
    """Python drops what it raises there, on some releases without a word. The command ends all the same."""
    with pytest.raises(TerminatedError) as ended:
        wait_after(lambda: Response(number))
    assert ended.value.arrive() == 128 + number


@pytest.mark.parametrize("times", [1, 3])
def test_code_that_handles_all_errors(times: int) -> None:
    """However often an error is dropped, the next one comes."""
    with pytest.raises(TerminatedError) as ended:
        wait_after(lambda: signal.raise_signal(signal.SIGTERM), *[wait_after] * times)
    ended.value.arrive()


def test_an_error_that_arrives_is_the_last_one() -> None:
    """While it is on its way, and once it has arrived, nothing breaks off what is cleaned up."""
    try:
        signal.raise_signal(signal.SIGTERM)
    except TerminatedError as error:
        try:
            time.sleep(5 * signals._SOON_S)
        finally:
            status = error.arrive()
    time.sleep(5 * signals._SOON_S)
    assert status == Status.TERMINATED


def test_a_reader_that_is_gone() -> None:
    """Its signal comes only once, and so the error lasts."""

    def lose_it() -> None:
        raise lasting(ReaderGoneError)

    with pytest.raises(ReaderGoneError) as ended:
        wait_after(lose_it)
    assert ended.value.arrive() == Status.READER_GONE


def test_the_wait_of_a_command_that_writes() -> None:
    """A signal ends it also where the error is dropped."""
    with Stopping() as stopping:
        with suppress(StoppedError), stopping.waiting():
            Response(signal.SIGTERM)
            wait_after()
        assert stopping.status == Status.TERMINATED


def test_work_that_is_half_done() -> None:
    """The wait in which an error was dropped has ended since: what was read is written."""
    with Stopping() as stopping:
        with stopping.waiting():
            Response(signal.SIGTERM)
        time.sleep(5 * signals._SOON_S)
        with pytest.raises(StoppedError), stopping.waiting():
            pytest.fail("it waits")
