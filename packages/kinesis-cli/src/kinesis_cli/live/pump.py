"""Calls a source again and again, in a daemon thread: a program that ends does not wait for a call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from attrs import define, field

T = TypeVar("T")


@define
class Pump(Generic[T]):
    """Delivers what *fetch* returns or raises, every *every_s* seconds. A failed call is made again after *after_error_s*."""

    fetch: Callable[[], T]
    deliver: Callable[[T | Exception], object]
    """It is called in the thread."""
    every_s: float
    after_error_s: float = 5.0
    _is_running: threading.Event = field(factory=threading.Event, init=False)
    _is_stopped: threading.Event = field(factory=threading.Event, init=False)

    def start(self) -> None:
        """Start the thread."""
        self._is_running.set()
        threading.Thread(target=self._work, name="kinesis-top", daemon=True).start()

    def stop(self) -> None:
        """Make no further call. It does not wait for one that is under way, whose result is dropped."""
        self._is_stopped.set()
        self._is_running.set()

    def pause(self) -> None:
        """Make no further call until `resume`."""
        self._is_running.clear()

    def resume(self) -> None:
        self._is_running.set()

    def _work(self) -> None:
        while not self._is_stopped.is_set():
            self._is_running.wait()
            result: T | Exception
            try:
                result = self.fetch()
            except Exception as error:  # noqa: BLE001 # the receiver shows it, or ends with it
                result = error
            if self._is_stopped.is_set():
                return
            if self._is_running.is_set():
                self.deliver(result)
            self._is_stopped.wait(self.after_error_s if isinstance(result, Exception) else self.every_s)
