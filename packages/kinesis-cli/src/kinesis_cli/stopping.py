"""Ends a command that writes: the first signal stops its reading, and a second Ctrl-C or SIGTERM ends it at once."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

from attrs import define, field

from kinesis_cli.ending import Status
from kinesis_cli.signals import SignalError, TerminatedError, lasting

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


class StoppedError(SignalError):
    """The command reads no more. It is raised inside `Stopping.waiting` only, where nothing is half done."""

    def __init__(self, status: Status, stopping: Stopping) -> None:
        super().__init__(status)
        self._stopping = stopping

    def is_due(self) -> bool:
        return super().is_due() and self._stopping.is_waiting


@define
class Stopping:
    """
    Whether a command has been told to stop. A context manager: afterwards the signals mean what they did before.

    Without it, Ctrl-C would break off in the middle of the producer's work, and nobody would know what is written.
    """

    status: Status | None = None
    """The exit status, once a signal has come."""
    is_waiting: bool = field(default=False, init=False)
    """Whether it is inside `waiting`."""
    _before: dict[signal.Signals, Any] = field(factory=dict, init=False)

    def __enter__(self) -> Stopping:
        numbers = [signal.Signals[name] for name in _NAMES if hasattr(signal, name)]
        wanted = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._stop) for number in wanted}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """
        Let a signal break off what the block waits for.

        Raises:
            StoppedError: A signal has come, or comes in the block.
        """
        self.is_waiting = True
        try:
            if self.status is not None:
                raise StoppedError(self.status, self)
            yield
        finally:
            self.is_waiting = False

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        if self.status is not None:
            if number not in (signal.SIGINT, signal.SIGTERM):
                return  # the kernel and the shell both send SIGHUP: nobody asks for a hasty end
            raise lasting(lambda: TerminatedError(Status(128 + number)))
        self.status = status = Status(128 + number)
        if self.is_waiting:
            raise lasting(lambda: StoppedError(status, self))
