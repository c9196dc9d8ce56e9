"""What holds for all commands: help, errors, exit statuses."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kinesis_cli.app import COMMANDS
from kinesis_cli.ending import Status
from kinesis_emulator import Emulator
from support.command_line import CommandLine, Ran
from support.imported import imported_by
from support.loops import variants

HEAVY = {"botocore", "fsspec", "jq", "prometheus_client", "pyarrow", "textual", "urllib3"}
"""What a command imports when it has checked its options."""

SIGNAL_AT_IMPORT = """
import os, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["MODULE"] and "kinesis_cli.main" in sys.modules:
            os.kill(os.getpid(), getattr(signal, os.environ["SIGNAL"]))

sys.meta_path.insert(0, Finder())
"""
"""A module that Python imports at its start. It sends a signal to its process when another module is imported."""


ONE_LINE = b'{"data": "a"}\n'
RUNS = [
    "put {stream} -k c",
    "tail {stream} --no-follow --since 1h -f %s",
    "tial",
    "dump {stream} -o raw",
    "dump {stream} -o arrow --file /dev/null",
    "replay - {stream} --speed max",
    "copy {stream} {empty} --no-follow",
    "streams {stream}",
    "shards {stream} --no-sample",
    "top {stream}",
    "advise {empty}",
    "doctor {stream} -o yaml",
    "lag {stream} --checkpoint /dev/null",
    "offset show",
    "leases orders --watch-for soon",
    "consumers {empty}",
    "emulator --port 99999",
]
"""Of each command one run whose outputs are the same each time."""


@pytest.mark.parametrize("arguments", variants(RUNS, kept=3))
def test_a_fork_is_what_was_installed(
    kinesis: CommandLine,
    installed: CommandLine,
    emulator: Emulator,
    create: Callable[[int], str],
    arguments: str,
) -> None:
    """A command that most tests run, a fork of a process that has imported all modules, does what the installed one does."""
    stream, empty = create(1), create(1)
    emulator.put(stream, b"x")
    command = [each.format(stream=stream, empty=empty) for each in arguments.split()]
    ours, theirs = (each(*command, stdin=ONE_LINE, status=None) for each in (kinesis, installed))
    assert ours == theirs
    assert ours.out or ours.err


@pytest.mark.parametrize("number", variants([signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL]))
def test_a_fork_ends_as_what_was_installed(
    kinesis: CommandLine,
    installed: CommandLine,
    emulator: Emulator,
    create: Callable[[int], str],
    number: signal.Signals,
) -> None:
    """A signal means to a fork what it means to the installed command."""
    stream = create(1)
    emulator.put(stream, b"x")
    ended = []
    for each in (kinesis, installed):
        with each.started("tail", stream, "-n", "1", "-f", "%s") as tail:
            assert tail.lines(1) == ["x"]
            ended.append(tail.end(number))
    ours, theirs = ended
    assert ours == theirs
    assert ours.status in (128 + number, -number)


@pytest.mark.everything
def test_a_fork_on_a_terminal(
    kinesis: CommandLine, installed: CommandLine, create: Callable[[int], str]
) -> None:
    """A fork meets its terminal as the installed command does: its size, its colours, and Ctrl-C."""
    stream = create(1)
    ours, theirs = (each.on_terminal("shards", stream, "--no-sample") for each in (kinesis, installed))
    assert ours == theirs
    ended = []
    for each in (kinesis, installed):
        with each.terminal("put", stream) as terminal:
            terminal.wait_for("Ctrl-D ends.")
            terminal.type("\x03")
            ended.append(terminal.rest())
    ours, theirs = ended
    assert ours == theirs
    assert ours.status == Status.INTERRUPTED


def test_help_lists_the_commands(kinesis: CommandLine) -> None:
    """Without a command, or with --help, the commands are listed."""
    assert kinesis("--help").out == kinesis().out
    assert "emulator" in kinesis("--help").text


def test_version(kinesis: CommandLine) -> None:
    """--version prints the version of the package."""
    from kinesis_cli.version import __version__

    assert kinesis("--version").lines == [__version__]


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["tail", "--help"]])
def test_help_that_nobody_reads(kinesis: CommandLine, arguments: list[str]) -> None:
    """Help ends as every other output does whose reader is gone: quietly, with a status of its own."""
    assert kinesis.without_reader(*arguments) == Ran(Status.READER_GONE, b"", "")


def test_an_unknown_command(kinesis: CommandLine) -> None:
    """A wrong command line is an error of one line, with exit status 2, and nothing on the standard output."""
    ran = kinesis("tial", "orders", status=2)
    assert ran.out == b""
    assert ran.err.startswith('kinesis tial: Unknown command "tial".')
    assert ran.err.count("\n") == 1
    assert ran.err.endswith("See 'kinesis --help'.\n")


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ("tail -f orders", "-f is --format, the form of a line. New records are followed without an option"),
        ("tail -n 3 -f orders", "-f is --format, the form of a line."),
        ("tail -F orders", "New records are followed without an option: kinesis tail STREAM."),
        ("tail -5 orders", "The last 5 records are shown by -n 5."),
        ("tail orders -5", "The last 5 records are shown by -n 5."),
        ("copy orders teas -f", "Only `kinesis tail` has -f, which is --format. Write --file or --follow"),
        ("dump orders -f orders.jsonl", "Only `kinesis tail` has -f"),
        ("replay orders", "One file and one stream are needed: FILE STREAM, or --file FILE STREAM."),
        ("replay a.jsonl orders --file b.jsonl", "One file and one stream are needed"),
    ],
)
def test_flags_of_other_programs(kinesis: CommandLine, arguments: str, hint: str) -> None:
    """Who types what another program means by a flag learns what it is here."""
    ran = kinesis(*arguments.split(), status=2)
    assert hint in ran.err
    assert (ran.out, ran.err.count("\n")) == (b"", 1)


def test_every_command_has_help(kinesis: CommandLine) -> None:
    """`kinesis COMMAND --help` works for each command, says what it does, and calls nobody."""
    offline = CommandLine({key: value for key, value in kinesis.environment.items() if "AWS" not in key})
    for commands in COMMANDS.values():
        for name in commands:
            shown = offline(name, "--help").text
            assert shown.startswith(f"Usage: kinesis {name} ")
            assert ("--region" in shown) is (name not in ("emulator", "offset"))  # these never call AWS


def test_completion(kinesis: CommandLine, tmp_path: Path) -> None:
    """--install-completion makes bash complete commands and options."""
    home = tmp_path / "shell"
    home.mkdir()
    in_shell = kinesis.having({"HOME": str(home), "SHELL": "/bin/bash"})
    assert "bash" in in_shell("--install-completion").text
    (script,) = (path for path in home.rglob("*") if path.is_file() and path.name != ".bashrc")
    complete = f"source {script}; COMP_WORDS=($*); COMP_CWORD=$(($#-1)); _kinesis; echo ${{COMPREPLY[*]}}"
    for words, found in ((("kinesis", "ta"), "tail"), (("kinesis", "tail", "--sin"), "--since")):
        ran = subprocess.run(
            ["bash", "-c", complete, "bash", *words], capture_output=True, text=True, check=True
        )
        assert ran.stdout.split() == [found], ran


@pytest.mark.parametrize("name", variants([name for commands in COMMANDS.values() for name in commands]))
def test_starting_a_command_imports_only_what_it_needs(name: str) -> None:
    """A command's module imports no other command, and nothing heavy: the first output comes soon."""
    new = imported_by(f"from kinesis_cli.app import make_app; make_app()['{name}']")
    assert not {each.partition(".")[0] for each in new} & HEAVY
    assert {each for each in new if each.startswith("kinesis_cli.commands.")} == {
        f"kinesis_cli.commands.{name}"
    }


def test_few_modules_come_before_signals_are_handled() -> None:
    """Until then Ctrl-C shows a traceback of Python. So the time until then is short."""
    new = imported_by("import kinesis_cli.main", after="import signal")
    assert new <= {
        "__future__",
        "kinesis_cli",
        "kinesis_cli.ending",
        "kinesis_cli.main",
        "kinesis_cli.signals",
        "kinesis_cli.version",
    }


@pytest.mark.parametrize(
    "module",
    variants(
        ["kinesis_core", "logging", "kinesis_cli.app", "kinesis_cli.commands.shards", "botocore.session"]
    ),
)
@pytest.mark.parametrize(("name", "status"), [("SIGINT", Status.INTERRUPTED), ("SIGTERM", Status.TERMINATED)])
def test_signals_while_modules_are_imported(
    installed: CommandLine, tmp_path: Path, module: str, name: str, status: Status
) -> None:
    """A command that is ended before it has begun says nothing."""
    (tmp_path / "sitecustomize.py").write_text(SIGNAL_AT_IMPORT)
    on_path = {"PYTHONPATH": str(tmp_path), "SIGNAL": name, "MODULE": module}
    there = installed.having(on_path)
    assert there("shards", "orders", status=None) == Ran(status, b"", "")


def test_a_wrong_endpoint(kinesis: CommandLine) -> None:
    """An endpoint that is no URL is an error of usage, wherever it comes from."""
    wrong = kinesis.having({"AWS_ENDPOINT_URL_KINESIS": "foo"})
    for ran in (
        wrong("tail", "orders", status=2),
        kinesis("tail", "orders", "--endpoint-url", "foo", status=2),
        kinesis("tail", "orders", "--endpoint-url", "ftp://127.0.0.1", status=2),
    ):
        assert ran.err.startswith("kinesis tail: ")
        assert "--endpoint-url" in ran.err
        assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    "command", variants(["tail", "put", "dump", "shards", "advise", "doctor", "consumers"])
)
@pytest.mark.parametrize("name", ["", "a b", "x" * 129])
def test_what_cannot_be_a_stream(kinesis: CommandLine, command: str, name: str) -> None:
    """A name that no stream can have is an error of usage. Nothing is asked of Kinesis."""
    ran = kinesis(command, name, status=2)
    assert (ran.out, ran.err.count("\n")) == (b"", 1)
    assert "Give its ARN, or its name of 1 to 128 letters" in ran.err


def test_no_region(kinesis: CommandLine) -> None:
    """Without a region, or with two different ones, the command line is wrong."""
    without = CommandLine({key: value for key, value in kinesis.environment.items() if "REGION" not in key})
    assert "--region" in without("shards", "orders", status=2).err
    arn = "arn:aws:kinesis:eu-west-1:000000000000:stream/orders"
    assert "eu-west-1" in kinesis("shards", arn, "--region", "us-east-1", status=2).err


def test_a_wrong_region(kinesis: CommandLine) -> None:
    """A text that cannot be a region is an error of usage."""
    ran = kinesis("shards", "orders", "--region", "us east", status=2)
    assert "'us east' is not an AWS region. Use a name such as eu-west-1." in ran.err


@pytest.mark.everything
@pytest.mark.parametrize(
    ("variables", "codes"),
    [
        ({}, {"1m", "2m", "32m", "36m"}),
        ({"NO_COLOR": "1"}, {"1m", "2m"}),
        ({"TERM": "dumb"}, set()),
        ({"TERM": "unknown"}, set()),
    ],
)
def test_colours(
    kinesis: CommandLine,
    emulator: Emulator,
    create: Callable[[int], str],
    variables: dict[str, str],
    codes: set[str],
) -> None:
    """NO_COLOR takes the colours away, and a terminal that can do nothing gets plain text."""
    stream = create(2)
    emulator.put(stream, b"x")
    there = kinesis.having(variables)
    shown = there.on_terminal("shards", stream).text
    shown += there.on_terminal("tail", stream, "-n", "1", "--no-follow").text
    assert set(re.findall(r"\x1b\[([^m]*m)", shown)) - {"0m"} == codes


@pytest.mark.everything
def test_a_locale_of_ascii(installed: CommandLine, create: Callable[[int], str]) -> None:
    """Characters that the locale does not have are replaced."""
    ascii_only = installed.having({"PYTHONIOENCODING": "ascii"})
    assert "shardId-000000000001" in ascii_only("shards", create(2), "--no-sample").text


def test_errors_have_the_words_of_the_command(
    kinesis: CommandLine, create: Callable[[int], str], tmp_path: Path
) -> None:
    """Whoever never started Spark understands the error: it names options that the command has."""
    stream = create(1)
    ran = kinesis("lag", stream, "--checkpoint", str(tmp_path), status=1)
    assert ran.err.endswith("so it is not a checkpoint directory of a Spark query. Correct the path.\n")
    arn = f"arn:aws:kinesis:us-east-1:000000000000:stream/{stream}/consumer/gone:1"
    ran = kinesis("tail", stream, "--efo", arn, status=1)
    assert (
        "Register it first, or give --efo a name: the command registers a consumer of that name." in ran.err
    )
    ran = kinesis("doctor", f"not-{stream}", status=3)
    assert "Check the stream's name or ARN, the region, the account and --endpoint-url." in ran.text
