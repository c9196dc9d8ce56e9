"""The command `kinesis top`, on a terminal of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.bursts import burst
from cli.own_checkpoints import leave_own_checkpoint
from kinesis_cli.ending import Status
from kinesis_emulator import Emulator, Request
from support.command_line import CommandLine
from support.lineages import name
from support.waiting import PATIENCE_S

pytestmark = pytest.mark.everything
Create = Callable[[int], str]
RESTORED = "\x1b[?1049l"
"""Leaves the full screen."""
SIZE = (110, 30)


def test_a_stream_live(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """Shards, what is written meanwhile, and consumers are shown. `q` quits and restores the terminal."""
    stream = create(2)
    emulator.register_consumer(stream, "billing")
    with kinesis.terminal("top", stream, size=SIZE) as terminal:
        terminal.wait_for(name(1))
        terminal.wait_for("billing")
        burst(emulator, stream, explicit_hash_key=0)
        terminal.wait_for("hot ")
        terminal.type("q")
        ended = terminal.rest()
    assert ended.status == Status.DONE
    assert RESTORED in ended.text


def test_streams_are_listed_and_opened(kinesis: CommandLine) -> None:
    """Without a stream all streams are listed. Enter opens one, and Escape returns."""
    with Emulator() as emulator:
        emulator.create_stream("orders", 3)
        with kinesis.to(emulator).terminal("top", size=SIZE) as terminal:
            terminal.wait_for("Enter opens one.")
            terminal.wait_for("orders")
            terminal.type("\r")
            terminal.wait_for(name(0))
            terminal.type("\x1b")
            terminal.wait_for("Enter opens one.")
            terminal.type("q")
            assert terminal.rest().status == Status.DONE


@contextmanager
def stuck(emulator: Emulator, stream: str) -> Iterator[None]:
    """Let reads of a stream wait until the end of the block, which is entered when one waits."""
    is_reading, is_over = threading.Event(), threading.Event()

    def wait(request: Request) -> None:
        if request.action == "GetRecords" and emulator.calls.count("GetRecords", stream):
            is_reading.set()
            is_over.wait()

    emulator.settings.fault = wait
    try:
        assert is_reading.wait(PATIENCE_S)
        yield
    finally:
        emulator.settings.fault = None
        is_over.set()


@pytest.mark.parametrize(("keys", "status"), [("q", Status.DONE), ("\x03", Status.INTERRUPTED)])
def test_it_ends_at_once(
    kinesis: CommandLine, emulator: Emulator, create: Create, keys: str, status: Status
) -> None:
    """`q` and Ctrl-C end it at once and restore the terminal, although calls are under way."""
    stream = create(2)
    with kinesis.terminal("top", stream, size=SIZE) as terminal:
        terminal.wait_for(name(1))
        with stuck(emulator, stream):
            terminal.type(keys)
            ended = terminal.rest()
    assert ended.status == status
    assert RESTORED in ended.text


def test_an_unknown_stream(kinesis: CommandLine) -> None:
    """A stream that does not exist is an error like that of any other command, and there is no full screen."""
    ended = kinesis.on_terminal("top", "nowhere")
    assert ended.status == Status.FAILED
    assert "ResourceNotFoundException" in ended.text
    assert RESTORED not in ended.text


def test_wrong_uses(kinesis: CommandLine, create: Create) -> None:
    """It needs a terminal, and no more than one call a second on each shard."""
    stream = create(1)
    assert "needs a terminal" in kinesis("top", stream, status=1).err
    for every in ("0.5", "nan"):
        assert f"--every is {float(every):g}. Use" in kinesis("top", stream, "--every", every, status=2).err


def test_without_textual(without: Callable[[str], CommandLine]) -> None:
    """Without textual the error names the command that installs it."""
    ran = without("textual")("top", "orders", status=1)
    assert ran.err == 'kinesis top: This command needs textual: pip install "kinesis-cli[top]"\n'


def test_readers_and_their_lag(
    kinesis: CommandLine, emulator: Emulator, create: Create, tmp_path: Path
) -> None:
    """The lag of a checkpoint is shown, and measured again as records come."""
    stream = create(1)
    burst(emulator, stream, explicit_hash_key=0)
    leave_own_checkpoint(tmp_path / "query", emulator, stream)
    with kinesis.terminal("top", stream, "--checkpoint", str(tmp_path / "query"), size=(140, 30)) as terminal:
        terminal.wait_for("current")
        burst(emulator, stream, explicit_hash_key=0)
        terminal.wait_for("behind in 1 of 1 shards")
        terminal.type("q")
        assert terminal.rest().status == Status.DONE


def test_readers_need_a_stream(kinesis: CommandLine) -> None:
    """Readers without a stream are refused."""
    ran = kinesis("top", "--application", "billing", status=2)
    assert "--checkpoint and --application need the stream" in ran.err
