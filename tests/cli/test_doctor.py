"""`kinesis doctor`: a checklist of what reading and writing need."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler

import pytest
from attrs import define, evolve

from kinesis_emulator import Emulator, Fault, FaultScript, Settings, Step
from support.command_line import CommandLine
from support.local_http import LocalHttp, QuietHandler
from support.ports import free_port
from support.streams import StreamUnderTest, make_client
from support.witness import moto

Create = Callable[[int], str]


def outcomes(kinesis: CommandLine, *arguments: str, status: int = 0) -> dict[str, str]:
    """Return the outcome of each check."""
    found = [json.loads(line) for line in kinesis("doctor", *arguments, "-o", "json", status=status).lines]
    return {each["check"]: each["outcome"] for each in found}


def texts(kinesis: CommandLine, *arguments: str, status: int = 0) -> dict[str, str]:
    """Return the text of each check."""
    found = [json.loads(line) for line in kinesis("doctor", *arguments, "-o", "json", status=status).lines]
    return {each["check"]: each["text"] for each in found}


READING = {
    "credentials": "ok",
    "region": "ok",
    "endpoint": "ok",
    "stream": "ok",
    "kinesis:DescribeStreamSummary": "ok",
    "retention": "ok",
    "identity": "unchecked",
    "clock": "ok",
    "kinesis:ListShards": "ok",
    "kinesis:GetShardIterator": "ok",
    "kinesis:GetRecords": "ok",
    "consumers": "ok",
    "limits": "ok",
}


def test_all_is_well(kinesis: CommandLine, create: Create) -> None:
    """Every check has a line, and the last line counts them. Nothing is read or written."""
    stream = create(2)
    assert outcomes(kinesis, stream) == READING
    ran = kinesis("doctor", stream)
    assert ran.lines[3] == "ok           stream                            ACTIVE, provisioned, 2 open shards"
    assert ran.err == "13 ok, 1 not checked\n"


def test_writing_and_fan_out(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """--sink and --efo check further actions, by dry runs and by a consumer that does not exist."""
    stream = create(1)
    emulator.register_consumer(stream, "billing")
    found = outcomes(kinesis, stream, "--sink", "--efo")
    assert {check: outcome for check, outcome in found.items() if check not in READING} == {
        "kinesis:PutRecords": "ok",
        "kinesis:DescribeStreamConsumer": "ok",
        "kinesis:DeregisterStreamConsumer": "ok",
        "kinesis:RegisterStreamConsumer": "unchecked",
        "kinesis:SubscribeToShard": "ok",
    }
    assert not emulator.records(stream)
    assert not emulator.subscriptions(stream)
    assert texts(kinesis, stream)["consumers"].startswith("1 of 20 registered: billing (")


@pytest.mark.parametrize(
    "action",
    [
        "DescribeStreamSummary",
        "ListShards",
        "GetShardIterator",
        "GetRecords",
        "PutRecords",
        "DescribeStreamConsumer",
        "DeregisterStreamConsumer",
        "SubscribeToShard",
    ],
)
def test_a_denied_action(kinesis: CommandLine, action: str) -> None:
    """A denied action is named, the exit status is 3, and no other action is called denied."""
    with Emulator(settings=Settings(deny={action})) as emulator:
        emulator.create_stream("orders", 1)
        emulator.register_consumer("orders", "billing")
        found = outcomes(kinesis.to(emulator), "orders", "--sink", "--efo", status=3)
    assert [check for check, outcome in found.items() if outcome == "failed"] == [f"kinesis:{action}"]


@pytest.mark.parametrize("action", ["DescribeStreamSummary", "ListShards"])
def test_a_throttle_passes(kinesis: CommandLine, action: str) -> None:
    """Other programs of the account share the quota of these actions: a refusal says nothing of the stream."""
    throttled = Step(Fault(code="LimitExceededException"), action, times=2)
    with Emulator(settings=Settings(fault=FaultScript(throttled))) as emulator:
        emulator.create_stream("orders", 1)
        assert outcomes(kinesis.to(emulator), "orders") == READING


def test_a_throttle_that_lasts(kinesis: CommandLine) -> None:
    """It is reported after a few seconds, and the other checks go on."""
    throttled = Step(Fault(code="LimitExceededException"), "DescribeStreamSummary", times=None)
    with Emulator(settings=Settings(fault=FaultScript(throttled))) as emulator:
        emulator.create_stream("orders", 1)
        found = outcomes(kinesis.to(emulator), "orders", status=3)
    assert {check for check, outcome in found.items() if outcome == "failed"} == {"stream"}
    assert found["kinesis:ListShards"] == "ok"


def test_a_server_without_dry_runs(kinesis: CommandLine) -> None:
    """Where a call would be carried out it is not made, and nothing is claimed about it."""
    with Emulator(settings=Settings(knows_dry_run=False)) as emulator:
        emulator.create_stream("orders", 1)
        emulator.register_consumer("orders", "billing")
        found = outcomes(kinesis.to(emulator), "orders", "--sink", "--efo")
        calls = emulator.calls.by_action()
    assert {check for check, outcome in found.items() if outcome == "unchecked"} == {
        "identity",
        "kinesis:GetRecords",
        "kinesis:PutRecords",
        "kinesis:RegisterStreamConsumer",
        "kinesis:SubscribeToShard",
    }
    assert not {"GetRecords", "PutRecords", "SubscribeToShard", "RegisterStreamConsumer"} & set(calls)


def test_a_wrong_clock(kinesis: CommandLine) -> None:
    """A clock that AWS would refuse is found by the times of its responses."""
    with Emulator(clock=lambda: time.time() + 600) as emulator:
        emulator.create_stream("orders", 1)
        found = texts(kinesis.to(emulator), "orders", status=3)
    assert found["clock"].endswith(
        "behind Kinesis. AWS refuses calls from 5 min on. Set the clock, for example by NTP."
    )


def test_no_server(kinesis: CommandLine) -> None:
    """Without a server the endpoint fails, and the command ends instead of trying every call."""
    found = outcomes(kinesis, "orders", "--endpoint-url", f"http://127.0.0.1:{free_port()}", status=3)
    assert found == {
        "credentials": "ok",
        "region": "ok",
        "endpoint": "failed",
        "identity": "unchecked",
        "everything else": "unchecked",
    }


def test_a_missing_stream(kinesis: CommandLine) -> None:
    """A stream that does not exist is found, and the checks that need none go on."""
    found = outcomes(kinesis, "missing", status=3)
    assert (found["endpoint"], found["stream"], found["clock"]) == ("ok", "failed", "ok")


def test_no_credentials(kinesis: CommandLine) -> None:
    """Without credentials the sources that were tried are named."""
    without = {name: value for name, value in kinesis.environment.items() if "KEY" not in name}
    found = texts(evolve(kinesis, environment=without), "orders", status=3)
    assert "env: AWS_ACCESS_KEY_ID is not set" in found["credentials"]
    assert found["everything else"] == "calls need credentials"


def test_no_region(kinesis: CommandLine) -> None:
    """Without a region the credentials are looked at all the same, and the error says where a region may come from."""
    without = {name: value for name, value in kinesis.environment.items() if "REGION" not in name}
    found = outcomes(evolve(kinesis, environment=without), "orders", status=3)
    assert found == {"credentials": "ok", "region": "failed", "everything else": "unchecked"}
    ran = evolve(kinesis, environment=without)("doctor", "orders", status=3)
    assert "--region" in ran.lines[1]
    assert ran.err == "1 ok, 1 failed, 1 not checked\n"


@pytest.mark.parametrize(
    ("arguments", "region"), [(["--region", "us-east-1"], {"region": "ok"}), ([], {})], ids=["region", "none"]
)
def test_an_unknown_profile(kinesis: CommandLine, arguments: list[str], region: dict[str, str]) -> None:
    """A profile that does not exist is a check that fails. Which region it would name is not claimed."""
    command = ("orders", "--profile", "nobody", *arguments)
    found = outcomes(kinesis, *command, status=3)
    assert found == {"credentials": "failed", **region, "everything else": "unchecked"}
    assert "nobody" in texts(kinesis, *command, status=3)["credentials"]


def test_whose_credentials(kinesis: CommandLine, create: Create) -> None:
    """STS says whose the credentials are. The key id is masked, and no secret is shown."""
    stream = create(1)
    keys = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "top-secret-of-mine"}
    with moto() as endpoint_url:
        more = {**keys, "AWS_ENDPOINT_URL_STS": endpoint_url}
        ran = kinesis.having(more)("doctor", stream)
    lines = {line.split()[1]: line for line in ran.lines}
    assert lines["credentials"].endswith("key ****MPLE from: environment variables")
    assert "account 123456789012" in lines["identity"]
    assert "IOSFODNN" not in ran.text + ran.err
    assert "top-secret" not in ran.text + ran.err


@define
class Page(LocalHttp):
    """A server that has one page for all requests."""

    body: bytes

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        body = self.body

        class Handler(QuietHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        return Handler


@pytest.mark.parametrize("body", [b"<html></html>", b"<html>", b"{}", b""])
def test_a_page_in_place_of_sts(kinesis: CommandLine, create: Create, body: bytes) -> None:
    """Only the check of the identity fails."""
    stream = create(1)
    with Page(body) as sts:
        to_sts = kinesis.having({"AWS_ENDPOINT_URL_STS": sts.url})
        assert outcomes(to_sts, stream, status=3) == {**READING, "identity": "failed"}
        assert texts(to_sts, stream, status=3)["identity"] == (
            f"{sts.url} gave a malformed response to GetCallerIdentity. Is it an endpoint of STS?"
        )


@pytest.mark.witness
def test_another_server(kinesis: CommandLine, witness: str) -> None:
    """kinesis-local does not know dry runs: nothing is claimed, and nothing is written."""
    stream = StreamUnderTest(witness, name="checked")
    found = outcomes(kinesis, stream.name, "--sink", "--endpoint-url", witness)
    assert (found["kinesis:GetRecords"], found["kinesis:PutRecords"]) == ("unchecked", "unchecked")
    assert found["kinesis:GetShardIterator"] == "ok"
    client = make_client(witness)
    (shard,) = client.list_shards(StreamName=stream.name)["Shards"]
    start = {"ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    iterator = client.get_shard_iterator(StreamName=stream.name, **start)["ShardIterator"]
    assert not client.get_records(ShardIterator=iterator)["Records"]
