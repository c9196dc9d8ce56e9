"""Errors of the core in the words of the command line."""

from __future__ import annotations

from typing import NoReturn

import pytest

from kinesis_cli import main
from kinesis_cli.ending import Status
from kinesis_core import DataLossError, KinesisError, PlanSettings, ReadSettings, Stream
from support.scripted_stream import scripted_stream


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
    assert run_with(monkeypatch, lost.value) == Status.FAILED
    shown = capsys.readouterr().err
    assert "failOnDataLoss" not in shown
    assert "retention" in shown


def run_with(monkeypatch: pytest.MonkeyPatch, error: Exception) -> int:
    """Run a command that fails with *error*, and return its exit status."""

    def fail(**_: object) -> NoReturn:
        raise error

    monkeypatch.setattr("kinesis_cli.app.make_app", fail)
    return main.main(["tail"])
