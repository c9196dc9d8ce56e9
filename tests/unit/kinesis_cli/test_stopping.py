"""The first signal stops reading, a second one ends the command."""

from __future__ import annotations

import os
import signal

import pytest

from kinesis_cli import signals
from kinesis_cli.ending import Status
from kinesis_cli.signals import TerminatedError
from kinesis_cli.stopping import StoppedError, Stopping

CASES = [(signal.SIGINT, Status.INTERRUPTED), (signal.SIGTERM, Status.TERMINATED)]


@pytest.mark.parametrize(("number", "status"), CASES)
def test_work_is_finished_first(number: signal.Signals, status: Status) -> None:
    """Outside of `waiting` a signal is noted, and the next wait ends at once. A second signal breaks in anywhere."""
    with Stopping() as stopping:
        assert stopping.status is None
        os.kill(os.getpid(), number)
        assert stopping.status == status
        with pytest.raises(StoppedError), stopping.waiting():
            pytest.fail("it waits")
        with pytest.raises(TerminatedError):
            os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_waiting_ends(number: signal.Signals) -> None:
    """A signal breaks off what the command waits for."""
    with Stopping() as stopping, pytest.raises(StoppedError), stopping.waiting():
        os.kill(os.getpid(), number)
    assert stopping.status is not None


def test_the_terminal_is_gone() -> None:
    """The kernel and the shell both send SIGHUP. The second one does not break off the work."""
    with Stopping() as stopping:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGHUP)
        assert stopping.status == Status.HUNG_UP
        with pytest.raises(StoppedError), stopping.waiting():
            pytest.fail("it waits")


def test_ignored_signals_stay_ignored() -> None:
    """What nohup or a shell has switched off is not switched on."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Stopping() as stopping:
            os.kill(os.getpid(), signal.SIGHUP)
            assert stopping.status is None
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_handlers_are_restored() -> None:
    """Afterwards the signals mean what they did before."""
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with Stopping():
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_the_terminal_is_gone_of_a_command_that_reads() -> None:
    """The first SIGHUP ends it. The second one, from the shell, does not break off what is cleaned up then."""
    before = signal.signal(signal.SIGHUP, signals._terminate)
    try:
        with pytest.raises(TerminatedError) as ended:
            signal.raise_signal(signal.SIGHUP)
        assert ended.value.status == Status.HUNG_UP
        signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
