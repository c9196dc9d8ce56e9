"""A shell completes the names of streams, consumers and shards."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attrs import fields_dict
from cyclopts import Parameter

from kinesis_cli import completing
from kinesis_cli.main import main
from kinesis_emulator import Emulator
from kinesis_emulator.client_settings import environment
from support.command_line import CommandLine

pytestmark = pytest.mark.skipif(
    "completer" not in fields_dict(Parameter), reason="the cyclopts of Python 3.10 completes no names"
)
Complete = Callable[..., list[str]]
SHARDS = ["shardId-000000000001", "shardId-000000000000"]


@pytest.fixture
def own() -> Emulator:
    """An emulator with streams of its own."""
    emulator = Emulator()
    emulator.create_stream("orders", 2)
    emulator.create_stream("teas", 1)
    emulator.register_consumer("orders", "billing")
    return emulator


@pytest.fixture
def complete(
    own: Emulator, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Complete]:
    """Return a function that returns what a shell can insert for the last word of a command line. Nothing else is printed."""
    for name, value in environment(own.endpoint_url, own.settings.region).items():
        monkeypatch.setenv(name, value)

    def completed(*words: str) -> list[str]:
        assert main(["__complete", *words]) == 0
        out, err = capfd.readouterr()
        assert err == ""
        return out.partition("\x1fbegin\n")[2].splitlines()

    with own:
        yield completed


@pytest.mark.parametrize(
    ("line", "found"),
    [
        *(
            (f"{command} ", ["orders", "teas"])
            for command in ("tail", "put", "dump", "copy", "shards", "top")
        ),
        *((f"{command} ", ["orders", "teas"]) for command in ("advise", "doctor", "lag", "consumers")),
        ("copy orders ", ["orders", "teas"]),
        ("replay orders.jsonl ", ["orders", "teas"]),
        ("leases app --stream ", ["orders", "teas"]),
        ("tail orders --shard ", SHARDS),
        ("dump --shard 0 orders --shard ", SHARDS),
        ("tail orders --efo ", ["billing"]),
        ("tail teas --efo ", []),
        ("consumers orders --remove ", ["billing"]),
        ("tail --shard ", []),
        ("tail missing --shard ", []),
        ("tail --profile missing ", []),
        ("tail --region eu-west-1 ", []),
    ],
)
def test_names(complete: Complete, line: str, found: list[str]) -> None:
    """Streams are completed wherever one stands, and consumers and shards of a stream that stands before them."""
    assert complete(*line.split(" ")) == found


def test_the_connection_that_is_typed(
    complete: Complete, own: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names come from where the command will go. The destination of a copy can be elsewhere."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_KINESIS", "http://127.0.0.1:9")
    monkeypatch.setattr(completing, "PATIENCE_S", 30)
    url = f"--endpoint-url={own.endpoint_url}"
    assert complete("tail", url, "") == ["orders", "teas"]
    assert complete("copy", "--to-endpoint-url", own.endpoint_url, "a", "") == ["orders", "teas"]


def test_what_is_denied(complete: Complete, own: Emulator) -> None:
    """Without a permission nothing is completed, and nothing is said."""
    own.settings.deny = {"ListStreams"}
    assert complete("tail", "") == []


def test_a_server_that_does_not_respond(complete: Complete, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person who waits for a shell waits seconds only."""
    monkeypatch.setattr(completing, "PATIENCE_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        started_s = time.monotonic()
        assert complete("tail", "--endpoint-url", url, "") == []
    assert time.monotonic() - started_s < 20  # botocore would wait for minutes


@pytest.mark.usefixtures("complete")
def test_bash(kinesis: CommandLine, tmp_path: Path) -> None:
    """The script that --install-completion writes asks for names, and keeps those that begin as the word does."""
    home, programs = tmp_path / "shell", tmp_path / "bin"
    home.mkdir()
    programs.mkdir()
    kinesis.having({"HOME": str(home), "SHELL": "/bin/bash"})("--install-completion")
    (script,) = (path for path in home.rglob("*") if path.is_file() and path.name != ".bashrc")
    command = programs / "kinesis"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m kinesis_cli "$@"\n')
    command.chmod(0o755)
    typed = f'source {script}; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _kinesis; echo ${{COMPREPLY[*]}}'
    variables = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    for words, found in (
        ("tail or", "orders"),
        ("copy orders te", "teas"),
        ("tail orders --efo b", "billing"),
    ):
        ran = subprocess.run(
            ["bash", "-c", typed, "bash", "kinesis", *words.split(" ")],
            env=variables,
            capture_output=True,
            text=True,
            check=True,
        )
        assert (ran.stdout.split(), ran.stderr) == ([found], "")
