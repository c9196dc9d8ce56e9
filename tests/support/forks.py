"""
Runs the command `kinesis` as forks of one process that has imported it, which every test process has for itself.

A fork is a process of its own, with its own environment, signals, threads and standard streams. It only leaves out what takes
most of a command's time: that Python starts and imports modules.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import json
import os
import pkgutil
import signal
import socket
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from typing import Any, TextIO

_NUMBER = struct.Struct("!i")
_HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)
"""Signals whose meaning is another one in the process that forks, or in a command."""


class Fork:
    """A command that was started. It has the methods of a `Popen`."""

    def __init__(self, server: socket.socket) -> None:
        self._server = server
        self.pid = self._receive()
        self._status: int | None = None

    def poll(self) -> int | None:
        """Return the exit status if the command has ended."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self._status

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end, and return the exit status. A signal that ended it is negative."""
        if self._status is None:
            self._server.settimeout(timeout)
            try:
                self._status = self._receive()
            except (BlockingIOError, TimeoutError):
                raise subprocess.TimeoutExpired("kinesis", timeout or 0) from None
            self._server.close()
        return self._status

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the command has ended."""
        with suppress(ProcessLookupError):
            if self.poll() is None:
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _receive(self) -> int:
        number: int = _NUMBER.unpack(self._server.recv(_NUMBER.size))[0]
        return number


def fork(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    streams: tuple[int, int, int],
    *,
    on_terminal: bool = False,
) -> Fork:
    """Start a command with *streams* as its standard streams. *on_terminal*, they are those of its terminal."""
    read_at_start = [name for name in environment if name.startswith(("PYTHON", "LANG", "LC_"))]
    assert not read_at_start, f"Python reads {read_at_start} when it starts, which a fork does not."
    ours, theirs = socket.socketpair()
    with theirs:
        socket.send_fds(_control(), [b"."], [*streams, theirs.fileno()])
    ours.sendall(json.dumps([arguments, dict(environment), os.getcwd(), on_terminal]).encode())
    ours.shutdown(socket.SHUT_WR)
    return Fork(ours)


def take_terminal() -> None:
    """Let the standard input be the terminal of this process, where Ctrl-C comes from."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@cache
def _control() -> socket.socket:
    """Return the connection to the process that forks. It ends when the connection does."""
    ours, theirs = socket.socketpair()
    with theirs:
        code = f"import sys; sys.path[:] = {sys.path!r}; from support.forks import serve; serve({theirs.fileno()})"
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            env={},  # it starts with the locale of a command, which has no variable for it
        )

    def end() -> None:
        ours.shutdown(socket.SHUT_RDWR)
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def serve(control: int) -> None:
    """Fork a command for each request, and report its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests
    _import_the_command()
    gc.collect()
    gc.freeze()  # what is never looked at stays shared memory
    running: dict[int, socket.socket] = {}

    def report(*_: Any) -> None:
        while running:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            with running.pop(pid) as client, suppress(OSError):  # nobody may ask any more
                client.sendall(_NUMBER.pack(os.waitstatus_to_exitcode(status)))

    signal.signal(signal.SIGCHLD, report)
    with socket.socket(fileno=control) as requests:
        while (received := socket.recv_fds(requests, 1, 4))[0]:
            *streams, descriptor = received[1]
            client = socket.socket(fileno=descriptor)
            signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)  # they wait until they mean the right thing
            pid = os.fork()
            if not pid:
                requests.close()
                for other in running.values():
                    other.close()
                _become(client, streams)
            running[pid] = client
            client.sendall(_NUMBER.pack(pid))
            for stream in streams:
                os.close(stream)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)


def _import_the_command() -> None:
    import kinesis_cli

    for module in pkgutil.walk_packages(kinesis_cli.__path__, "kinesis_cli."):
        if module.name != "kinesis_cli.__main__":
            import_module(module.name)
    threads = os.listdir("/proc/self/task")  # also those of libraries
    assert len(threads) == 1, f"{len(threads)} threads run, and a fork has one of them only."


def _reopened(stream: TextIO) -> TextIO:
    """Return a standard stream as Python makes it at its start, when it looks whether it is a terminal."""
    mode = "r" if stream is sys.stdin else "w"
    buffering = 1 if stream is sys.stderr else -1
    reopened = open(stream.fileno(), mode, buffering, stream.encoding, stream.errors, closefd=False)  # noqa: SIM115 # until its end
    assert isinstance(reopened, TextIOWrapper)
    return reopened


def _become(client: socket.socket, streams: Sequence[int]) -> None:
    """Let this fork be the command that *client* asks for."""
    with client:
        request = b"".join(iter(lambda: client.recv(65536), b""))
    arguments, environment, folder, on_terminal = json.loads(request)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = map(_reopened, (sys.stdin, sys.stdout, sys.stderr))
    if on_terminal:
        take_terminal()
    os.chdir(folder)
    os.environ.update(environment)
    sys.argv = ["kinesis", *arguments]
    for number in _HANDLED:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
    from kinesis_cli.main import run

    run()
