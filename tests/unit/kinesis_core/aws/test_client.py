"""The AWS client: the requests that it sends, and what it makes of the responses."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable
from email.utils import formatdate, parsedate_to_datetime
from typing import Any

import botocore.exceptions as boto
import pytest
from attrs import evolve

from kinesis_core.aws import Connection, Consumer, RetryBudget, RetryPolicy, StreamRef, stream_client
from kinesis_core.aws.client import BotoStreamApi
from kinesis_core.aws.subscriptions import BotoConsumerApi
from kinesis_core.errors import (
    AccessDeniedError,
    InvalidRequestError,
    IteratorExpiredError,
    MalformedResponseError,
    ServiceError,
    StreamNotFoundError,
    StreamNotReadyError,
    ThrottledError,
    UnavailableError,
)
from kinesis_core.model import After, At, AtTimestamp, Cut, Shard, ShardEnd, TrimHorizon, WarmThroughput
from kinesis_credentials import StaticKeys
from support.canned import REQUEST_ID, Canned
from support.fake_stream import FakeClock

ARN = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders"
SECRET = "do-not-tell"
PAGE = {"Records": [], "NextShardIterator": "next", "MillisBehindLatest": 0}
ITERATOR = {"ShardIterator": "iterator"}
SUMMARY = {
    "StreamDescriptionSummary": {
        "StreamName": "orders",
        "StreamARN": ARN,
        "StreamStatus": "ACTIVE",
        "StreamCreationTimestamp": 1780000000.123,
        "RetentionPeriodHours": 48,
        "EnhancedMonitoring": [],
        "OpenShardCount": 1,
    }
}
RETRIES = 2
AT_ONCE = RetryPolicy(RETRIES, 0.0, 0.0, 0.0)
"""No waits, and no outage timeout."""


def shard_json(shard_id: str, **more: Any) -> dict[str, Any]:
    return {
        "ShardId": shard_id,
        "HashKeyRange": {"StartingHashKey": "0", "EndingHashKey": str(2**128 - 1)},
        "SequenceNumberRange": {"StartingSequenceNumber": "5"},
        **more,
    }


@pytest.fixture
def canned() -> Canned:
    return Canned()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def make_api(canned: Canned, clock: FakeClock, arn: str | None = None) -> BotoStreamApi:
    ref = StreamRef("orders", arn)
    connection = Connection(
        (ref,), "eu-west-1", f"http://127.0.0.1:9/{id(canned)}", StaticKeys("AKIAEXAMPLE", SECRET)
    )
    opened = stream_client(connection, ref)
    canned.serve(opened.client)
    return evolve(opened, policy=AT_ONCE, clock=clock, rng=random.Random(0), budget=RetryBudget())


@pytest.fixture
def api(canned: Canned, clock: FakeClock) -> BotoStreamApi:
    return make_api(canned, clock)


Call = Callable[[BotoStreamApi], Any]
CALLS: dict[str, tuple[Call, Any]] = {
    "DescribeStreamSummary": (lambda api: api.describe(), SUMMARY),
    "ListShards": (lambda api: api.list_shards(), {"Shards": [shard_json("shardId-0")]}),
    "GetShardIterator": (lambda api: api.get_iterator("shardId-1", TrimHorizon()), ITERATOR),
    "GetRecords": (lambda api: api.get_records("iterator", 10), PAGE),
}
every_call = pytest.mark.parametrize("action", CALLS)


# Requests


@every_call
def test_calls_name_the_stream_as_the_user_did(action: str, canned: Canned, clock: FakeClock) -> None:
    """A stream given by ARN is sent by ARN. A stream given by name is sent by name, if the action takes one."""
    ask, good = CALLS[action]
    for arn, expected in ((ARN, {"StreamARN": ARN}), (None, {"StreamName": "orders"})):
        canned.response(good)
        ask(make_api(canned, clock, arn))
        asked, params = canned.asked.pop()
        named = {key: value for key, value in params.items() if key in {"StreamARN", "StreamName"}}
        assert asked == action
        assert named == (expected if action != "GetRecords" or arn else {})


@pytest.mark.parametrize(
    ("cut", "params"),
    [
        (TrimHorizon(), {"ShardIteratorType": "TRIM_HORIZON"}),
        (At(7), {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "StartingSequenceNumber": "7"}),
        (
            After(10**55),
            {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": "1" + "0" * 55},
        ),
        (
            AtTimestamp(1790000000345),
            {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": 1790000000.345},
        ),
    ],
)
def test_each_cut_has_its_iterator(
    cut: Cut, params: dict[str, Any], api: BotoStreamApi, canned: Canned
) -> None:
    """Every cut but the end of a shard becomes the iterator type that reads from it. A time has its milliseconds."""
    canned.response(ITERATOR)
    assert api.get_iterator("shardId-1", cut) == "iterator"
    assert canned.asked == [("GetShardIterator", {"StreamName": "orders", "ShardId": "shardId-1", **params})]


def test_no_iterator_after_the_end_of_a_shard(api: BotoStreamApi, canned: Canned) -> None:
    """An iterator at the end of a shard is an error, and no request is sent."""
    with pytest.raises(ValueError, match="end of a shard"):
        api.get_iterator("shardId-1", ShardEnd())
    assert canned.asked == []


def test_list_shards_sends_its_token_alone(canned: Canned, clock: FakeClock) -> None:
    """A further page is requested by NextToken alone, and all pages make one list."""
    for n in range(3):
        canned.response({"Shards": [shard_json(f"shardId-{n}")], **({"NextToken": f"t{n}"} if n < 2 else {})})
    shards = make_api(canned, clock, ARN).list_shards()
    assert [shard.shard_id for shard in shards] == ["shardId-0", "shardId-1", "shardId-2"]
    assert [params for _, params in canned.asked] == [
        {"StreamARN": ARN, "MaxResults": 10_000},
        {"NextToken": "t0"},
        {"NextToken": "t1"},
    ]


def test_consumers_are_listed_by_arn_on_each_page(canned: Canned, clock: FakeClock) -> None:
    """Each further page is requested with the ARN beside its token, and all pages make one list by name."""
    for name, token in (("b", {"NextToken": "t"}), ("a", {})):
        facts = {"ConsumerName": name, "ConsumerARN": f"{ARN}/{name}", "ConsumerStatus": "ACTIVE"}
        canned.response({"Consumers": [{**facts, "ConsumerCreationTimestamp": 1769850000.1}], **token})
    stream = make_api(canned, clock, ARN)
    api = BotoConsumerApi(stream.client, "orders", ARN, AT_ONCE, clock, stream.rng)
    assert api.list_consumers() == [
        Consumer(name, f"{ARN}/{name}", "ACTIVE", 1769850000100) for name in ("a", "b")
    ]
    assert canned.asked == [
        ("ListStreamConsumers", {"StreamARN": ARN}),
        ("ListStreamConsumers", {"StreamARN": ARN, "NextToken": "t"}),
    ]


def test_only_open_shards_are_listed_on_request(api: BotoStreamApi, canned: Canned) -> None:
    """A listing of open shards uses a shard filter, so Kinesis leaves closed shards out."""
    canned.response({"Shards": [shard_json("shardId-0")]})
    api.list_shards(only_open=True)
    assert canned.asked[0][1]["ShardFilter"] == {"Type": "AT_LATEST"}


# Responses


def test_a_shard_as_listed(api: BotoStreamApi, canned: Canned) -> None:
    """Lineage, hash keys and sequence numbers of a shard are as listed. Members that Kinesis omits are None."""
    numbers = {"StartingSequenceNumber": "5", "EndingSequenceNumber": "0"}
    merged = {"ParentShardId": "a", "AdjacentParentShardId": "b", "SequenceNumberRange": numbers}
    canned.response({"Shards": [shard_json("c", **merged), shard_json("d")]})
    assert api.list_shards() == [
        Shard("c", "a", "b", 0, 2**128 - 1, 5, 0),
        Shard("d", None, None, 0, 2**128 - 1, 5, None),
    ]


def test_a_stream_as_described(api: BotoStreamApi, canned: Canned) -> None:
    """The summary has the creation time in milliseconds, which distinguishes a recreated stream."""
    canned.response(SUMMARY)
    summary = api.describe()
    assert (summary.name, summary.arn, summary.status) == ("orders", ARN, "ACTIVE")
    assert (summary.created_ms, summary.retention_hours) == (1780000000123, 48)


@pytest.mark.parametrize("strategy", [None, "USER_PARTITION_KEY", "AUTO", "SOMETHING_NEW"])
def test_only_auto_distributes_records(strategy: str | None, api: BotoStreamApi, canned: Canned) -> None:
    """Kinesis chooses the shards only with the strategy AUTO, whether botocore knows it or not. Provisioned streams have no strategy."""
    reported = {} if strategy is None else {"RecordDistributionStrategy": strategy}
    canned.response({"StreamDescriptionSummary": {**SUMMARY["StreamDescriptionSummary"], **reported}})
    assert api.describe().is_auto_distributed == (strategy == "AUTO")


def test_null_is_the_same_as_absent(api: BotoStreamApi, canned: Canned) -> None:
    """A local Kinesis returns null for what it does not have."""
    optional = (
        "StreamModeDetails MaxRecordSizeInKiB RecordDistributionStrategy EncryptionType KeyId OpenShardCount "
        "ConsumerCount QueueCount WarmThroughput"
    )
    whole = {**SUMMARY["StreamDescriptionSummary"]}
    without = {name: fact for name, fact in whole.items() if name not in optional.split()}
    canned.response({"StreamDescriptionSummary": without})
    canned.response({"StreamDescriptionSummary": {**without, **dict.fromkeys(optional.split())}})
    assert api.describe() == api.describe()


def test_the_size_of_records(api: BotoStreamApi, canned: Canned) -> None:
    """The largest record is the stream's own setting, whether botocore knows it or not."""
    canned.response(
        {"StreamDescriptionSummary": {**SUMMARY["StreamDescriptionSummary"], "MaxRecordSizeInKiB": 10240}}
    )
    assert api.describe().max_record_bytes == 10 * 1024 * 1024


@pytest.mark.parametrize(
    ("reported", "queues", "warm"),
    [
        ({}, None, None),
        ({"QueueCount": 0, "WarmThroughput": {}}, 0, None),
        ({"QueueCount": 3, "WarmThroughput": {"CurrentMiBps": 4, "TargetMiBps": 8}}, 3, WarmThroughput(4, 8)),
        ({"WarmThroughput": {"CurrentMiBps": 4}}, None, WarmThroughput(4, 4)),
        ({"WarmThroughput": {"CurrentMiBps": 4, "TargetMiBps": None}}, None, WarmThroughput(4, 4)),
        ({"WarmThroughput": {"CurrentMiBps": None}}, None, None),
    ],
)
def test_queues_and_warm_throughput(
    reported: dict[str, Any],
    queues: int | None,
    warm: WarmThroughput | None,
    api: BotoStreamApi,
    canned: Canned,
) -> None:
    """A botocore that knows neither hides neither. Provisioned streams have no warm throughput."""
    canned.response({"StreamDescriptionSummary": {**SUMMARY["StreamDescriptionSummary"], **reported}})
    summary = api.describe()
    assert (summary.queues, summary.warm) == (queues, warm)


def test_a_page_is_decoded_by_us(api: BotoStreamApi, canned: Canned) -> None:
    """The body of GetRecords bypasses botocore's parser. Payloads are left out on request."""
    record = {"SequenceNumber": "5", "Data": "eA==", "PartitionKey": "k"}
    for with_data, data in ((True, b"x"), (False, b"")):
        canned.response({**PAGE, "Records": [record]})
        page = api.get_records("iterator", 10, with_data)
        assert [(r.number, r.data) for r in page.records] == [(5, data)]
    assert canned.asked[0] == ("GetRecords", {"ShardIterator": "iterator", "Limit": 10})


def test_responses_show_the_services_clock(api: BotoStreamApi, canned: Canned) -> None:
    """The Date header of a response sets the service's time, whatever the local clock shows."""
    date = "Sat, 21 Nov 2026 01:13:43 GMT"
    canned.response(SUMMARY, date=date)
    api.describe()
    assert api.now_ms() == parsedate_to_datetime(date).timestamp() * 1000


# Errors


@pytest.mark.parametrize(
    ("code", "status", "kind", "advice"),
    [
        ("ResourceNotFoundException", 400, StreamNotFoundError, "Check the stream's name or ARN, the region"),
        ("ExpiredIteratorException", 400, IteratorExpiredError, ""),
        ("ProvisionedThroughputExceededException", 400, ThrottledError, "Other consumers use up the quota"),
        ("LimitExceededException", 400, ThrottledError, "quota"),
        ("ThrottlingException", 400, ThrottledError, "quota"),
        ("KMSThrottlingException", 400, ThrottledError, "quota"),
        ("InvalidArgumentException", 400, InvalidRequestError, ""),
        ("ValidationException", 400, InvalidRequestError, ""),
        ("AccessDeniedException", 400, AccessDeniedError, "Allow the IAM action kinesis:GetShardIterator"),
        ("KMSAccessDeniedException", 400, AccessDeniedError, "kms:Decrypt on the stream's KMS key"),
        ("UnrecognizedClientException", 400, AccessDeniedError, "use other credentials"),
        ("ExpiredTokenException", 400, AccessDeniedError, "StaticKeys are never refreshed"),
        ("InvalidSignatureException", 403, AccessDeniedError, "the clock of the machine"),
        ("IncompleteSignatureException", 403, AccessDeniedError, "Check the secret key"),
        ("com.amazon.coral.service#AccessDeniedException", 400, AccessDeniedError, "credentials"),
        ("InternalFailure", 500, UnavailableError, "Check endpoint_url"),
        ("ServiceUnavailable", 503, UnavailableError, "Check endpoint_url"),
        (
            "a#NobodyKnowsThisException",
            400,
            ServiceError,
            "AWS code NobodyKnowsThisException is not retried. See http",
        ),
        (
            "KMSDisabledException",
            400,
            ServiceError,
            "The stream's KMS key is disabled: enable it, then restart.",
        ),
        (
            "com.amazonaws.kinesis#KMSDisabledException",
            400,
            ServiceError,
            "It will not do. The stream's KMS key",
        ),
        ("KMSNotFoundException", 400, ServiceError, "The stream's KMS key does not exist"),
        ("KMSInvalidStateException", 400, ServiceError, "cancel its deletion"),
        ("KMSOptInRequired", 400, ServiceError, "subscribe it to the service"),
    ],
)
def test_each_code_has_its_class(
    code: str, status: int, kind: type[ServiceError], advice: str, api: BotoStreamApi, canned: Canned
) -> None:
    """An AWS error becomes the error class of its code. The message has code, status, request id, AWS's text, advice, stream and shard."""
    for _ in range(RETRIES + 1):
        canned.refuse(code, "It will not do.", status)
    with pytest.raises(ServiceError) as caught:
        api.get_iterator("shardId-1", TrimHorizon())
    error, text = caught.value, str(caught.value)
    assert type(error) is kind
    assert error.code.endswith(code.rpartition("#")[2])
    assert error.request_id == REQUEST_ID
    assert text.startswith("Kinesis GetShardIterator failed: ")
    for part in (
        error.code,
        f"status {status}",
        REQUEST_ID,
        "It will not do.",
        advice,
        "[stream=orders shard=shardId-1]",
    ):
        assert part in text
    assert "  " not in text
    assert ".." not in text
    assert SECRET not in text
    assert len(canned.asked) == (RETRIES + 1 if kind is UnavailableError else 1)


UNREACHABLE = [
    boto.EndpointConnectionError(endpoint_url="http://127.0.0.1:9"),
    boto.ConnectTimeoutError(endpoint_url="http://127.0.0.1:9"),
    boto.ReadTimeoutError(endpoint_url="http://127.0.0.1:9"),
    boto.ConnectionClosedError(endpoint_url="http://127.0.0.1:9"),
    boto.ProxyConnectionError(proxy_url="http://127.0.0.1:9"),
    boto.HTTPClientError(error="reset"),
]


@every_call
@pytest.mark.parametrize("broken", UNREACHABLE, ids=lambda error: type(error).__name__)
def test_a_broken_connection_is_retried(
    action: str, broken: Exception, api: BotoStreamApi, canned: Canned
) -> None:
    """A connection that fails or breaks is retried. The final error has advice on what to check."""
    ask, good = CALLS[action]
    canned.fail(broken)
    canned.response(good)
    ask(api)
    for _ in range(RETRIES + 1):
        canned.fail(broken)
    with pytest.raises(UnavailableError, match="Check endpoint_url, region, network and proxy") as caught:
        ask(api)
    assert caught.value.code == type(broken).__name__


def test_a_token_that_cannot_be_sent_is_in_no_traceback(api: BotoStreamApi, canned: Canned) -> None:
    """http.client quotes the header in its error, which botocore wraps. It is no cause of ours, because Spark logs causes."""
    for _ in range(RETRIES + 1):
        canned.fail(boto.HTTPClientError(error=ValueError("Invalid header value b't0ken'")))
    with pytest.raises(UnavailableError) as caught:
        api.describe()
    assert "t0ken" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("action", ["GetRecords", "GetShardIterator"])
def test_throttles_of_a_shard_are_left_to_the_reader(action: str, api: BotoStreamApi, canned: Canned) -> None:
    """A throttle of a call on a shard is raised at once, because readers of a shard limit their own rate."""
    canned.refuse("ProvisionedThroughputExceededException")
    with pytest.raises(ThrottledError):
        CALLS[action][0](api)
    assert len(canned.asked) == 1


@pytest.mark.parametrize("action", ["DescribeStreamSummary", "ListShards"])
def test_throttles_of_a_stream_are_waited_out(action: str, api: BotoStreamApi, canned: Canned) -> None:
    """Any number of throttles of other calls is waited out."""
    ask, good = CALLS[action]
    for _ in range(100):
        canned.refuse("LimitExceededException")
    canned.response(good)
    ask(api)
    assert len(canned.asked) == 101


@pytest.mark.parametrize("ask", [BotoStreamApi.describe, BotoStreamApi.list_shards])
def test_a_call_without_retries_is_made_once(ask: Any, api: BotoStreamApi, canned: Canned) -> None:
    """A call with `with_retries=False` makes one attempt: its caller has a deadline of its own."""
    canned.refuse("LimitExceededException")
    with pytest.raises(ThrottledError):
        ask(api, with_retries=False)
    assert len(canned.asked) == 1


@every_call
def test_each_retry_is_one_log_line(
    action: str, api: BotoStreamApi, canned: Canned, caplog: pytest.LogCaptureFixture
) -> None:
    """The log line of a retry has the call, the reason and the stream, and the shard where it is known."""
    caplog.set_level("INFO", "kinesis_core")
    ask, good = CALLS[action]
    canned.refuse("InternalFailure", status=500)
    canned.response(good)
    ask(api)
    [line] = caplog.messages
    shard = " shard=shardId-1" if action == "GetShardIterator" else ""
    assert line == (
        f"call.retried call={action} reason=InternalFailure attempt=1 wait_s=0.0 stream=orders{shard}"
    )


NONSENSE = [
    b"",
    b"<html>Welcome to the hotel's network</html>",
    b"{}",
    b"null",
    b"[]",
    b"7",
    b"\xff\xfe",
    b'{"Shards": 7}',
]


@every_call
@pytest.mark.parametrize("body", NONSENSE)
def test_a_malformed_body_with_status_200_is_retried(
    action: str, body: bytes, api: BotoStreamApi, canned: Canned
) -> None:
    """A malformed body with a good status is never a response. The call is retried, then fails as malformed."""
    ask, good = CALLS[action]
    canned.response(body)
    canned.response(good)
    ask(api)
    for _ in range(RETRIES + 1):
        canned.response(body)
    with pytest.raises(MalformedResponseError, match=action):
        ask(api)
    assert len(canned.asked) == 2 + RETRIES + 1


def test_a_malformed_response_names_the_endpoint(api: BotoStreamApi, canned: Canned) -> None:
    """The error names endpoint, call, missing member and request id: a proxy or another service may have responded."""
    for _ in range(RETRIES + 1):
        canned.response({"Iterator": "x"})
    with pytest.raises(MalformedResponseError) as caught:
        api.get_iterator("shardId-1", TrimHorizon())
    assert str(caught.value) == (
        f"{api.client.meta.endpoint_url} responded to GetShardIterator with a malformed body: no valid 'ShardIterator' (request id "
        f"{REQUEST_ID}). Is endpoint_url a Kinesis endpoint? A proxy may have responded instead. "
        "[stream=orders shard=shardId-1]"
    )


@pytest.mark.parametrize(
    "shard",
    [
        {},
        {"ShardId": "x"},
        shard_json("x", HashKeyRange={}),
        shard_json("x", SequenceNumberRange={"StartingSequenceNumber": "y"}),
    ],
)
def test_an_incomplete_shard_is_malformed(shard: Any, api: BotoStreamApi, canned: Canned) -> None:
    """A shard without a required member makes the response malformed. The shard is never skipped."""
    for _ in range(RETRIES + 1):
        canned.response({"Shards": [shard]})
    with pytest.raises(MalformedResponseError, match="ListShards"):
        api.list_shards()


def test_wrong_parameters_are_an_invalid_request(api: BotoStreamApi) -> None:
    """A request that botocore itself refuses to send is an invalid request, raised without a retry."""
    with pytest.raises(InvalidRequestError, match="ParamValidationError"):
        evolve(api, name="").get_iterator("shardId-1", TrimHorizon())


def test_a_clock_set_forward_costs_one_refusal(api: BotoStreamApi, canned: Canned) -> None:
    """After the local clock was set forward, the Date header of the refusal corrects the time, and the call is made once more."""
    canned.refuse("InvalidArgumentException", "timestampInMillis is in the future")
    canned.response(ITERATOR)
    assert api.get_iterator("shardId-000000000000", AtTimestamp(4_000_000_000_000)) == "iterator"
    (_, refused), (_, accepted) = canned.asked
    assert refused["Timestamp"] == 4_000_000_000
    assert accepted["Timestamp"] == parsedate_to_datetime("Sat, 21 Nov 2026 01:13:43 GMT").timestamp()


@pytest.mark.parametrize("step_s", [0.5, 1.0, 2.0, 2.9, 5.0])
def test_a_small_step_of_our_clock_costs_one_refusal(
    step_s: float, api: BotoStreamApi, canned: Canned, clock: FakeClock
) -> None:
    """After the local clock was set forward a little, earlier Date headers no longer count."""
    for _ in range(70):
        clock.sleep(0.21)
        canned.response(PAGE, date=formatdate(clock.now, usegmt=True))
        api.get_records("iterator", 1)
    service_s = clock.now
    clock.now += step_s
    canned.response({"__type": "InvalidArgumentException"}, 400, formatdate(service_s, usegmt=True))
    canned.response(ITERATOR)
    assert api.get_iterator("shardId-000000000000", AtTimestamp(api.now_ms())) == "iterator"
    (_, refused), (_, accepted) = canned.asked[-2:]
    assert service_s - 1 <= accepted["Timestamp"] <= service_s < refused["Timestamp"]


def test_a_past_time_is_refused_once(api: BotoStreamApi, canned: Canned) -> None:
    """A request that is refused for another reason than its time is not repeated."""
    canned.refuse("InvalidArgumentException")
    with pytest.raises(InvalidRequestError):
        api.get_iterator("shardId-000000000000", AtTimestamp(1_700_000_000_000))
    assert len(canned.asked) == 1


# Streams that are not ready

IN_CREATION = "Stream orders under account 123456789012 not ACTIVE or UPDATING, instead in state CREATING"
NOT_FOUND = "Stream orders under account 123456789012 not found."
ON_THE_STREAM = ["ListShards", "GetShardIterator", "GetRecords"]


def described(status: str) -> dict[str, Any]:
    return {"StreamDescriptionSummary": {**SUMMARY["StreamDescriptionSummary"], "StreamStatus": status}}


@pytest.mark.parametrize("action", ON_THE_STREAM)
@pytest.mark.parametrize("status", ["CREATING", "ACTIVE", "UPDATING"])
@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("ResourceNotFoundException", NOT_FOUND),
        ("ResourceInUseException", "Stream orders is busy."),
    ],
)
def test_a_refusal_that_the_description_contradicts_passes(
    action: str, status: str, code: str, text: str, api: BotoStreamApi, canned: Canned
) -> None:
    """Some servers of Kinesis do not know a new stream yet. A call that they refuse is repeated."""
    ask, good = CALLS[action]
    for _ in range(3):
        canned.refuse(code, text)
        canned.response(described(status))
    canned.response(good)
    ask(api)
    assert [name for name, _ in canned.asked] == [action, "DescribeStreamSummary"] * 3 + [action]


@pytest.mark.parametrize("action", [*ON_THE_STREAM, "DescribeStreamSummary"])
@pytest.mark.parametrize("state", ["CREATING", "UPDATING"])
def test_a_refusal_that_names_a_state_that_passes(
    action: str, state: str, api: BotoStreamApi, canned: Canned
) -> None:
    """Where the refusal itself names the state, no description is asked for."""
    ask, good = CALLS[action]
    for _ in range(3):
        canned.refuse("ResourceInUseException", IN_CREATION.replace("CREATING", state))
    canned.response(good)
    ask(api)
    assert [name for name, _ in canned.asked] == [action] * 4


@pytest.mark.parametrize("action", ON_THE_STREAM)
@pytest.mark.parametrize("description", ["DELETING", "gone", "denied"])
def test_a_stream_that_is_gone_is_not_awaited(
    action: str, description: str, api: BotoStreamApi, canned: Canned
) -> None:
    """A refusal stays what it is if the description does not contradict it, or cannot be had."""
    canned.refuse("ResourceNotFoundException", NOT_FOUND)
    if description == "DELETING":
        canned.response(described("DELETING"))
    else:
        canned.refuse(
            "ResourceNotFoundException" if description == "gone" else "AccessDeniedException", NOT_FOUND
        )
    with pytest.raises(StreamNotFoundError, match="not found"):
        CALLS[action][0](api)
    assert len(canned.asked) == 2


@pytest.mark.parametrize("action", [*ON_THE_STREAM, "DescribeStreamSummary"])
def test_a_stream_that_is_being_deleted_is_not_awaited(
    action: str, api: BotoStreamApi, canned: Canned
) -> None:
    """DELETING does not pass. It is neither a missing shard nor a consumer in use, which callers would handle."""
    canned.refuse("ResourceInUseException", IN_CREATION.replace("CREATING", "DELETING"))
    with pytest.raises(ServiceError, match="DELETING") as caught:
        CALLS[action][0](api)
    assert type(caught.value) is ServiceError
    assert len(canned.asked) == 1


@pytest.mark.parametrize("action", ["GetShardIterator", "GetRecords"])
def test_a_shard_that_is_gone_is_not_awaited(action: str, api: BotoStreamApi, canned: Canned) -> None:
    """A refusal that names a shard does not concern the stream."""
    canned.refuse(
        "ResourceNotFoundException", "Shard shardId-7 in stream orders under account 1 does not exist"
    )
    with pytest.raises(StreamNotFoundError):
        CALLS[action][0](api)
    assert len(canned.asked) == 1


def test_a_new_stream_is_awaited_by_its_description(
    api: BotoStreamApi, canned: Canned, clock: FakeClock
) -> None:
    """The description of a stream is returned once the stream can be used. The error after two minutes names the status."""
    for _ in range(5):
        canned.response(described("CREATING"))
    canned.response(described("ACTIVE"))
    assert api.describe().status == "ACTIVE"
    canned.response(described("CREATING"))
    assert api.describe(in_any_state=True).status == "CREATING"
    canned.response(described("CREATING"))
    with pytest.raises(StreamNotReadyError, match=r"the stream is CREATING\. The stream is not ready\."):
        api.describe(with_retries=False)
    started_s = clock.now
    for _ in range(100):
        canned.response(described("CREATING"))
    with pytest.raises(StreamNotReadyError, match=r"CREATING.*\[stream=orders\]"):
        api.describe()
    assert 120 <= clock.now - started_s <= 124


def test_a_listing_without_shards_is_of_a_stream_that_is_not_ready(
    api: BotoStreamApi, canned: Canned
) -> None:
    """Each stream has a shard. A last page may be empty."""
    canned.response({"Shards": []})
    canned.response({"Shards": [shard_json("shardId-0")], "NextToken": "t0"})
    canned.response({"Shards": []})
    assert len(api.list_shards()) == 1
    canned.response({"Shards": []})
    with pytest.raises(StreamNotReadyError, match="names no shard"):
        api.list_shards(with_retries=False)
