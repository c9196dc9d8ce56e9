"""A program that prints events as JSON lines, and does what lines on its standard input say."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from attrs import define, field

T = TypeVar("T")
Event = dict[str, Any]
DEADLINE_S = 300.0
"""How long to wait for an event by default. It ends a test that fails, so it is long."""


class EventProcessError(AssertionError):
    """The program did not do in time what the test waits for."""


@define(eq=False)
class EventProcess:
    """A running program. A context manager that kills it at the end."""

    command: Sequence[str]
    log: Path
    """The file for its standard error."""
    environment: Mapping[str, str] | None = None
    """The variables of the program, or None for those of this process."""
    at_end: Callable[[], Event] | None = None
    """Returns a last event, once the program has ended: what it leaves behind."""
    _child: subprocess.Popen[str] = field(init=False)
    _reader: threading.Thread = field(init=False)
    _events: list[Event] = field(init=False, factory=list)
    _changed: threading.Condition = field(init=False, factory=threading.Condition)
    _is_over: bool = field(init=False, default=False)

    def __attrs_post_init__(self) -> None:
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                list(self.command),
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self._reader = threading.Thread(target=self._read, name="events", daemon=True)
        self._reader.start()

    def __enter__(self) -> EventProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def _read(self) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            event = json.loads(line) if line.startswith("{") else {"event": "printed", "line": line}
            with self._changed:
                self._events.append(event)
                self._changed.notify_all()
        try:
            last = [self.at_end()] if self.at_end is not None else []
            with self._changed:
                self._events += last
        finally:
            with self._changed:
                self._is_over = True
                self._changed.notify_all()

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def is_over(self) -> bool:
        """Whether the program has ended, and all its events are known."""
        return self._is_over

    def events(self, *kinds: str, **facts: Any) -> list[Event]:
        """Return the events until now, of these kinds and with these facts."""
        with self._changed:
            events = list(self._events)
        return [
            event
            for event in events
            if (not kinds or event["event"] in kinds) and facts.items() <= event.items()
        ]

    def wait_until(self, find: Callable[[], T], within_s: float = DEADLINE_S) -> T:
        """
        Return what *find* returns, once that is true. It is called after each event.

        Raises:
            EventProcessError: It did not happen in time, or the program has ended.
        """
        deadline = time.monotonic() + within_s
        with self._changed:
            while not (found := find()):
                rest_s = deadline - time.monotonic()
                if self._is_over or rest_s <= 0:
                    raise EventProcessError(self._describe(f"{within_s:.0f} s"))
                self._changed.wait(min(rest_s, 0.5))  # what is waited for may also be outside of the program
        return found

    def wait_for(self, kind: str, within_s: float = DEADLINE_S, **facts: Any) -> Event:
        """Return the first event of this kind with these facts."""
        return self.wait_until(lambda: self.events(kind, **facts), within_s)[0]

    def tell(self, *words: str) -> None:
        """Send a command."""
        assert self._child.stdin is not None
        self._child.stdin.write(" ".join(words) + "\n")
        self._child.stdin.flush()

    def wait(self, within_s: float = DEADLINE_S) -> None:
        """Wait for the end of the program."""
        self.wait_until(lambda: self._is_over, within_s)
        self._close()

    def kill(self) -> None:
        """End it at once, as `kill -9` does. Its events until then stay, and `killed` is the last one."""
        killed = {"event": "killed", "at": time.monotonic_ns()}
        was_over = self._child.poll() is not None
        self._child.kill()
        self._close()
        if not was_over:
            self._events.append(killed)

    def _close(self) -> None:
        self._child.wait()
        self._reader.join()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                pipe.close()

    def freeze(self) -> None:
        """Suspend it, as a long pause of its machine does."""
        self._child.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on after `freeze`."""
        self._child.send_signal(signal.SIGCONT)

    def _describe(self, waited: str) -> str:
        state = "has ended" if self._is_over else f"did not within {waited} what the test waits for"
        events = "\n".join(str(event)[:300] for event in self._events[-15:])
        log = self.log.read_text(errors="replace")[-4000:]
        return f"{' '.join(self.command[-40:])} {state}.\nIts last events:\n{events}\nIts log:\n{log}"
