"""`kinesis consumers`: registered consumers are listed and removed."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from kinesis_cli.commands.consumers import queue_words
from kinesis_core.model import StreamSummary
from kinesis_emulator import Emulator, Fault, FaultScript, Settings, Step
from kinesis_emulator.faults import ANY_CALL
from support.command_line import CommandLine
from support.streams import StreamUnderTest, make_client

Create = Callable[[int], str]


def names(kinesis: CommandLine, stream: str) -> list[str]:
    """Return the names of the consumers that are not being removed."""
    found = [json.loads(line) for line in kinesis("consumers", stream, "-o", "json").lines]
    return [consumer["name"] for consumer in found if consumer["status"] != "DELETING"]


def test_a_table(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """Each consumer has a line with its status, time and age."""
    stream = create(1)
    emulator.register_consumer(stream, "billing")
    header, line = kinesis("consumers", stream).lines
    assert header.split() == ["CONSUMER", "STATUS", "CREATED", "AGE"]
    assert line.split()[0] == "billing"
    assert line.split()[1] in {"CREATING", "ACTIVE"}


def test_json(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """For scripts there is an object a line, with the ARN."""
    stream = create(1)
    arn = emulator.register_consumer(stream, "billing")
    (line,) = kinesis("consumers", stream, "-o", "json").lines
    found = json.loads(line)
    assert set(found) == {"name", "arn", "status", "created"}
    assert (found["name"], found["arn"]) == ("billing", arn)


def test_a_stream_by_arn(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """A stream that is given by its ARN is not described first."""
    stream = create(1)
    arn = emulator.register_consumer(stream, "billing").rpartition("/consumer/")[0]
    assert names(kinesis, arn) == ["billing"]
    assert not emulator.calls.count("DescribeStreamSummary", stream)


def test_no_consumers(kinesis: CommandLine, create: Create) -> None:
    """Without consumers the results are empty, and a note says so."""
    stream = create(1)
    ran = kinesis("consumers", stream)
    assert (ran.out, ran.err) == (b"", f"Stream {stream} has no registered consumers.\n")


@pytest.mark.parametrize("queues", [None, 0, 1, 30])
def test_queues_count_as_consumers(queues: int | None) -> None:
    """A stream with queues has fewer consumers left: their number is shown where botocore has it."""
    words = queue_words(StreamSummary("orders", "arn", "ACTIVE", 0, 24, queues=queues))
    shown = {1: "It also has 1 queue, which the limit", 30: "It also has 30 queues, which the limit"}
    assert words.startswith(shown[queues]) if queues else not words


@pytest.mark.parametrize("code", ["AccessDeniedException", "LimitExceededException"])
def test_a_stream_that_cannot_be_described(kinesis: CommandLine, code: str) -> None:
    """
    Given by its ARN, its consumers are listed all the same, and the queues are said to be unknown: without the permission, or if
    calls are throttled for good.
    """
    denied = Step(Fault(code=code), "DescribeStreamSummary", times=None)
    with Emulator(settings=Settings(fault=FaultScript(denied))) as server:
        server.create_stream("orders", 1)
        arn = server.register_consumer("orders", "billing").rpartition("/consumer/")[0]
        ran = kinesis("consumers", arn, "--endpoint-url", server.endpoint_url)
    assert ran.lines[1].split()[0] == "billing"
    assert f"DescribeStreamSummary ended with {code}." in ran.err


def test_remove(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """A consumer is removed after a question on the terminal, and not after another answer than yes."""
    stream = create(1)
    for name in ("audit", "billing"):
        emulator.register_consumer(stream, name)
    for answer, status, left in (
        ("n", 1, ["audit", "billing"]),
        ("", 1, ["audit", "billing"]),
        ("y", 0, ["audit"]),
    ):
        with kinesis.terminal("consumers", stream, "--remove", "billing") as terminal:
            terminal.wait_for(f"Remove consumer billing of {stream}")
            terminal.wait_for("[y/N]")
            terminal.type(f"{answer}\n")
            assert terminal.rest().status == status
        assert names(kinesis, stream) == left


@pytest.mark.parametrize("deleting_s", [0.0, 3600.0])
@pytest.mark.parametrize("fault", ANY_CALL)
def test_a_removal_whose_response_is_a_fault(
    kinesis: CommandLine,
    emulator: Emulator,
    create: Create,
    monkeypatch: pytest.MonkeyPatch,
    fault: Fault,
    deleting_s: float,
) -> None:
    """
    The call is made again, which finds no consumer if the first one did it. The response has no members, so that a page of HTML
    in its place looks like one to boto3.
    """
    stream = create(1)
    emulator.register_consumer(stream, "billing")
    monkeypatch.setattr(emulator.settings, "consumer_deleting_s", deleting_s)
    monkeypatch.setattr(emulator.settings, "fault", FaultScript(Step(fault, "DeregisterStreamConsumer")))
    ran = kinesis("consumers", stream, "--remove", "billing", "--yes")
    assert ran.err.splitlines()[-1].startswith(f"Consumer billing of {stream} is ")
    assert names(kinesis, stream) == []


def test_remove_in_a_script(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """Where nobody can answer, nothing is removed without --yes."""
    stream = create(1)
    emulator.register_consumer(stream, "billing")
    assert "add --yes" in kinesis("consumers", stream, "--remove", "billing", status=1).err
    assert names(kinesis, stream) == ["billing"]
    assert kinesis("consumers", stream, "--remove", "billing", "--yes").err == (
        f"Consumer billing of {stream} is being removed.\n"
    )
    assert names(kinesis, stream) == []


def test_remove_what_is_not_there(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """The error for a wrong name has the right ones."""
    stream = create(1)
    emulator.register_consumer(stream, "billing")
    ran = kinesis("consumers", stream, "--remove", "biling", "--yes", status=1)
    assert ran.err == f"kinesis consumers: Stream {stream} has no consumer biling. It has billing.\n"


@pytest.mark.witness
def test_another_server(kinesis: CommandLine, witness: str) -> None:
    """kinesis-local, which is not ours, lists and removes the same consumers."""
    stream = StreamUnderTest(witness, name="audited")
    client = make_client(witness)
    arn = client.describe_stream_summary(StreamName=stream.name)["StreamDescriptionSummary"]["StreamARN"]
    client.register_stream_consumer(StreamARN=arn, ConsumerName="billing")
    listed = kinesis("consumers", "audited", "-o", "json", "--endpoint-url", witness).lines
    assert [json.loads(line)["name"] for line in listed] == ["billing"]
    kinesis("consumers", "audited", "--remove", "billing", "--yes", "--endpoint-url", witness)
    left = client.list_stream_consumers(StreamARN=arn)["Consumers"]
    assert [consumer for consumer in left if consumer["ConsumerStatus"] != "DELETING"] == []
