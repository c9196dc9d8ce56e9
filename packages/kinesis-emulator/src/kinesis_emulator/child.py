"""A server of this package in a child process, which ends with its parent."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import TypeVar

READY = "kinesis-emulator listens on "
"""The first line of a child's output begins with this. The endpoint's URL follows."""
_STOP_S = 5
_PARENT_CHECK_S = 0.25

C = TypeVar("C", bound="ChildProcess")


class ChildProcess:
    """
    A child process that runs a module of this package; a context manager.

    It ends with the `with` block, and by itself when this process dies, whatever the cause.
    """

    def __init__(self, module: str, options: Sequence[str]) -> None:
        self._command = [sys.executable, "-m", module, "--parent-pid", str(os.getpid()), *options]
        self._child: subprocess.Popen[str] | None = None
        self.endpoint_url = ""
        """Set by `start`."""

    @property
    def port(self) -> int:
        return int(self.endpoint_url.rpartition(":")[2])

    @property
    def pid(self) -> int:
        return self._running().pid

    def start(self) -> None:
        """
        Start the child, and return when it listens.

        Raises:
            RuntimeError: It cannot start. The message has its error output.
        """
        # Errors go to a file, because a pipe would fill up unread. The child has its own session, so that Ctrl-C
        # reaches only the program, which can finish while the emulator still runs.
        with tempfile.TemporaryFile("w+") as errors:
            child = subprocess.Popen(  # noqa: S603 - our own module
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
            line = child.stdout.readline() if child.stdout else ""
            if not line.startswith(READY):
                child.communicate()
                errors.seek(0)
                raise RuntimeError(f"The Kinesis emulator did not start: {(line + errors.read()).strip()}")
        self._child = child
        self.endpoint_url = line.removeprefix(READY).strip()

    def stop(self) -> None:
        """End the child, by force if it has not ended after 5 seconds."""
        child, self._child = self._running(), None
        child.terminate()
        try:
            child.communicate(timeout=_STOP_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()

    def _running(self) -> subprocess.Popen[str]:
        if self._child is None:
            raise RuntimeError(
                "The emulator is not running. Use it in a `with` block, or call `start` first."
            )
        return self._child

    def __enter__(self: C) -> C:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()


def wait_until_stopped(stopped: threading.Event, parent_pid: int | None) -> None:
    """Wait for a signal, or until the parent has ended: then this process gets another parent."""
    if parent_pid is None:
        stopped.wait()
        return
    while not stopped.wait(_PARENT_CHECK_S):
        if os.getppid() != parent_pid:
            return
