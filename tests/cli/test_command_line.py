"""What holds for all commands: help, errors, exit statuses."""

from __future__ import annotations

from support.command_line import CommandLine


def test_help_lists_the_commands(kinesis: CommandLine) -> None:
    """Without a command, or with --help, the commands are listed."""
    assert kinesis("--help").out == kinesis().out
    assert "emulator" in kinesis("--help").text


def test_version(kinesis: CommandLine) -> None:
    """--version prints the version of the package."""
    from kinesis_cli.version import __version__

    assert kinesis("--version").lines == [__version__]


def test_an_unknown_command(kinesis: CommandLine) -> None:
    """A wrong command line is an error of one line, with exit status 2, and nothing on the standard output."""
    ran = kinesis("tial", "orders", status=2)
    assert ran.out == b""
    assert ran.err.startswith('kinesis tial: Unknown command "tial".')
    assert ran.err.count("\n") == 1
    assert ran.err.endswith("See 'kinesis --help'.\n")
