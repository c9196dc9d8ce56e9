"""A system that refuses threads."""

from __future__ import annotations

import threading

import pytest
from attrs import define, field


@define
class FewThreads:
    """Refuses each thread after the first *left* ones, as a system does at a limit."""

    left: int
    started: list[str] = field(factory=list)
    """The names of the threads that were started."""

    def allow(self, monkeypatch: pytest.MonkeyPatch) -> FewThreads:
        start = threading.Thread.start

        def refuse_or_start(thread: threading.Thread) -> None:
            if self.left <= 0:
                raise RuntimeError("can't start new thread")
            self.left -= 1
            self.started.append(thread.name)
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", refuse_or_start)
        return self
