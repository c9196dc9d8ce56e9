"""A program of jq over payloads, in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kinesis_cli.ending import UsageError
from kinesis_cli.records.programs import Program
from support.waiting import PATIENCE_S

READER_GOES = """
import os, signal, sys

from kinesis_cli.output import end_with_reader
from kinesis_cli.records import jq_process
from kinesis_cli.records.programs import Program

send = jq_process.write_list

def say_and_send(payloads, pipe):
    print("sending", file=sys.stderr, flush=True)
    send(payloads, pipe)

end_with_reader()
with Program.parse("true", "--where") as program:
    os.kill(program._process.pid, signal.SIGSTOP)
    jq_process.write_list = say_and_send
    program.are_true([b"1" * 1_000_000])
"""
"""Sends jq more than a pipe holds, while jq reads nothing."""


def test_payloads() -> None:
    """A payload is wanted if any result is neither null nor false. What jq cannot judge is counted."""
    payloads = [b"9", b"10", b"", b"1 10", "\u00fc".encode(), b"\xff", b"\x00", b'"a"', b"[]", b"null"]
    with Program.parse(
        'if type == "array" then error("x") else . != null and . > 9 end', "--where"
    ) as program:
        assert program.are_true(payloads) == [
            False,
            True,
            False,
            True,
            False,
            False,
            False,
            True,
            False,
            False,
        ]
        assert program.are_true([]) == []
        assert program.are_true([b"x", b"10"]) == [False, True]
        assert (program.not_json, program.failed) == (4, 1)


def test_no_program() -> None:
    """What jq cannot compile is refused at once, with jq's reason."""
    with pytest.raises(
        UsageError, match=r"^--where is '\.a =='\. Use a program of jq, such as .*\. jq says: "
    ):
        Program.parse(".a ==", "--where")


def test_the_reader_goes() -> None:
    """When nobody reads the output any more, the command does not go on to wait for jq."""
    command = [sys.executable, "-c", READER_GOES]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        try:
            assert running.stderr.readline() == "sending\n"
            running.stdout.close()
            assert running.wait(PATIENCE_S) == 1
            assert "ReaderGoneError" in running.stderr.read()
        finally:
            running.kill()
