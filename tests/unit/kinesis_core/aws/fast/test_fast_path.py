"""The fast path: which calls bypass botocore's client, which use it, and that both behave alike."""

from __future__ import annotations

import logging
import random
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import define, field
from botocore.config import Config
from botocore.credentials import Credentials, ReadOnlyCredentials
from botocore.session import Session

from kinesis_core.aws import RetryPolicy
from kinesis_core.aws.client import BotoStreamApi
from kinesis_core.aws.fast.fast_path import FastPath, install_raw_bodies
from kinesis_core.aws.transport import Transport
from kinesis_core.budget import IN_FLIGHT, LARGEST_BODY, ByteBudget, receiving
from kinesis_core.errors import ServiceError
from kinesis_core.model import PutEntry, TrimHorizon
from support.canned import Canned, header
from support.fake_stream import FakeClock

ARN = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders"
PAGE = {"Records": [], "NextShardIterator": "next", "MillisBehindLatest": 0}
PUT = {"FailedRecordCount": 0, "Records": [{"ShardId": "shardId-1", "SequenceNumber": "5"}]}
FIRST = ReadOnlyCredentials("AKIAFIRST", "do-not-tell", "nor-this")
SECOND = ReadOnlyCredentials("AKIASECOND", "do-not-tell", "nor-that")
CALLS: dict[str, tuple[Any, Any]] = {
    "GetShardIterator": (
        lambda api: api.get_iterator("shardId-1", TrimHorizon()),
        {"ShardIterator": "iterator"},
    ),
    "GetRecords": (lambda api: api.get_records("iterator", 10), PAGE),
    "PutRecords": (lambda api: api.put_records([PutEntry(b"data", "key")]), PUT),
}
every_call = pytest.mark.parametrize("action", CALLS)


class Keys(Credentials):
    """Credentials that change when a test sets others."""

    def __init__(self) -> None:
        self.now = FIRST

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        return self.now


KEYS = Keys()
SESSION = Session()
SESSION.register_component("credential_provider", SimpleNamespace(load_credentials=lambda: KEYS))


@define
class World:
    """One stream behind a client with canned responses."""

    client: Any
    canned: Canned = field(factory=Canned)
    whole: list[str] = field(factory=list)
    """The actions of the calls that went through the client."""

    def __attrs_post_init__(self) -> None:
        self.canned.serve(self.client)
        install_raw_bodies(self.client)
        self.client.meta.events.register("before-call.kinesis", self._note)

    def _note(self, model: Any, **_: Any) -> None:
        self.whole.append(model.name)

    def open(self, client: Any = None, transport: Transport = Transport.DIRECT) -> BotoStreamApi:
        client = client or self.client
        calls = FastPath(client, KEYS, transport)
        return BotoStreamApi(client, "orders", ARN, RetryPolicy(0), FakeClock(), random.Random(0), calls)


@pytest.fixture
def world() -> World:
    KEYS.now = FIRST
    config = Config(retries={"total_max_attempts": 1})
    return World(SESSION.create_client("kinesis", "eu-west-1", config=config))


@every_call
def test_the_first_call_goes_through_the_client_and_the_others_past_it(action: str, world: World) -> None:
    """Only the first call of an action on a stream goes through the client. All calls return the same."""
    ask, good = CALLS[action]
    api = world.open()
    responses = []
    for _ in range(4):
        world.canned.response(good)
        responses.append(ask(api))
    assert world.whole == [action]
    assert responses == responses[:1] * 4
    assert [asked[0] for asked in world.canned.asked] == [action] * 4
    assert world.canned.asked == world.canned.asked[:1] * 4


@every_call
def test_botocore_makes_every_call_if_it_is_chosen(
    action: str, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """With the transport `botocore` every call goes through the client. A DEBUG event names the transport."""
    ask, good = CALLS[action]
    with caplog.at_level(logging.DEBUG):
        api = world.open(transport=Transport.BOTOCORE)
        world.open()
    for _ in range(3):
        world.canned.response(good)
        ask(api)
    assert world.whole == [action] * 3
    assert [m for m in caplog.messages if m.startswith("transport.chosen")] == [
        "transport.chosen transport=botocore endpoint=https://kinesis.eu-west-1.amazonaws.com",
        "transport.chosen transport=direct endpoint=https://kinesis.eu-west-1.amazonaws.com",
    ]


def test_the_client_needs_room_for_the_largest_page(world: World) -> None:
    """botocore reads a body whole, of whatever length. So GetRecords by the client needs room for the largest page, and no other call does."""
    api, budget = world.open(), ByteBudget(10 * LARGEST_BODY)
    share = budget.share()
    with receiving(share):
        for action, (ask, good) in CALLS.items():
            for size_bytes in (LARGEST_BODY if action == "GetRecords" else 0, 0):
                world.canned.response(good)
                ask(api)
                assert share.size_bytes == IN_FLIGHT * size_bytes
                share.release()


def test_streams_and_actions_have_requests_of_their_own(world: World) -> None:
    """Each stream and action has a first call of its own, because the endpoint may depend on both."""
    for api in (world.open(), world.open()):
        for ask, good in CALLS.values():
            world.canned.response(good)
            ask(api)
    assert world.whole == [*CALLS, *CALLS]


def test_other_keys_begin_with_the_client_again(world: World) -> None:
    """After a refresh of the keys the next call goes through the client. Later calls bypass it with the new keys."""
    api = world.open()
    for keys in (FIRST, FIRST, SECOND, SECOND):
        KEYS.now = keys
        world.canned.response(PAGE)
        api.get_records("iterator", 10)
    assert world.whole == ["GetRecords"] * 2
    tokens = [header(request, "X-Amz-Security-Token") for request in world.canned.requests]
    assert tokens == ["nor-this", "nor-this", "nor-that", "nor-that"]
    assert "Credential=AKIASECOND/" in header(world.canned.requests[3], "Authorization")


def test_a_client_that_lacks_what_we_use_makes_every_call(world: World) -> None:
    """If botocore's HTTP session is not at the known attribute, every call goes through the client."""
    api = world.open(SimpleNamespace(meta=world.client.meta, get_records=world.client.get_records))
    for _ in range(3):
        world.canned.response(PAGE)
        api.get_records("iterator", 10)
    assert world.whole == ["GetRecords"] * 3


REFUSALS = [
    ("ProvisionedThroughputExceededException", 400, 1),
    ("ExpiredIteratorException", 400, 1),
    ("ResourceNotFoundException", 400, 1),
    ("com.amazon.coral.service#InvalidArgumentException", 400, 1),
    ("InternalFailure", 500, 1),
    ("ServiceUnavailable", 503, 1),
    ("ExpiredTokenException", 400, 2),
    ("InvalidSignatureException", 403, 2),
    ("AccessDeniedException", 400, 2),
    ("NobodyKnowsThisException", 400, 2),
    ("MovedPermanently", 301, 2),
]


@every_call
@pytest.mark.parametrize(("code", "status", "asked"), REFUSALS)
def test_refusals_of_both_ways_are_the_same(
    code: str, status: int, asked: int, action: str, world: World
) -> None:
    """
    The error past the client is the one that the client raises.

    A refusal that concerns the caller's identity, or has an unknown code, is first repeated through the client: a
    signature that AWS no longer accepts fails no call. A 5xx is not repeated: the request may have been executed.
    """
    ask, good = CALLS[action]
    api, errors = world.open(), []
    for requests in (1, asked):
        for _ in range(requests):
            world.canned.refuse(code, "It will not do.", status)
        with pytest.raises(ServiceError) as caught:
            ask(api)
        errors.append(caught.value)
        world.canned.response(good)
        ask(api)
    first, second = errors
    assert (type(first), str(first), first.code) == (type(second), str(second), second.code)
    assert (first.request_id, first.retryable) == (second.request_id, second.retryable)
    assert world.canned.responses == []


@every_call
def test_a_call_that_was_refused_works_again_through_the_client(action: str, world: World) -> None:
    """A call that is refused past the client is repeated through it and succeeds. The next call bypasses it again."""
    ask, good = CALLS[action]
    api = world.open()
    world.canned.response(good)
    ask(api)
    world.canned.refuse("InvalidSignatureException", status=403)
    for _ in range(2):
        world.canned.response(good)
        ask(api)
    assert world.whole == [action] * 2
    assert world.canned.responses == []


def test_a_repeated_request_is_no_template(world: World) -> None:
    """A request that the client sent twice has a header that says so. It is not a template for later calls."""

    def try_again(response: Any, **_: Any) -> int | None:
        return None if response[0].status_code == 200 else 0

    world.client.meta.events.register("needs-retry.kinesis", try_again)
    world.canned.refuse("ExpiredTokenException")
    api = world.open()
    for _ in range(3):
        world.canned.response(PAGE)
        api.get_records("iterator", 10)
    assert world.whole == ["GetRecords"] * 2
    assert {header(request, "amz-sdk-request") for request in world.canned.requests[2:]} == {
        header(world.canned.requests[0], "amz-sdk-request")
    }
