"""Calls in CBOR: what is sent, and which calls are sent so."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import cbor2
import pytest

from kinesis_core.aws import WireFormat, check_cbor
from kinesis_core.aws.clients import stream_client
from kinesis_core.aws.connection import Connection, StreamRef
from kinesis_core.aws.dry_runs import BotoDryRuns, dry_run_client, knows_dry_run
from kinesis_core.errors import OptionError
from kinesis_core.model import LAST_EPOCH_MS, AtTimestamp, Cut, PutEntry
from kinesis_credentials import StaticKeys
from support.canned import CBOR_TYPE, Canned, header
from unit.kinesis_core.aws.fast.format_world import ARN, CALLS, EVERY_CALL, JSON_TYPE, PAGE, PUT, FormatWorld

ORDERS = StreamRef("orders", ARN)
IN_CBOR = Connection(
    (ORDERS,),
    "eu-west-1",
    "http://127.0.0.1:9",
    StaticKeys("AKIAEXAMPLE", "secret"),
    wire_format=WireFormat.CBOR,
)


@pytest.fixture
def world() -> FormatWorld:
    return FormatWorld()


@EVERY_CALL
def test_all_calls_of_an_action_are_in_cbor(action: str, world: FormatWorld) -> None:
    """The call through the client and those past it have the content type of CBOR, the same body, and a signature over it."""
    ask, good = CALLS[action]
    responses = []
    for _ in range(3):
        world.canned.response(good, content_type=CBOR_TYPE)
        responses.append(ask(world.api))
    assert responses == responses[:1] * 3
    assert [header(request, "Content-Type") for request in world.canned.requests] == [CBOR_TYPE] * 3
    assert len({request.body for request in world.canned.requests}) == 1
    assert world.api.calls._templates.keys() == {action}
    assert all("content-type" in header(request, "Authorization") for request in world.canned.requests)


def test_what_is_sent(world: FormatWorld) -> None:
    """Requests have the members of JSON, payloads as byte strings, and lengths at their start."""
    world.canned.response(PAGE, content_type=CBOR_TYPE)
    world.canned.response({**PUT, "Records": PUT["Records"] * 2}, content_type=CBOR_TYPE)
    world.api.get_records("iterator", 10)
    world.api.put_records([PutEntry(b"\x00\xff", "key", "7"), PutEntry(b"")])
    assert world.canned.asked == [
        ("GetRecords", {"ShardIterator": "iterator", "Limit": 10, "StreamARN": ARN}),
        (
            "PutRecords",
            {
                "Records": [
                    {"Data": b"\x00\xff", "PartitionKey": "key", "ExplicitHashKey": "7"},
                    {"Data": b""},
                ],
                "StreamARN": ARN,
            },
        ),
    ]
    assert not {0x5F, 0x7F, 0x9F, 0xBF} & set(cast(bytes, world.canned.requests[0].body))


@pytest.mark.parametrize(
    ("cut", "sent"),
    [
        (
            AtTimestamp(1_790_000_000_123),
            {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": cbor2.CBORTag(1, 1_790_000_000_123)},
        ),
        (
            AtTimestamp(10**17),
            {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": cbor2.CBORTag(1, LAST_EPOCH_MS)},
        ),
    ],
)
def test_times_of_iterators(cut: Cut, sent: dict[str, Any], world: FormatWorld) -> None:
    """A time is tag 1 with milliseconds as an integer."""
    world.canned.response({"ShardIterator": "iterator"}, content_type=CBOR_TYPE)
    assert world.api.get_iterator("shardId-1", cut) == "iterator"
    [(_, asked)] = world.canned.asked
    assert asked == {"ShardId": "shardId-1", "StreamARN": ARN, **sent}


@pytest.mark.skipif(
    not knows_dry_run(stream_client(IN_CBOR, ORDERS).client),
    reason="the installed botocore does not know DryRun",
)
def test_dry_runs_stay_json() -> None:
    """The check of permissions is in JSON, on the connections of a client for CBOR."""
    canned = Canned()
    canned.serve(stream_client(IN_CBOR, ORDERS).client)
    dry_runs = dry_run_client(IN_CBOR, ORDERS)
    assert isinstance(dry_runs, BotoDryRuns)
    canned.response({"ShardIterator": "iterator"}, content_type=JSON_TYPE)
    assert dry_runs.get_iterator("shardId-1", dry_run=True) == "iterator"
    assert header(canned.requests[0], "Content-Type") == JSON_TYPE


def missing() -> Any:
    raise ImportError("no module")


def older(*parameters: str) -> Any:
    """Return a module like cbor2 whose decoder knows only *parameters*."""

    def decode(_: object, **given: object) -> None:
        if unknown := given.keys() - set(parameters):
            raise TypeError(f"unexpected keyword arguments {unknown}")

    return SimpleNamespace(CBORDecoder=decode)


@pytest.mark.parametrize(
    "load", [missing, older, lambda: older("max_depth"), lambda: older("max_depth", "allow_duplicate_keys")]
)
def test_without_the_package(load: Callable[[], Any]) -> None:
    """Without cbor2, or with one that lacks a limit, the error says what to install, and which option to leave alone."""
    with pytest.raises(OptionError, match=r"pip install 'kinesis-core\[cbor\]'.*wire_format"):
        check_cbor(load)


@pytest.mark.parametrize("content_type", [CBOR_TYPE, "application/cbor", "Application/CBOR; charset=x"])
def test_content_types_of_cbor(content_type: str, world: FormatWorld) -> None:
    """Both names of CBOR are accepted, in any case and with parameters."""
    world.canned.response(cbor2.dumps(PAGE), content_type=content_type)
    page = world.api.get_records("iterator", 10)
    assert [(record.data, record.arrived_ms) for record in page.records] == [(b"\x00\xff", 1_790_000_000_123)]
