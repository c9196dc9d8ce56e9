"""A program of jq over the payloads of records."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import IO, cast

from attrs import define, field

from kinesis_cli.ending import CommandError, UsageError
from kinesis_cli.records import jq_process


@define
class Program:
    """
    A program of jq, which runs in a separate process. A context manager: the process ends with it.

    jq lets no signal through while it runs. In our own process a program that never ends would ignore Ctrl-C.

    Attributes:
        not_json: The payloads so far that are not JSON.
        failed: The payloads so far that are JSON, and for which the program raised an error.
    """

    text: str
    not_json: int = field(default=0, init=False)
    failed: int = field(default=0, init=False)
    _process: subprocess.Popen[bytes] = field(init=False)

    @classmethod
    def parse(cls, text: str, option: str) -> Program:
        """
        Return the program *text*.

        Raises:
            UsageError: It is not one. The message names *option*.
        """
        import jq

        try:
            jq.compile(text)
        except ValueError as error:
            reason = str(error).partition("\n")[0].removeprefix("jq: ")
            raise UsageError(
                f"{option} is '{text}'. Use a program of jq, such as '.total > 9'. jq says: {reason}"
            ) from error
        return cls(text)

    def __enter__(self) -> Program:
        pipe = subprocess.PIPE
        command = [sys.executable, jq_process.__file__]
        self._process = subprocess.Popen(  # noqa: S603 # our own file
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
        )
        self._send([self.text.encode()])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def are_true(self, payloads: Sequence[bytes]) -> list[bool]:
        """
        Return for each of *payloads* whether a result of the program is neither null nor false.

        Raises:
            CommandError: jq has crashed.
        """
        self._send(payloads)
        verdicts = cast("IO[bytes]", self._process.stdout).read(len(payloads))
        if len(verdicts) < len(payloads):
            status = self._process.wait()
            why = " Does a recursion in it never end?" if status < 0 else " Is the package jq complete?"
            raise CommandError(f"jq crashed (status {status}) while it ran '{self.text}'.{why}")
        self.not_json += verdicts.count(jq_process.NOT_JSON)
        self.failed += verdicts.count(jq_process.FAILED)
        return [verdict == jq_process.YES for verdict in verdicts]

    def _send(self, payloads: Sequence[bytes]) -> None:
        with suppress(BrokenPipeError):  # it has crashed: its answer is missing, too
            jq_process.write_list(payloads, cast("IO[bytes]", self._process.stdin))
