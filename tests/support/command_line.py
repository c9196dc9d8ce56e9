"""
Runs the command `kinesis` as its users do: as a process, in a pipe or on a terminal.

A test of what a command does takes the fixture `kinesis`: its processes are forks, which are cheap. A test of how a command starts
takes `installed`: each of its processes is a new Python that runs the installed file.
"""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Protocol

from attrs import evolve, frozen

from kinesis_emulator import Emulator
from kinesis_emulator.client_settings import environment
from support.forks import fork, take_terminal
from support.waiting import PATIENCE_S

KINESIS = str(Path(sys.executable).with_name("kinesis"))


class Process(Protocol):
    """What a `Popen` and a `Fork` have."""

    pid: int

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, number: int, /) -> None: ...
    def kill(self) -> None: ...


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
    is_installed: bool = sys.platform != "linux"
    """Whether each process is a new Python that runs the installed file, and no fork."""

    def to(self, emulator: Emulator) -> CommandLine:
        """Return this with another emulator as its Kinesis."""
        return self.having(environment(emulator.endpoint_url, emulator.settings.region))

    def having(self, variables: Mapping[str, str]) -> CommandLine:
        """Return this with *variables* in its environment."""
        return evolve(self, environment={**self.environment, **variables})

    def __call__(self, *arguments: str, stdin: bytes = b"", status: int | None = 0) -> Ran:
        """Run `kinesis` with *arguments* to its end. It ends with *status*, unless that is None."""
        with self.started(*arguments) as running:
            ran = running.rest(stdin)
        assert status is None or ran.status == status, ran
        return ran

    def without_reader(self, *arguments: str) -> Ran:
        """Run `kinesis` with *arguments*, with a pipe as its standard output that nobody reads any more."""
        reading, writing = os.pipe()
        os.close(reading)
        with open(writing, "wb") as pipe, self.started(*arguments, stdout=pipe) as running:
            return running.rest()

    def into(self, path: str, *arguments: str) -> Ran:
        """Run `kinesis` with *arguments*, with the file *path* as its standard output."""
        with open(path, "wb") as file, self.started(*arguments, stdout=file) as running:
            return running.rest()

    @contextmanager
    def started(
        self,
        *arguments: str,
        under: Sequence[str] = (),
        stdout: IO[bytes] | None = None,
        stderr: IO[bytes] | None = None,
    ) -> Iterator[Following]:
        """
        Start `kinesis` with *arguments*, *under* another command such as `nohup`.

        *stdout* and *stderr* are files for its outputs instead of pipes. At the end of the block it is killed if it still runs.
        """
        with ExitStack() as files:
            (its_in, stdin), (out, its_out), (err, its_err) = (
                map(files.enter_context, _pipe()) for _ in range(3)
            )
            process = self._start(arguments, (its_in, stdout or its_out, stderr or its_err), under)
            for end in (its_in, its_out, its_err):
                end.close()
            try:
                yield Following(process, stdin, out, err)
            finally:
                process.kill()
                process.wait()

    def on_terminal(self, *arguments: str, size: tuple[int, int] = (100, 30)) -> Ran:
        """Run `kinesis` on a terminal of its own with *size* columns and lines. Both its outputs are in `out`."""
        with self.terminal(*arguments, size=size) as terminal:
            return terminal.rest()

    @contextmanager
    def terminal(self, *arguments: str, size: tuple[int, int] = (100, 30)) -> Iterator[Terminal]:
        """Start `kinesis` on a terminal of its own."""
        columns, lines = size
        sized = {"TERM": "xterm-256color", **self.environment, "COLUMNS": str(columns), "LINES": str(lines)}
        screen, its_end = pty.openpty()
        with open(screen, "r+b", buffering=0) as shown:
            with open(its_end, "r+b", buffering=0) as its:
                process = self.having(sized)._start(arguments, (its, its, its), on_terminal=True)
            try:
                yield Terminal(process, shown.fileno())
            finally:
                process.kill()
                process.wait()

    def _start(
        self,
        arguments: Sequence[str],
        streams: tuple[IO[bytes], IO[bytes], IO[bytes]],
        under: Sequence[str] = (),
        *,
        on_terminal: bool = False,
    ) -> Process:
        stdin, stdout, stderr = streams
        if not self.is_installed:
            assert not under, "A fork is started by nothing else."
            numbers = (stdin.fileno(), stdout.fileno(), stderr.fileno())
            return fork(arguments, self.environment, numbers, on_terminal=on_terminal)
        return subprocess.Popen(
            [*under, KINESIS, *arguments],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=self.environment,
            preexec_fn=take_terminal if on_terminal else None,
        )


def _pipe() -> tuple[IO[bytes], IO[bytes]]:
    reading, writing = os.pipe()
    return open(reading, "rb"), open(writing, "wb")


class Following:
    """A command that runs, in pipes."""

    def __init__(self, process: Process, stdin: IO[bytes], out: IO[bytes], err: IO[bytes]) -> None:
        self.process = process
        self._stdin, self._out, self.err = stdin, out, err

    def write(self, data: bytes) -> None:
        """Write *data* to its standard input."""
        self._stdin.write(data)
        self._stdin.flush()

    def lines(self, count: int) -> list[str]:
        """Wait for the next *count* lines of its standard output, and return them."""
        found = [self._out.readline().decode() for _ in range(count)]
        assert all(line.endswith("\n") for line in found), (found, self.process.poll())
        return [line[:-1] for line in found]

    def interrupt(self) -> Ran:
        """Press Ctrl-C, and wait for the end."""
        return self.end(signal.SIGINT)

    def end(self, number: signal.Signals, stdin: bytes = b"") -> Ran:
        """Send a signal, write *stdin* as the last of its standard input, and wait for the end."""
        self.process.send_signal(number)
        return self.rest(stdin)

    def rest(self, stdin: bytes = b"") -> Ran:
        """Write *stdin* as the last of its standard input, and wait for the end."""
        with ThreadPoolExecutor() as pool:
            writing = pool.submit(self._write_to_the_end, stdin)
            out, err = pool.submit(self._out.read), pool.submit(self.err.read)
            try:
                status = self.process.wait(PATIENCE_S)
            except BaseException:
                self.process.kill()  # the threads end with it
                raise
        writing.result()
        return Ran(status, out.result(), err.result().decode())

    def _write_to_the_end(self, data: bytes) -> None:
        with suppress(BrokenPipeError):  # it ended before it had read all
            self._stdin.write(data)
        with suppress(BrokenPipeError):
            self._stdin.close()


class Terminal:
    """A command that runs on a terminal."""

    def __init__(self, process: Process, descriptor: int) -> None:
        self.process, self._descriptor, self._shown = process, descriptor, b""

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

    def rest(self) -> Ran:
        """Wait for the end."""
        while self._read():
            pass
        return Ran(self.process.wait(PATIENCE_S), self._shown, "")

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
