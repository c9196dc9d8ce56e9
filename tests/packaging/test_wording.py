"""Errors of the core in the words of the command line."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import NoReturn

import pytest

from kinesis_cli import main
from kinesis_cli.ending import CommandError, Status
from kinesis_cli.wording import in_words_of_commands
from kinesis_core import DataLossError, KinesisError, PlanSettings, ReadSettings, Stream
from kinesis_core.options import aliases_of
from spark_kinesis_sink.options import SINK_OPTIONS
from spark_kinesis_source.options import SOURCE_OPTIONS
from support.messages import Message, messages_of
from support.scripted_stream import scripted_stream

OF_SPARK = {"checkpointLocation"}
"""What Spark's own options are called. Ours are in the tables."""
NEVER_USED = {"fanOutTransport", "wireFormat"}
"""Commands use HTTP/1.1 and JSON. So no command shows an error of HTTP/2 or CBOR."""
NOT_SHOWN = {
    "kinesis_core/aws/dry_runs.py": "the check before a query starts; doctor makes its dry runs itself",
    "kinesis_core/aws/permissions.py": "declares calls for the documentation",
    "kinesis_core/events/planning.py": "declares events for the documentation",
    "kinesis_core/events/reading.py": "declares events for the documentation",
    "kinesis_core/options/connection.py": "declares options of Spark",
    "kinesis_core/options/credentials.py": "declares options of Spark",
    "kinesis_core/options/foreign/connectors.py": "says why options of Spark have no effect",
    "kinesis_core/options/foreign/databricks.py": "declares options of Spark",
    "kinesis_core/options/foreign/kafka.py": "hints for options of Spark",
    "kinesis_core/options/parsers.py": "a command's stream is one argument, not a list of names",
    "kinesis_core/options/proxy.py": "declares options of Spark",
    "kinesis_core/options/spark_tables.py": "hints for tables of Spark",
    "kinesis_core/options/table.py": "reads options of Spark",
    "kinesis_core/reading/columns.py": "declares columns for the documentation",
    "kinesis_credentials/sources.py": "no command has keys, instance profiles or classes as options",
    "kinesis_cli/wording.py": "it has the words to replace",
}
"""Modules whose texts name options of Spark, and why no command shows them."""


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (
            "Check streamName or streamARN, region and account (or endpointUrl).",
            "Check the stream, region and account (or --endpoint-url).",
        ),
        ("Set the option 'region' (such as 'eu-west-1').", "Set --region (such as 'eu-west-1')."),
        ("Is dynamodbEndpointUrl\nan endpoint?", "Is --dynamodb-endpoint-url an endpoint?"),
    ],
)
def test_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], message: str, shown: str
) -> None:
    """An error names the options of the command, in one line."""
    assert run_with(monkeypatch, KinesisError(message)) == Status.FAILED
    assert capsys.readouterr().err == f"kinesis tail: {shown}\n"


@pytest.mark.parametrize(
    "typed",
    ["--since does not accept 'start'.", "my endpointUrl.json does not exist.", "got 'end': compile error"],
)
def test_what_the_user_typed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str
) -> None:
    """Errors of commands have the right words already. What the user typed stays as it is."""
    run_with(monkeypatch, CommandError(typed))
    assert capsys.readouterr().err == f"kinesis tail: {typed}\n"
    assert in_words_of_commands(KinesisError("'start' accepts a time; got 'start'.")) == (
        "--since accepts a time; got 'start'."
    )


def test_a_loss(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """No command has the option failOnDataLoss, so a loss does not name it."""
    shard = "shardId-000000000000"
    fake = scripted_stream(1)
    fake.put_many(shard, 3)
    stream = Stream("orders", "eu-west-1", "orders", fake, PlanSettings(), ReadSettings(), fake.clock)
    offset = stream.read("TRIM_HORIZON").offset
    fake.put_many(shard, 3)
    fake.clock.now += 25 * 3600
    fake.trim(shard, 6)
    with pytest.raises(DataLossError) as lost:
        stream.read(offset)
    assert "failOnDataLoss" in str(lost.value)
    assert run_with(monkeypatch, lost.value) == Status.INCOMPLETE
    shown = capsys.readouterr().err
    assert "failOnDataLoss" not in shown
    assert "retention" in shown


def options_in(text: str) -> set[str]:
    """Return the options of Spark in *text*. A name in small letters alone, such as `region`, is a word."""
    options = (*SOURCE_OPTIONS.options, *SINK_OPTIONS.options)
    names = {
        name for option in options for name in (option.name, *(alias.name for alias in aliases_of(option)))
    }
    names = ({name.rpartition(".")[2] for name in names} | OF_SPARK) - NEVER_USED
    return {word for word in re.findall(r"\w+", text) if word in names and word != word.lower()}


def with_options() -> list[Message]:
    """Return all texts of the packages behind the command line that name options of Spark, in the words of commands."""
    packages = ("kinesis_credentials", "kinesis_core", "kinesis_cli")
    every = (message for package in packages for message in messages_of(package))
    return [message for message in every if options_in(in_words_of_commands(message.text))]


def test_no_message_names_an_option_of_spark() -> None:
    """A text that names one is put into other words, or no command shows it. A new text is found here."""
    named = [message for message in with_options() if message.module not in NOT_SHOWN]
    assert not named


def test_modules_that_no_command_shows() -> None:
    """Each module of the list is on it for a reason that still holds."""
    assert not NOT_SHOWN.keys() - {message.module for message in with_options()}


def test_warnings(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Warnings of the core are lines with the words of commands as well."""

    def warn(**_: object) -> Callable[[object], None]:
        return lambda _: logging.getLogger("kinesis_core").warning("Set\naggregationEnabled=%s.", "false")

    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # as in a new process
    monkeypatch.setattr("kinesis_cli.app.make_app", warn)
    assert main.main(["put"]) == Status.DONE
    assert capsys.readouterr().err == "kinesis put: Set --no-aggregate.\n"


def run_with(monkeypatch: pytest.MonkeyPatch, error: Exception) -> int:
    """Run a command that fails with *error*, and return its exit status."""

    def fail(**_: object) -> NoReturn:
        raise error

    monkeypatch.setattr("kinesis_cli.app.make_app", fail)
    return main.main(["tail"])
