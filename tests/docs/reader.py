"""A reader of the documentation: pastes code blocks into a terminal, into files and into Python."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import psutil  # type: ignore[import-untyped]

from support.waiting import PATIENCE_S

from . import prompt
from .blocks import Block, Use
from .prompt import SHELL, Prompt, kill

TIMEOUT_S = 600
"""Time for one block. It ends a block that hangs, and none that is slow."""
VARYING = {
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.,]\d{3}": r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.,]?\d*",  # a time
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z",  # a time, as our commands show it
    r"\d{12,}": r"\d+",  # a sequence number, or a time without signs
    r"_s=\d+\.\d+": r"_s=\d+\.\d+",  # a duration
    r"-{3,}": "-+",  # a column's width in a table, which Spark makes narrower if all its times end with 0
    r" *\|": r" *\|",
    r"/home/you": r"/\S+",
    r"\.\.\.": ".*",
}
"""What is different each time, and a pattern of all that may be printed in its place."""
PRINT_S = PATIENCE_S
"""Time for a service to print what its page shows."""
LOOPBACK = ("127.", "::1", "::ffff:127.")


class FailedError(AssertionError):
    """A block did not do what its page promises."""


class Reader:
    """Somebody with a terminal in *folder*. The output of everything goes to the file `output` in *log_folder*."""

    def __init__(self, folder: Path, environment: Mapping[str, str], log_folder: Path) -> None:
        log_folder.mkdir(parents=True, exist_ok=True)
        self._logs = log_folder
        self._new_terminal = {**environment, "SAVED": str(log_folder)}
        self.output = log_folder / "output"
        self._log = self.output.open("ab")
        self._terminal = Prompt(["bash", "-c", SHELL, "terminal"], self._new_terminal, folder, self._log)
        self._services: list[subprocess.Popen[bytes]] = []
        self._python: Prompt | None = None
        self._output_at = 0
        self._paste(self._terminal, "true")  # saves the folder and the variables

    @property
    def folder(self) -> Path:
        """The folder in which the terminal is."""
        return Path((self._logs / "folder").read_text().removesuffix("\n"))

    @property
    def environment(self) -> dict[str, str]:
        """The variables that the terminal exports."""
        saved = (self._logs / "environment").read_bytes().decode().split("\0")
        return dict(entry.split("=", 1) for entry in saved if "=" in entry)

    def follow(self, page: Iterable[Block]) -> None:
        """Do what the blocks of a page say, in their order."""
        wait_s = 0.0
        for block in page:
            if block.is_output:
                self._check_output(block.text, wait_s)
                continue
            wait_s = PRINT_S if block.use is Use.SERVICE else 0.0
            self._write(f"\n--- {block.language} {block.title}\n{block.text}--- output\n")
            self._output_at = self.output.stat().st_size
            match block.use:
                case Use.FILE:
                    path = self.folder / block.title
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(block.text, encoding="utf-8")
                case Use.COMMANDS:
                    self._paste(self._terminal, block.text)
                case Use.SERVICE:
                    self._start_service(block.text)
                case Use.CELL:
                    self._paste(self._open_python(), block.text)
        self._end_python()
        self.check_services()

    def close(self) -> None:
        """End everything that still runs."""
        self._terminal.kill()
        if self._python is not None:
            self._python.kill()
        for service in self._services:
            kill(service)
        self._log.close()

    def check_services(self) -> None:
        """Fail if other machines can reach a service now. Some open further ports after the first one."""
        for service in self._services:
            self._check_addresses(list(_listening(service.pid)))

    def _check_addresses(self, addresses: list[str]) -> None:
        if not all(address.startswith(LOOPBACK) for address in addresses):
            self._fail(f"other machines can reach it at {addresses}")

    def _paste(self, program: Prompt, text: str) -> None:
        if (why := program.paste(text, TIMEOUT_S)) is not None:
            self._fail(why)

    def _check_output(self, text: str, wait_s: float) -> None:
        """Fail if the block before does not print these lines within *wait_s*. It may print others, and in another order."""
        deadline = time.monotonic() + wait_s
        while (missing := self._missing(text)) is not None:
            if time.monotonic() > deadline:
                self._fail(f"the page shows this line, and it was not printed there: {missing}")
            time.sleep(0.05)  # a service may print after it listens

    def _missing(self, text: str) -> str | None:
        """Return the first line of *text* that the last block has not printed."""
        printed = self.output.read_bytes()[self._output_at :].decode(errors="replace").splitlines()
        for line in text.splitlines():
            expected = as_pattern(line)
            found = next((each for each in printed if expected.fullmatch(each.rstrip())), None)
            if found is None:
                return line
            printed.remove(found)
        return None

    def _start_service(self, text: str) -> None:
        """Start a program in a new terminal, and wait until it listens. Only this machine may reach it."""
        service = subprocess.Popen(
            ["bash", "-c", text],
            cwd=self._new_terminal["HOME"],
            env=self._new_terminal,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that all that it starts can be ended with it
        )
        self._services.append(service)
        deadline = time.monotonic() + TIMEOUT_S
        while not (addresses := list(_listening(service.pid))):
            if service.poll() is not None or time.monotonic() > deadline:
                self._fail(f"listens nowhere, status {service.returncode}")
            time.sleep(0.05)  # until a program that is not ours has started
        self._check_addresses(addresses)

    def _open_python(self) -> Prompt:
        if self._python is None:
            self._python = Prompt(["python", prompt.__file__], self.environment, self.folder, self._log)
        return self._python

    def _end_python(self) -> None:
        if self._python is not None:
            python, self._python = self._python, None
            why = python.end(TIMEOUT_S)
            python.kill()
            if why is not None:
                self._fail(f"Python: {why}")

    def _write(self, text: str) -> None:
        self._log.write(text.encode())
        self._log.flush()

    def _fail(self, why: str) -> NoReturn:
        lines = self.output.read_text(errors="replace").splitlines()
        shown = [line for line in lines if not line.startswith("\tat ")]  # the JVM's own frames
        raise FailedError("\n".join([*shown[-100:], f"*** {why}"]))


def as_pattern(line: str) -> re.Pattern[str]:
    """Return a pattern for what may be printed where a page shows *line*."""
    parts = re.split(f"({'|'.join(VARYING)})", line.rstrip())
    found = (next((p for shape, p in VARYING.items() if re.fullmatch(shape, part)), None) for part in parts)
    return re.compile("".join(p or re.escape(part) for part, p in zip(parts, found, strict=True)))


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
