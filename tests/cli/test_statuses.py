"""Commands on a stream that is being created, changed or deleted."""

from __future__ import annotations

import pytest

from support.command_line import CommandLine
from support.statuses import PASSING, RECORDS, STREAM, emulator_in
from support.user_records import data_of

TAIL = ("tail", STREAM, "--since", "TRIM_HORIZON", "--no-follow", "-o", "raw")
OTHERS = {
    "dump": ("dump", STREAM),
    "shards": ("shards", STREAM, "--no-sample"),
    "advise": ("advise", STREAM),
    "consumers": ("consumers", STREAM),
}


@pytest.mark.parametrize("status", PASSING)
def test_a_command_that_reads_waits_for_the_stream(kinesis: CommandLine, status: str) -> None:
    """Whatever status passes, all records come. Where the command has to wait, the standard error says for what."""
    with emulator_in(status) as emulator:
        ran = kinesis.to(emulator)(*TAIL)
    assert sorted(ran.out.split()) == RECORDS
    assert ("The stream is not ready" in ran.err) == (status != "UPDATING")


@pytest.mark.parametrize("command", OTHERS)
def test_other_commands_wait_for_the_stream(kinesis: CommandLine, command: str) -> None:
    """Each command that needs the stream waits until it is created and accepts calls."""
    with emulator_in("CREATING, then refusing") as emulator:
        kinesis.to(emulator)(*OTHERS[command])


@pytest.mark.parametrize("status", PASSING)
def test_a_command_that_writes_waits_for_the_stream(kinesis: CommandLine, status: str) -> None:
    """Whatever status passes, each line becomes one record."""
    with emulator_in(status, is_filled=False) as emulator:
        kinesis.to(emulator)("put", STREAM, stdin=b"\n".join(RECORDS))
        assert data_of(emulator, STREAM) == RECORDS


@pytest.mark.parametrize("command", ["tail", "dump", "shards", "put"])
def test_a_stream_that_is_deleted_is_an_error(kinesis: CommandLine, command: str) -> None:
    """DELETING does not pass: the command ends with an error that says it."""
    arguments = {**OTHERS, "tail": TAIL, "put": ("put", STREAM)}[command]
    with emulator_in("DELETING") as emulator:
        ran = kinesis.to(emulator)(*arguments, stdin=b"1\n", status=1)
        assert emulator.calls.count() < 20
    assert "DELETING" in ran.err


def test_a_check_does_not_wait(kinesis: CommandLine) -> None:
    """`kinesis doctor` reports what it finds: the status, and what to do."""
    with emulator_in("CREATING") as emulator:
        emulator.set_status(STREAM, "CREATING", 1e9)
        ran = kinesis.to(emulator)("doctor", STREAM, status=None)
        assert emulator.calls.count() < 40
    assert "CREATING" in ran.text + ran.err
    assert "Wait until it is ACTIVE" in ran.text + ran.err
