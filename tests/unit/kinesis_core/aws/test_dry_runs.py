"""The permission check before a query starts: which calls it makes, in which order, and how it reads the responses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from attrs import define, evolve, field

from kinesis_core.aws import Connection, StreamRef, check_reading, check_writing, dry_run_client
from kinesis_core.aws.dry_runs import BotoDryRuns, knows_dry_run
from kinesis_core.errors import AccessDeniedError, ServiceError
from kinesis_credentials import StaticKeys
from support.canned import Canned

ARN = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders"
SHARD = "shardId-000000000007"
LISTED = {"Shards": [{"ShardId": SHARD}]}
READING = ["ListShards", "GetShardIterator", "GetShardIterator", "GetRecords"]
WRITING = ["ListShards", "PutRecords"]
Check = Callable[[BotoDryRuns], None]

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture
def canned() -> Canned:
    return Canned()


def make_api(canned: Canned, arn: str | None = None, *, is_aws: bool = True) -> BotoDryRuns:
    ref = StreamRef("orders", arn)
    url = f"http://127.0.0.1:9/{id(canned)}"
    api = dry_run_client(Connection((ref,), "eu-west-1", url, StaticKeys("AKIA", "do-not-tell")), ref)
    if api is None:
        pytest.skip("this botocore does not know DryRun")
    canned.serve(api.client)
    assert not api.is_aws
    return evolve(api, is_aws=is_aws)


def respond_to_reading(canned: Canned) -> Iterator[None]:
    """Queue the responses of a service that supports dry runs and allows everything, one at a time."""
    canned.response(LISTED)
    yield
    canned.refuse("DryRunOperationException")
    yield
    canned.response({"ShardIterator": "tip"})
    yield
    canned.refuse("DryRunOperationException")
    yield


def respond_to_writing(canned: Canned) -> Iterator[None]:
    canned.response(LISTED)
    yield
    canned.refuse("InvalidArgumentException")
    yield


CHECKS = {
    "reading": (check_reading, respond_to_reading, READING),
    "writing": (check_writing, respond_to_writing, WRITING),
}
STEPS = [(name, step) for name, (_, _, actions) in CHECKS.items() for step in range(len(actions))]


def check_with(canned: Canned, name: str, step: int, code: str, status: int = 400) -> list[str]:
    """Run the check with good responses before *step* and an error at *step*. Return the actions called."""
    check, responses, _ = CHECKS[name]
    queued = responses(canned)
    for _ in range(step):
        next(queued)
    canned.refuse(code, status=status)
    try:
        check(make_api(canned))
    finally:
        called = [action for action, _ in canned.asked]
    return called


@pytest.mark.parametrize("name", CHECKS)
def test_everything_allowed(canned: Canned, name: str) -> None:
    """If everything is allowed, a check makes each of its calls once and raises nothing."""
    check, responses, actions = CHECKS[name]
    list(responses(canned))
    check(make_api(canned))
    assert [action for action, _ in canned.asked] == actions


def test_requests_of_reading(canned: Canned) -> None:
    """GetRecords is called as a dry run, for one record, with an iterator at LATEST, so it would read nothing."""
    list(respond_to_reading(canned))
    check_reading(make_api(canned, ARN))
    iterator = {"StreamARN": ARN, "ShardId": SHARD, "ShardIteratorType": "LATEST"}
    assert [request for _, request in canned.asked] == [
        {"StreamARN": ARN, "MaxResults": 1},
        {**iterator, "DryRun": True},
        {**iterator, "DryRun": False},
        {"StreamARN": ARN, "ShardIterator": "tip", "Limit": 1, "DryRun": True},
    ]


def test_request_of_writing(canned: Canned) -> None:
    """PutRecords is called as a dry run with an invalid record: no partition key, and a hash key above the largest."""
    list(respond_to_writing(canned))
    check_writing(make_api(canned))
    assert canned.asked[-1] == (
        "PutRecords",
        {
            "StreamName": "orders",
            "Records": [{"Data": "", "ExplicitHashKey": "340282366920938463463374607431768211456"}],
            "DryRun": True,
        },
    )


def test_writing_outside_of_aws(canned: Canned) -> None:
    """Another server gets PutRecords only after it has shown that it supports dry runs: some servers write whatever they receive."""
    canned.response(LISTED)
    canned.refuse("DryRunOperationException")
    canned.refuse("InvalidArgumentException")
    check_writing(make_api(canned, is_aws=False))
    assert [action for action, _ in canned.asked] == ["ListShards", "GetShardIterator", "PutRecords"]


@pytest.mark.parametrize(
    "response", [{"ShardIterator": "carried out"}, "AccessDeniedException", "UnknownOperation"]
)
def test_writing_to_an_older_server(canned: Canned, response: Any) -> None:
    """A server that executes or refuses a dry run gets no PutRecords, and the start continues."""
    canned.response(LISTED)
    if isinstance(response, str):
        canned.refuse(response)
    else:
        canned.response(response)
    check_writing(make_api(canned, is_aws=False))
    assert [action for action, _ in canned.asked] == ["ListShards", "GetShardIterator"]


@pytest.mark.parametrize(("name", "step"), STEPS)
def test_denial(canned: Canned, name: str, step: int) -> None:
    """A denied call raises an error with the IAM action that it needs, and ends the check."""
    action = CHECKS[name][2][step]
    with pytest.raises(
        AccessDeniedError, match=f"Allow the IAM action kinesis:{action} on the stream"
    ) as denied:
        check_with(canned, name, step, "AccessDeniedException")
    assert len(canned.asked) == step + 1
    assert denied.value.code == "AccessDeniedException"


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("KMSAccessDeniedException", "Allow the IAM action kms:Decrypt on the stream's KMS key"),
        ("KMSDisabledException", "KMSDisabledException"),
        ("KMSNotFoundException", "KMSNotFoundException"),
    ],
)
def test_an_unusable_key(canned: Canned, code: str, advice: str) -> None:
    """An unusable KMS key of the stream is raised like a denial, because reading would fail as well."""
    with pytest.raises(ServiceError, match=advice):
        check_with(canned, "reading", 3, code)


@pytest.mark.parametrize(("name", "step"), STEPS)
@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("ProvisionedThroughputExceededException", 400),
        ("LimitExceededException", 400),
        ("KMSThrottlingException", 400),
        ("InternalFailure", 500),
        ("ResourceNotFoundException", 400),
        ("ExpiredIteratorException", 400),
        ("UnknownOperationException", 400),
        ("SerializationException", 400),
    ],
)
def test_other_refusals(canned: Canned, name: str, step: int, code: str, status: int) -> None:
    """Throttles, outages and servers that cannot read the request end the check, and do not fail the start."""
    assert len(check_with(canned, name, step, code, status)) == step + 1


def test_reading_from_an_older_server(canned: Canned) -> None:
    """A server that executes a dry run of GetShardIterator gets no GetRecords, because it would read records."""
    canned.response(LISTED)
    canned.response({"ShardIterator": "carried out"})
    check_reading(make_api(canned))
    assert [action for action, _ in canned.asked] == READING[:2]


@pytest.mark.parametrize("response", [b"<html>", {"FailedRecordCount": 0}])
def test_malformed_responses(canned: Canned, response: Any) -> None:
    """A response without a shard id ends the check, and does not fail the start."""
    canned.response(response)
    check_reading(make_api(canned))
    assert len(canned.asked) == 1


def test_stream_without_shards(canned: Canned) -> None:
    """A stream that is being created has no shard, so the check ends after the listing."""
    canned.response({"Shards": []})
    check_reading(make_api(canned))
    assert len(canned.asked) == 1


@define
class Model:
    """The parts of a client that show which parameters its botocore knows."""

    members: dict[str, object]
    meta: Any = field(init=False)
    service_model: Any = field(init=False)
    input_shape: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.meta = self.service_model = self.input_shape = self

    def operation_model(self, _: str) -> Model:
        return self


def test_older_sdk() -> None:
    """A botocore whose GetRecords lacks DryRun is detected."""
    assert knows_dry_run(Model({"ShardIterator": object(), "DryRun": object()}))
    assert not knows_dry_run(Model({"ShardIterator": object()}))


def test_the_check_can_be_turned_off() -> None:
    """`check_permissions=False` turns the check off, for drivers whose credentials do not allow the executors' calls."""
    ref = StreamRef("orders")
    connection = Connection((ref,), "eu-west-1", None, StaticKeys("AKIA", "do-not-tell"))
    if dry_run_client(connection, ref) is None:
        pytest.skip("this botocore does not know DryRun")
    assert dry_run_client(evolve(connection, check_permissions=False), ref) is None
