"""SIGTERM stops all groups of the process. Once there are none, it ends the program as by default."""

from __future__ import annotations

import os
import signal
import threading
from typing import Protocol

from attrs import define, field


class Stoppable(Protocol):
    """The threads of a group."""

    is_stopping: bool

    @property
    def is_here(self) -> bool:
        """Whether they run in this process, and not in the one that it was forked from."""
        ...


@define
class Termination:
    """
    The handler of SIGTERM, and the groups that it stops.

    It takes no lock, because the interrupted code could hold it: each method uses the set once, which is atomic.
    """

    _groups: set[Stoppable] = field(factory=set, init=False)
    _has_stopped: bool = field(default=False, init=False)
    """Whether a signal has stopped the groups. Another one before their end is part of the same request."""
    _is_owed: bool = field(default=False, init=False)
    """Whether a signal came while all groups were ending for another reason. The program has to end after them."""

    def add(self, group: Stoppable) -> None:
        """Stop *group*, too. Only the main thread can set the handler, and it leaves one of the program's own alone."""
        self._groups.add(group)
        if _is_main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self.on_signal)

    def remove(self, group: Stoppable) -> None:
        """Leave *group* alone: it is closed. After the last one the default is back. Idempotent."""
        self._groups.discard(group)
        if self._here():
            return
        self._has_stopped = False
        if _is_main_thread() and signal.getsignal(signal.SIGTERM) == self.on_signal:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if self._is_owed:
            self._is_owed = False
            os.kill(os.getpid(), signal.SIGTERM)

    def on_signal(self, number: int, _: object) -> None:
        """Stop all groups. Without any, as in a fork that has inherited this handler, end the process by default."""
        groups = self._here()
        if not groups:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        elif all(group.is_stopping for group in groups):
            self._is_owed = not self._has_stopped
        else:
            self._has_stopped = True
            for group in groups:
                group.is_stopping = True

    def _here(self) -> list[Stoppable]:
        return [group for group in list(self._groups) if group.is_here]


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


TERMINATION = Termination()
"""That of this process."""
