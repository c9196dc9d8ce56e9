"""What a signal does to a command: it raises an error, and raises it again where Python or a library has dropped it."""

from __future__ import annotations

# Until `handle_signals` is called, Ctrl-C shows a traceback. So only `signal` is imported here.
import signal

from kinesis_cli.ending import Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import NoReturn

_SOON_S = 0.01
"""Where an error is dropped again, because the same code still runs, it is raised once more after so long."""


class SignalError(BaseException):
    """A signal has come. It passes through `except Exception`, as KeyboardInterrupt does."""

    _make_again: Callable[[], SignalError] | None = None
    """Makes what is raised if this one is dropped."""

    def __init__(self, status: Status) -> None:
        super().__init__()
        self.status = status
        """The exit status of the command."""

    def arrive(self) -> Status:
        """Return the exit status to end with. From now on the error may be dropped."""
        self._make_again = None
        return self.status

    def is_due(self) -> bool:
        """Return whether the error is raised again if it is dropped now."""
        return self._make_again is not None

    def __del__(self) -> None:
        global _dropped
        if _handled and self.is_due():
            _dropped = self._make_again
            # A timer interrupts also what waits for Kinesis.
            signal.setitimer(signal.ITIMER_REAL, _SOON_S)


class ReaderGoneError(SignalError):
    """Nobody reads the standard output any more. It is no OSError: libraries handle those of their own connections."""

    def __init__(self) -> None:
        super().__init__(Status.READER_GONE)


class TerminatedError(SignalError):
    """The signal SIGINT, SIGTERM or SIGHUP has come."""


_dropped: Callable[[], SignalError] | None = None
_handled = False


def lasting(make: Callable[[], SignalError]) -> SignalError:
    """
    Return the error that *make* makes, for `raise`. If it is dropped before `arrive` is called, another one is raised.

    Python drops all errors while it cleans up an object, and HTTP responses are cleaned up all the time. So without this, one
    signal of some hundreds would be without effect.
    """
    error = make()
    error._make_again = make
    return error


def handle_signals() -> None:
    """Let signals raise a TerminatedError, but for those that nohup or a shell has switched off."""
    global _handled
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _terminate)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _raise_dropped)
        _handled = True


def ignore_signals() -> None:
    """Ignore all signals that would end a command: it ends already."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGPIPE", "SIGALRM"):
        if number := getattr(signal, name, None):
            signal.signal(number, signal.SIG_IGN)


def _terminate(number: int, _frame: FrameType | None) -> NoReturn:
    if number not in (signal.SIGINT, signal.SIGTERM):
        # The kernel and the shell both send SIGHUP: the second one breaks off nothing.
        signal.signal(number, signal.SIG_IGN)
    raise lasting(lambda: TerminatedError(Status(128 + number)))


def _raise_dropped(_number: int, _frame: FrameType | None) -> None:
    if _dropped is None or not (error := lasting(_dropped)).is_due():
        return
    try:
        raise error
    finally:
        del error  # its traceback has this frame, and would keep it
