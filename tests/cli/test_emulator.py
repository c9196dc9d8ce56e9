"""`kinesis emulator` runs the local Kinesis."""

from __future__ import annotations

from collections.abc import Callable

from kinesis_cli.ending import Status
from support.command_line import CommandLine, Ran


def test_it_is_the_emulator(kinesis: CommandLine) -> None:
    """It takes the emulator's options, serves, and ends with Ctrl-C."""
    with kinesis.started("emulator", "--port", "0", "--stream", "trial:2") as running:
        first, second = running.lines(2)
        url = first.rpartition(" ")[2]
        assert second == "  stream trial with 2 shards"
        here = kinesis.having({"AWS_ENDPOINT_URL_KINESIS": url})
        here("put", "trial", stdin=b"tea\n")
        assert here("tail", "trial", "-n", "1", "--no-follow", "-f", "%s").lines == ["tea"]
        assert running.interrupt().status == Status.DONE


def test_its_errors(kinesis: CommandLine) -> None:
    """A wrong option is the emulator's error, in one line, and so is the status."""
    ran = kinesis("emulator", "--port", "99999", status=2)
    assert ran.err == (
        "kinesis emulator: argument --port: '99999' is not a port; use 0 to 65535. See 'kinesis emulator --help'.\n"
    )


def test_nobody_reads_its_first_lines(kinesis: CommandLine) -> None:
    """It ends quietly, as other commands do."""
    assert kinesis.without_reader("emulator", "--port", "0") == Ran(Status.READER_GONE, b"", "")


def test_without_the_package(without: Callable[[str], CommandLine]) -> None:
    """Without kinesis-emulator the error names the command that installs it."""
    ran = without("kinesis_emulator")("emulator", status=1)
    assert ran.err == (
        'kinesis emulator: This command needs kinesis-emulator: pip install "kinesis-cli[emulator]"\n'
    )
