"""The control endpoint, which tests in other languages use."""

from __future__ import annotations

import http.client
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kinesis_emulator import Emulator, ManualClock, Settings
from kinesis_emulator.control import COMMANDS

README = Path(__file__).parents[3] / "packages" / "kinesis-emulator" / "README.md"
SHARD = "shardId-000000000000"
Command = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(connection: http.client.HTTPConnection) -> Callable[..., tuple[int, dict[str, Any]]]:
    """Return a function that makes one request, and returns the status and the JSON of its response."""

    def call(name: str, body: bytes, method: str = "POST") -> tuple[int, dict[str, Any]]:
        connection.request(method, f"/_control/{name}", body)
        response = connection.getresponse()
        return response.status, json.loads(response.read())

    return call


@pytest.fixture
def command(ask: Callable[..., tuple[int, dict[str, Any]]]) -> Command:
    """Return a function that carries out a command, and returns its result."""

    def call(name: str, **members: Any) -> dict[str, Any]:
        status, result = ask(name, json.dumps(members).encode())
        assert status == 200, result
        return result

    return call


def test_streams_are_made_and_resharded(emulator: Emulator, command: Command) -> None:
    """`create`, `split`, `merge` and `trim` do what the methods of `Emulator` do."""
    assert command("create", stream="teas", shards=2) == {"shard_ids": [SHARD, "shardId-000000000001"]}
    children = command("split", stream="teas", shard_id=SHARD, new_starting_hash_key="1000")["shard_ids"]
    assert emulator.shard_ids("teas") == [*children, "shardId-000000000001"]
    assert [emulator.put("teas", b"", explicit_hash_key=key).shard_id for key in (999, 1000)] == children
    merged = command("merge", stream="teas", shard_id=children[0], adjacent_shard_id=children[1])
    assert emulator.shard_ids("teas") == [merged["shard_id"], "shardId-000000000001"]
    assert len(command("split", stream="teas", shard_id=merged["shard_id"])["shard_ids"]) == 2


def test_records_are_trimmed(
    emulator: Emulator, command: Command, read_from: Callable[..., list[bytes]]
) -> None:
    """`trim` removes the oldest records of a shard."""
    for data in (b"1", b"2", b"3"):
        emulator.put("orders", data)
    assert command("trim", stream="orders", shard_id=SHARD, records=2) == {}
    assert read_from() == [b"3"]


def test_a_status_is_set(client: Any, command: Command, clock: ManualClock) -> None:
    """`status` lets a stream be in a status for a time."""
    summary = client.describe_stream_summary
    command("status", stream="orders", status="CREATING", seconds=5, settling_seconds=2)
    assert summary(StreamName="orders")["StreamDescriptionSummary"]["StreamStatus"] == "CREATING"
    clock.advance(5)
    assert summary(StreamName="orders")["StreamDescriptionSummary"]["StreamStatus"] == "ACTIVE"
    with pytest.raises(client.exceptions.ResourceInUseException):
        client.list_shards(StreamName="orders")
    clock.advance(2)
    client.list_shards(StreamName="orders")


def test_a_script_of_faults(client: Any, command: Command, refusal: Callable[..., tuple[str, str]]) -> None:
    """The next calls of an operation fail as the steps say. Without members no call fails."""
    step = {
        "action": "ListShards",
        "times": 1,
        "fault": {"code": "LimitExceededException", "message": "Slow."},
    }
    command("faults", steps=[step])
    assert refusal(client.list_shards, StreamName="orders") == ("LimitExceededException", "Slow.")
    client.list_shards(StreamName="orders")
    command("faults", steps=[{**step, "times": None}])
    refusal(client.list_shards, StreamName="orders")
    command("faults")
    client.list_shards(StreamName="orders")


def test_random_faults(client: Any, command: Command) -> None:
    """With a share of 1 every call has a fault, and the seed chooses it."""
    command("faults", share=1, seed=3)
    with pytest.raises(Exception, match=r".") as caught:
        client.list_shards(StreamName="orders")
    assert caught.type.__module__.startswith("botocore")


def test_time_is_moved(command: Command, emulator: Emulator, client: Any, clock: ManualClock) -> None:
    """`advance` moves the clock that all depends on, such as the retention."""
    emulator.put("orders", b"old")
    before_s = clock()
    command("advance", seconds=24 * 3600 + 1)
    assert clock() == before_s + 24 * 3600 + 1
    iterator = client.get_shard_iterator(StreamName="orders", ShardId=SHARD, ShardIteratorType="TRIM_HORIZON")
    assert client.get_records(ShardIterator=iterator["ShardIterator"])["Records"] == []


def test_an_emulator_in_real_time_is_moved() -> None:
    """A clock that runs by itself runs on from the later time."""
    with Emulator(clock=lambda: 1_000_000.0) as emulator:
        emulator.create_stream("orders")
        emulator.advance(5.5)
        assert emulator.put("orders", b"1").arrived_ms == 1_000_005_500


def test_settings_are_changed_and_shown(emulator: Emulator, command: Command) -> None:
    """The fields that are named change, also single limits. The response has all."""
    shown = command(
        "settings", stream_creating_s=2, deny=["PutRecord"], limits={"read_calls_per_s": 7}, scan_ms=None
    )
    assert (emulator.settings.stream_creating_s, emulator.settings.deny) == (2, {"PutRecord"})
    assert emulator.settings.limits.read_calls_per_s == 7
    assert emulator.settings.limits.write_bytes_per_s is None
    assert shown == command("settings")
    assert shown["limits"]["read_calls_per_s"] == 7
    assert shown["shard_end"] == Settings().shard_end


def test_calls_are_counted_and_all_is_cleared(emulator: Emulator, client: Any, command: Command) -> None:
    """`clear` leaves no stream, no setting of an account, no fault and no count. A new stream of an old name is kept."""
    emulator.settings.stream_deleting_s = 5
    emulator.create_stream("teas")
    client.list_streams()
    client.delete_stream(StreamName="teas")
    client.update_account_settings(MinimumThroughputBillingCommitment={"Status": "ENABLED"})
    assert command("calls") == {"ListStreams": 1, "DeleteStream": 1, "UpdateAccountSettings": 1}
    command("faults", share=1)
    assert command("clear") == {}
    assert command("calls") == {}
    assert client.list_streams()["StreamNames"] == []
    assert client.describe_account_settings()["MinimumThroughputBillingCommitment"] == {"Status": "DISABLED"}
    emulator.create_stream("teas")
    emulator.advance(5)
    assert client.list_streams()["StreamNames"] == ["teas"]


@pytest.mark.parametrize(
    ("name", "body", "status", "sentence"),
    [
        (
            "nothing",
            "{}",
            404,
            "There is no /_control/nothing. The commands are /_control/create, /_control/",
        ),
        ("split", "{", 400, "The body is not JSON: "),
        ("split", "[]", 400, "The body must be a JSON object."),
        ("split", '{"stream": "orders"}', 400, "shard_id is missing."),
        (
            "split",
            '{"shard": 1}',
            400,
            "shard is unknown. Known are stream, shard_id, new_starting_hash_key.",
        ),
        ("split", '{"stream": 1, "shard_id": "x"}', 400, "stream must be a string; got 1."),
        (
            "split",
            '{"stream": "orders", "shard_id": "x", "new_starting_hash_key": "-1"}',
            400,
            "new_starting_hash_key must be a number in a string; got '-1'.",
        ),
        (
            "split",
            '{"stream": "no", "shard_id": "x"}',
            400,
            "ResourceNotFoundException: Stream no under account",
        ),
        (
            "create",
            '{"stream": "a", "shards": 100001}',
            400,
            "shards must be 1 to 100000; got 100001.",
        ),
        (
            "trim",
            '{"stream": "a", "shard_id": "x", "records": true}',
            400,
            "records must be an integer; got True.",
        ),
        (
            "status",
            '{"stream": "orders", "status": "ACTIVE", "seconds": 1}',
            400,
            "status must be 'CREATING' or 'UPDATING' or 'DELETING'; got 'ACTIVE'.",
        ),
        (
            "status",
            '{"stream": "orders", "status": "CREATING", "seconds": 1, "settling_seconds": -1}',
            400,
            "settling_seconds must be 0 to ",
        ),
        ("advance", '{"seconds": -1}', 400, "seconds must be 0 to "),
        ("advance", '{"seconds": "1"}', 400, "seconds must be a number; got '1'."),
        ("faults", '{"steps": {}}', 400, "steps must be a list; got {}."),
        ("faults", '{"steps": [{}]}', 400, "steps[0].fault is missing."),
        (
            "faults",
            '{"steps": [{"fault": {"code": 5}}]}',
            400,
            "steps[0].fault.code must be a string; got 5.",
        ),
        ("faults", '{"steps": [], "share": 0.5}', 400, "steps and share cannot be given together."),
        ("faults", '{"share": 2}', 400, "share must be from 0 to 1; got 2."),
        ("settings", '{"creating": 1}', 400, "creating is unknown. Known are limits, region, "),
        ("settings", '{"limits": {"reads": 1}}', 400, "limits.reads is unknown. Known are "),
        ("settings", '{"limits": 1}', 400, "limits must be a JSON object; got 1."),
        (
            "settings",
            '{"shard_end": "x"}',
            400,
            "shard_end must be 'with_last_records' or 'page_of_its_own'; got 'x'.",
        ),
    ],
)
def test_an_error_names_the_member(ask: Any, name: str, body: str, status: int, sentence: str) -> None:
    """The response to a wrong request is one sentence in JSON, and nothing is changed."""
    answered, result = ask(name, body.encode())
    assert (answered, result["error"][: len(sentence)]) == (status, sentence)


def test_the_examples_of_the_readme(emulator: Emulator, connection: http.client.HTTPConnection) -> None:
    """The README's table has each command once, with an example that works, in the order in which a reader tries them."""
    examples = re.findall(r"^\| `(\w+)` \|.*\| `(curl .*)` \|$", README.read_text(), re.MULTILINE)
    assert [name for name, _ in examples] == list(COMMANDS)
    emulator.put("orders", b"1")
    for name, example in examples:
        curl, option, body, url = shlex.split(example)
        assert (curl, option, url) == ("curl", "-d", f"localhost:4567/_control/{name}")
        connection.request("POST", f"/_control/{name}", body)
        response = connection.getresponse()
        assert (response.status, response.read()[:1]) == (200, b"{"), example
    assert not emulator.has_stream("orders")  # the last one clears all


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_needs_post(ask: Any, name: str) -> None:
    """A link or a crawler changes nothing."""
    assert ask(name, b"", "GET") == (405, {"error": f"/_control/{name} needs POST; got GET."})
