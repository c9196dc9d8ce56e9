"""
The end of the process: what writers hold is written first.

At an orderly end, by the last statement, an exception or `sys.exit`, the process waits for its writers. SIGTERM stops all
groups. Once there are none, it ends the program as by default, after the writers have written what they hold.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from typing import Protocol

from attrs import define, field

_KILLED = 128 + signal.SIGTERM
"""The exit status in the first process of a container, where SIGTERM does nothing by default."""


class Local(Protocol):
    """Something whose threads run in one process."""

    @property
    def is_here(self) -> bool:
        """Whether that is this process, and not the one that it was forked from."""
        ...


class Stoppable(Local, Protocol):
    """The threads of a group."""

    is_stopping: bool


class Writer(Local, Protocol):
    """Holds records that will be written, and removes itself from the `Termination` once nothing is left."""

    def end_soon(self) -> None:
        """Write what is held, in other threads, and end. Returns at once. A signal may call it at any instruction."""
        ...

    def join(self) -> None:
        """Wait for the end."""
        ...

    def log_unwritten(self) -> None:
        """Log what is not written, because the wait for the end is interrupted."""
        ...


@define(
    repr=False
)  # `signal.getsignal` formats a handler that is no enum, and so would show all that writers hold
class Termination:
    """
    The handler of SIGTERM, the groups that it stops, and the writers that the end of the process waits for.

    It takes no lock, because the interrupted code could hold it: each method uses the sets once, which is atomic.
    """

    _groups: set[Stoppable] = field(factory=set, init=False)
    _writers: set[Writer] = field(factory=set, init=False)
    _has_stopped: bool = field(default=False, init=False)
    """Whether a signal has stopped the groups. Another one before their end is part of the same request."""
    is_ending: bool = field(default=False, init=False)
    """Whether a signal must end the program once all groups and writers have ended."""
    _finalized_process: int | None = field(default=None, init=False)
    """The process of `multiprocessing` whose end waits for the writers."""

    def add(self, group: Stoppable) -> None:
        """Stop *group*, too."""
        self._groups.add(group)
        self._handle()

    def remove(self, group: Stoppable) -> None:
        """Leave *group* alone: it is closed. Idempotent."""
        self._groups.discard(group)
        if self._here():
            return
        self._has_stopped = False
        if self.is_ending:
            self._end()
        else:
            self._settle()

    def add_writer(self, writer: Writer) -> None:
        """Let the end of the process wait for *writer*."""
        self._writers.add(writer)
        self._handle()
        util = sys.modules.get("multiprocessing.util")
        if (
            util
            and sys.modules["multiprocessing.process"].parent_process()
            and self._finalized_process != os.getpid()
        ):
            # Such a process, if it is a fork, ends without atexit.
            self._finalized_process = os.getpid()
            util.Finalize(None, self.finish_writers, exitpriority=0)

    def remove_writer(self, writer: Writer) -> None:
        """Leave *writer* alone: it holds nothing any more. Idempotent."""
        self._writers.discard(writer)
        self._settle()

    def finish_writers(self) -> None:
        """Wait until all writers have written what they hold, or have failed to."""
        try:
            for writer in self._writers_here():
                writer.end_soon()
            for writer in self._writers_here():
                writer.join()
        except BaseException:
            for writer in self._writers_here():
                writer.log_unwritten()
            raise

    def on_signal(self, number: int, _: object) -> None:
        """Stop all groups. Without any, end the process. A fork has inherited this handler, but neither groups nor writers."""
        groups = self._here()
        if not groups:
            signal.signal(number, signal.SIG_DFL)  # another signal ends the process at once
            self.is_ending = True
            self._end()
        elif all(group.is_stopping for group in groups):
            self.is_ending = not self._has_stopped
        else:
            self._has_stopped = True
            for group in groups:
                group.is_stopping = True

    def _end(self) -> None:
        """End the process after its writers."""
        for writer in self._writers_here():
            writer.end_soon()
        self._settle()

    def _handle(self) -> None:
        """Handle SIGTERM. Only the main thread can set the handler, and it leaves one of the program's own alone."""
        if _is_main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self.on_signal)

    def _settle(self) -> None:
        """If no group and no writer is left, the default is back, and ends the process if a signal asked for it."""
        if self._here() or self._writers_here():
            return
        if _is_main_thread() and signal.getsignal(signal.SIGTERM) == self.on_signal:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if self.is_ending:
            self.is_ending = False
            os.kill(os.getpid(), signal.SIGTERM)
            if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
                os._exit(_KILLED)

    def _here(self) -> list[Stoppable]:
        return [group for group in list(self._groups) if group.is_here]

    def _writers_here(self) -> list[Writer]:
        return [writer for writer in list(self._writers) if writer.is_here]


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


TERMINATION = Termination()
"""That of this process."""
atexit.register(TERMINATION.finish_writers)
