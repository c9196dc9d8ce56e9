"""Runs the command `kinesis` as its users do: as a process, in a pipe or on a terminal."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

KINESIS = str(Path(sys.executable).with_name("kinesis"))
PATIENCE_S = 60.0
"""A command that takes longer hangs."""


@frozen
class Ran:
    """A command that has ended."""

    status: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()


@frozen
class CommandLine:
    """A terminal whose environment leads to one Kinesis."""

    environment: Mapping[str, str]

    def __call__(self, *arguments: str, stdin: bytes = b"", status: int | None = 0) -> Ran:
        """Run `kinesis` with *arguments* to its end. It ends with *status*, unless that is None."""
        done = subprocess.run(
            [KINESIS, *arguments], input=stdin, capture_output=True, env=self.environment, timeout=PATIENCE_S
        )
        ran = Ran(done.returncode, done.stdout, done.stderr.decode())
        assert status is None or ran.status == status, ran
        return ran

    def without_reader(self, *arguments: str) -> Ran:
        """Run `kinesis` with *arguments*, with a pipe as its standard output that nobody reads any more."""
        reading, writing = os.pipe()
        os.close(reading)
        try:
            return self._writing_to(writing, arguments)
        finally:
            os.close(writing)

    def into(self, path: str, *arguments: str) -> Ran:
        """Run `kinesis` with *arguments*, with the file *path* as its standard output."""
        with open(path, "wb") as file:
            return self._writing_to(file.fileno(), arguments)

    def _writing_to(self, descriptor: int, arguments: tuple[str, ...]) -> Ran:
        done = subprocess.run(
            [KINESIS, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=subprocess.PIPE,
            env=self.environment,
            timeout=PATIENCE_S,
        )
        return Ran(done.returncode, b"", done.stderr.decode())

    @contextmanager
    def started(self, *arguments: str, under: Sequence[str] = ()) -> Iterator[Following]:
        """
        Start `kinesis` with *arguments*, *under* another command such as `nohup`.

        At the end of the block it is killed if it still runs.
        """
        process = subprocess.Popen(
            [*under, KINESIS, *arguments],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            yield Following(process)
        finally:
            process.kill()
            process.communicate()

    def on_terminal(self, *arguments: str, size: tuple[int, int] = (100, 30)) -> Ran:
        """Run `kinesis` on a terminal of its own with *size* columns and lines. Both its outputs are in `out`."""
        with self.terminal(*arguments, size=size) as terminal:
            return terminal.rest()

    @contextmanager
    def terminal(self, *arguments: str, size: tuple[int, int] = (100, 30)) -> Iterator[Terminal]:
        """Start `kinesis` on a terminal of its own."""
        columns, lines = size
        environment = {
            "TERM": "xterm-256color",
            **self.environment,
            "COLUMNS": str(columns),
            "LINES": str(lines),
        }
        pid, descriptor = pty.fork()
        if pid == 0:
            os.execve(KINESIS, [KINESIS, *arguments], environment)  # noqa: S606
        terminal = Terminal(pid, descriptor)
        try:
            yield terminal
        finally:
            terminal.close()


class Following:
    """A command that runs, in pipes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        assert process.stdout is not None
        self._out = process.stdout

    def lines(self, count: int) -> list[str]:
        """Wait for the next *count* lines of its standard output, and return them."""
        found = [self._out.readline().decode() for _ in range(count)]
        assert all(line.endswith("\n") for line in found), (found, self.process.poll())
        return [line[:-1] for line in found]

    def interrupt(self) -> Ran:
        """Press Ctrl-C, and wait for the end."""
        return self.end(signal.SIGINT)

    def end(self, number: signal.Signals) -> Ran:
        """Send a signal, and wait for the end."""
        self.process.send_signal(number)
        return self.rest()

    def rest(self) -> Ran:
        """Wait for the end."""
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return Ran(self.process.returncode, out, err.decode())


class Terminal:
    """A command that runs on a terminal."""

    def __init__(self, pid: int, descriptor: int) -> None:
        self._pid, self._descriptor, self._shown = pid, descriptor, b""
        self._status: int | None = None

    def wait_for(self, text: str) -> None:
        """Wait until *text* has been shown since the last such call."""
        deadline_s = time.monotonic() + PATIENCE_S  # a screen that is refreshed shows something all the time
        while text.encode() not in self._shown:
            assert time.monotonic() < deadline_s, f"{text!r} is not among {self._shown!r}"
            assert self._read(), f"ended without {text!r}: {self._shown!r}"
        self._shown = self._shown.partition(text.encode())[2]

    def type(self, keys: str) -> None:
        """Press *keys*."""
        os.write(self._descriptor, keys.encode())

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, as another program does."""
        os.kill(self._pid, number)

    def rest(self) -> Ran:
        """Wait for the end."""
        while self._read():
            pass
        return Ran(self._wait(), self._shown, "")

    def close(self) -> None:
        """End the command if it still runs."""
        if self._status is None:
            os.kill(self._pid, signal.SIGKILL)
            self._wait()
        os.close(self._descriptor)

    def _read(self) -> bool:
        """Read what is shown next. Return False at the end."""
        ready, _, _ = select.select([self._descriptor], [], [], PATIENCE_S)
        assert ready, f"nothing more was shown after {self._shown!r}"
        try:
            shown = os.read(self._descriptor, 65536)
        except OSError:  # how Linux reports the end of a terminal
            return False
        self._shown += shown
        return bool(shown)

    def _wait(self) -> int:
        _, status = os.waitpid(self._pid, 0)
        self._status = os.waitstatus_to_exitcode(status)
        return self._status
