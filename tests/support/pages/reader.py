"""A reader of the documentation: pastes code blocks into a terminal, into files and into Python."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from . import cells
from .blocks import Block, Use

TIMEOUT_S = 600
"""Time for one block. It ends a block that hangs, and none that is slow."""
LOOPBACK = ("127.", "::1", "::ffff:127.")
SAVE = 'trap \'status=$?; env -0 >"$SAVED/environment"; pwd >"$SAVED/folder"; exit $status\' EXIT\nset -e\n'
"""What keeps the exported variables and the folder of a terminal from one block to the next."""


class FailedError(AssertionError):
    """A block did not do what its page promises."""


class Reader:
    """Somebody with a terminal in *folder*. The output of everything goes to the file `output` in *log_folder*."""

    def __init__(self, folder: Path, environment: Mapping[str, str], log_folder: Path) -> None:
        log_folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.environment, self._logs = folder, dict(environment), log_folder
        self._new_terminal = dict(environment)
        self.output = log_folder / "output"
        self._log = self.output.open("ab")
        self._services: list[subprocess.Popen[bytes]] = []
        self._python: subprocess.Popen[bytes] | None = None
        self._reports = -1

    def follow(self, page: Iterable[Block]) -> None:
        """Do what the blocks of a page say, in their order."""
        for block in page:
            self._write(f"\n--- {block.language} {block.title}\n{block.text}--- output\n")
            match block.use:
                case Use.FILE:
                    path = self.folder / block.title
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(block.text, encoding="utf-8")
                case Use.COMMANDS:
                    self._paste_commands(block.text)
                case Use.SERVICE:
                    self._start_service(block.text)
                case Use.CELL:
                    self._paste_cell(block.text)
        self._end_python()

    def close(self) -> None:
        """End everything that still runs."""
        for process in [*self._services, *([self._python] if self._python else [])]:
            _kill(process)
        self._log.close()

    def _paste_commands(self, text: str) -> None:
        terminal = self._start(["bash", "-c", SAVE + text], self.environment, self.folder)
        try:
            status: object = terminal.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            status = f"still running after {TIMEOUT_S} s"
        finally:
            _kill(terminal)
        if status != 0:
            self._fail(f"status {status}")
        saved = (self._logs / "environment").read_bytes().decode().split("\0")
        self.environment = dict(entry.split("=", 1) for entry in saved if "=" in entry)
        self.folder = Path((self._logs / "folder").read_text().strip())

    def _start_service(self, text: str) -> None:
        """Start a program in a new terminal, and wait until it listens. Only this machine may reach it."""
        service = self._start(["bash", "-c", text], self._new_terminal, Path(self._new_terminal["HOME"]))
        self._services.append(service)
        deadline = time.monotonic() + TIMEOUT_S
        while not (addresses := list(_listening(service.pid))):
            if service.poll() is not None or time.monotonic() > deadline:
                self._fail(f"listens nowhere, status {service.returncode}")
            time.sleep(0.05)  # until a program that is not ours has started
        if not all(address.startswith(LOOPBACK) for address in addresses):
            self._fail(f"other machines can reach it at {addresses}")

    def _paste_cell(self, text: str) -> None:
        if self._python is None:
            self._reports, written = os.pipe()
            command = ["python", cells.__file__, str(written)]
            self._python = self._start(
                command, self.environment, self.folder, stdin=subprocess.PIPE, pass_fds=(written,)
            )
            os.close(written)
        assert self._python.stdin is not None
        self._python.stdin.write(json.dumps(text).encode() + b"\n")
        self._python.stdin.flush()
        readable, _, _ = select.select([self._reports], [], [], TIMEOUT_S)
        if not readable or os.read(self._reports, 1) != cells.DONE:
            self._fail("the cell failed" if readable else f"the cell still ran after {TIMEOUT_S} s")

    def _end_python(self) -> None:
        if self._python is None:
            return
        python, self._python = self._python, None
        assert python.stdin is not None
        python.stdin.close()
        try:
            if python.wait(TIMEOUT_S):
                self._fail(f"Python ended with status {python.returncode}")
        finally:
            os.close(self._reports)
            _kill(python)

    def _start(
        self,
        command: list[str],
        environment: Mapping[str, str],
        folder: Path,
        stdin: int = subprocess.DEVNULL,
        pass_fds: tuple[int, ...] = (),
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            cwd=folder,
            env={**environment, "SAVED": str(self._logs)},
            stdin=stdin,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            pass_fds=pass_fds,
            start_new_session=True,  # so that all that it starts can be ended with it
        )

    def _write(self, text: str) -> None:
        self._log.write(text.encode())
        self._log.flush()

    def _fail(self, why: str) -> None:
        lines = self.output.read_text(errors="replace").splitlines()
        shown = [line for line in lines if not line.startswith("\tat ")]  # the JVM's own frames
        raise FailedError("\n".join([*shown[-100:], f"*** {why}"]))


@contextmanager
def reader(folder: Path, environment: Mapping[str, str], log_folder: Path) -> Iterator[Reader]:
    """Yield a reader, whose programs all end with it."""
    person = Reader(folder, environment, log_folder)
    try:
        yield person
    finally:
        person.close()


def _listening(session: int) -> Iterator[str]:
    """Yield the addresses at which the programs of a session accept connections."""
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            if os.getsid(process.pid) == session:
                for connection in process.net_connections(kind="tcp"):
                    if connection.status == psutil.CONN_LISTEN:
                        yield connection.laddr.ip


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
