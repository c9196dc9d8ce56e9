"""
Consumers and subscriptions. The emulator's are read by an unpatched boto3, kinesis-local's frame by frame.

kinesis-local sends no `initial-response`, and boto3 raises an error without it. moto has consumers, but no SubscribeToShard.
"""

from __future__ import annotations

import base64
import http.client
import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.eventstream import EventStreamBuffer
from botocore.exceptions import ClientError

from support.waiting import PATIENCE_S, wait_until


@dataclass(frozen=True)
class Event:
    """The content of one event of a subscription."""

    data: list[bytes]
    numbers: list[str]
    continuation: str | None
    behind_ms: int
    children: list[dict[str, Any]]


@dataclass(frozen=True)
class Frame:
    """One frame as it was sent."""

    headers: dict[str, str]
    payload: dict[str, Any]


@contextmanager
def events_by_boto3(client: Any, **params: Any) -> Iterator[Iterator[Event]]:
    """Yield the events of a subscription through an unpatched boto3."""
    stream = client.subscribe_to_shard(**params)["EventStream"]
    try:
        yield (_event(event["SubscribeToShardEvent"]) for event in stream)
    finally:
        stream.close()


@contextmanager
def events_by_frame(client: Any, **params: Any) -> Iterator[Iterator[Event]]:
    """Yield the events of a subscription, with or without an `initial-response`."""
    with frames_of(client, **params) as frames:
        yield (
            _event(frame.payload) for frame in frames if frame.headers[":event-type"] != "initial-response"
        )


@contextmanager
def frames_of(client: Any, **params: Any) -> Iterator[Iterator[Frame]]:
    """Yield the frames of a subscription as they arrive. A refusal is raised as the client's own error."""
    url = client.meta.endpoint_url
    request = _signed(url, json.dumps(params).encode())
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE_S)
    try:
        connection.request("POST", "/", request.data, dict(request.headers))
        response = connection.getresponse()
        if response.status != 200:
            error = json.loads(response.read())
            facts = {"Code": error["__type"], "Message": error.get("message", "")}
            raise client.exceptions.ClientError({"Error": facts}, "SubscribeToShard")
        yield _frames(response)
    finally:
        connection.close()


def _signed(url: str, body: bytes) -> AWSRequest:
    headers = {
        "X-Amz-Target": "Kinesis_20131202.SubscribeToShard",
        "Content-Type": "application/x-amz-json-1.1",
    }
    request = AWSRequest("POST", f"{url}/", data=body, headers=headers)
    SigV4Auth(Credentials("key", "secret"), "kinesis", "us-east-1").add_auth(request)
    return request


def _frames(response: http.client.HTTPResponse) -> Iterator[Frame]:
    buffer = EventStreamBuffer()
    while chunk := response.read1(65536):
        buffer.add_data(chunk)
        for message in buffer:
            yield Frame(message.to_response_dict()["headers"], json.loads(message.payload or b"{}"))


def _event(payload: dict[str, Any]) -> Event:
    records = payload["Records"]
    return Event(
        [_data(record["Data"]) for record in records],
        [record["SequenceNumber"] for record in records],
        payload.get("ContinuationSequenceNumber"),
        payload["MillisBehindLatest"],
        payload.get("ChildShards") or [],
    )


def _data(value: bytes | str) -> bytes:
    return value if isinstance(value, bytes) else base64.b64decode(value)


SHARD = "shardId-000000000000"
NO_SUBSCRIPTIONS = ("moto", "has no SubscribeToShard")
Subscribe = Callable[..., AbstractContextManager[Iterator[Event]]]


@dataclass
class ConsumerOf:
    """A registered consumer of a test's own stream."""

    client: Any
    stream: Any
    arn: str
    name: str

    def describe(self) -> dict[str, Any]:
        facts: dict[str, Any] = self.client.describe_stream_consumer(ConsumerARN=self.arn)[
            "ConsumerDescription"
        ]
        return facts


@pytest.fixture
def register(client: Any, stream: Any) -> Callable[[str], ConsumerOf]:
    """Return a function that registers a consumer and returns it once it is active."""

    def call(name: str) -> ConsumerOf:
        made = client.register_stream_consumer(StreamARN=stream.arn, ConsumerName=name)["Consumer"]
        consumer = ConsumerOf(client, stream, made["ConsumerARN"], name)
        wait_until(lambda: status_of(consumer) == "ACTIVE")
        return consumer

    return call


@pytest.fixture
def consumer(register: Callable[[str], ConsumerOf]) -> ConsumerOf:
    return register("one")


@pytest.fixture
def subscribe(client: Any, consumer: ConsumerOf, request: pytest.FixtureRequest) -> Subscribe:
    """Return a function that subscribes the consumer to a shard and yields the events."""
    is_witness = request.node.callspec.params["endpoint_url"] == "kinesis-local"
    events = events_by_frame if is_witness else events_by_boto3

    def call(kind: str, shard_id: str = SHARD, **start: Any) -> AbstractContextManager[Iterator[Event]]:
        position = {"Type": kind, **start}
        return events(client, ConsumerARN=consumer.arn, ShardId=shard_id, StartingPosition=position)

    return call


def status_of(consumer: ConsumerOf) -> str:
    try:
        return str(consumer.describe()["ConsumerStatus"])
    except consumer.client.exceptions.ResourceNotFoundException:
        return "gone"


def take(events: Iterator[Event], count: int) -> list[bytes]:
    """Return the data of the next *count* records."""
    taken: list[bytes] = []
    while len(taken) < count:
        taken += next(events).data
    return taken


@pytest.mark.deviates("moto", "has them active at once")
def test_a_consumer_is_being_created_first(client: Any, stream: Any) -> None:
    """RegisterStreamConsumer responds before the consumer is active."""
    made = client.register_stream_consumer(StreamARN=stream.arn, ConsumerName="one")["Consumer"]
    assert made["ConsumerStatus"] == "CREATING"


def test_a_consumer_is_known_by_its_arn_and_by_its_name(
    client: Any, stream: Any, consumer: ConsumerOf
) -> None:
    """DescribeStreamConsumer accepts the consumer's ARN, or the stream's ARN and the consumer's name."""
    by_name = client.describe_stream_consumer(StreamARN=stream.arn, ConsumerName="one")["ConsumerDescription"]
    assert by_name == consumer.describe()
    assert by_name["ConsumerARN"] == consumer.arn
    assert consumer.arn.startswith(f"{stream.arn}/consumer/one")


@pytest.mark.deviates("moto", "lets two consumers have the same name")
@pytest.mark.usefixtures("consumer")
def test_a_name_is_taken_once(client: Any, stream: Any, refusal: Any) -> None:
    """Registering a name again is a ResourceInUseException."""
    code = refusal(client.register_stream_consumer, StreamARN=stream.arn, ConsumerName="one")
    assert code == "ResourceInUseException"


@pytest.mark.deviates("moto", "takes any number of consumers")
def test_a_stream_has_at_most_20_consumers(client: Any, stream: Any, register: Any, refusal: Any) -> None:
    """The 21st consumer is a LimitExceededException."""
    for i in range(20):
        register(f"consumer-{i}")
    code = refusal(client.register_stream_consumer, StreamARN=stream.arn, ConsumerName="one-more")
    assert code == "LimitExceededException"


@pytest.mark.deviates("kinesis-local", "drops the NextToken when one consumer is left")
def test_consumers_are_listed_in_pages(client: Any, stream: Any, register: Any) -> None:
    """ListStreamConsumers returns each consumer once, over as many pages as MaxResults makes."""
    names = [register(name).name for name in ("one", "two", "three")]
    first = client.list_stream_consumers(StreamARN=stream.arn, MaxResults=2)
    second = client.list_stream_consumers(StreamARN=stream.arn, NextToken=first["NextToken"])
    listed = [one["ConsumerName"] for page in (first, second) for one in page["Consumers"]]
    assert (len(first["Consumers"]), sorted(listed), "NextToken" in second) == (2, sorted(names), False)


@pytest.mark.deviates("moto", "keeps it when it is named by stream and name")
def test_a_deregistered_consumer_goes(client: Any, stream: Any, consumer: ConsumerOf) -> None:
    """A deregistered consumer is DELETING, or not found any more."""
    client.deregister_stream_consumer(StreamARN=stream.arn, ConsumerName="one")
    assert status_of(consumer) in ("DELETING", "gone")


@pytest.mark.deviates("kinesis-local", "refuses, and deletes it all the same")
@pytest.mark.deviates("moto", "deletes it")
@pytest.mark.usefixtures("consumer")
def test_a_stream_with_consumers_is_not_deleted_by_mistake(client: Any, stream: Any, refusal: Any) -> None:
    """DeleteStream requires EnforceConsumerDeletion for a stream with consumers."""
    assert refusal(client.delete_stream, StreamName=stream.name) == "ResourceInUseException"
    client.delete_stream(StreamName=stream.name, EnforceConsumerDeletion=True)


@pytest.mark.deviates(*NO_SUBSCRIPTIONS)
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("TRIM_HORIZON", [b"0", b"1", b"2"]),
        ("AT_SEQUENCE_NUMBER", [b"1", b"2"]),
        ("AFTER_SEQUENCE_NUMBER", [b"2"]),
        ("AT_TIMESTAMP", [b"0", b"1", b"2"]),
    ],
)
def test_a_subscription_begins_where_it_says(
    stream: Any, subscribe: Subscribe, kind: str, expected: list[bytes]
) -> None:
    """A StartingPosition means the same as the iterator type of that name."""
    numbers = [stream.put(str(i))["SequenceNumber"] for i in range(3)]
    start: dict[str, Any] = {"SequenceNumber": numbers[1]} if "SEQUENCE" in kind else {}
    if kind == "AT_TIMESTAMP":
        start = {"Timestamp": stream.read()[0]["ApproximateArrivalTimestamp"].timestamp()}
    with subscribe(kind, **start) as events:
        assert take(events, len(expected)) == expected


@pytest.mark.deviates(*NO_SUBSCRIPTIONS)
def test_records_come_while_subscribed(stream: Any, subscribe: Subscribe) -> None:
    """LATEST begins after the existing records. Later records come by themselves, and the continuation names them."""
    stream.put(b"before")
    with subscribe("LATEST") as events:
        next(events)
        numbers = [stream.put(data)["SequenceNumber"] for data in (b"1", b"2")]
        seen: list[Event] = []
        while sum(len(event.data) for event in seen) < 2:
            seen.append(next(events))
    assert [data for event in seen for data in event.data] == [b"1", b"2"]
    assert (seen[-1].continuation, seen[-1].behind_ms) == (numbers[-1], 0)


@pytest.mark.deviates(*NO_SUBSCRIPTIONS)
def test_an_empty_event_comes_when_there_are_no_records(stream: Any, subscribe: Subscribe) -> None:
    """An event without records has a continuation, and shows that there are no more records."""
    number = stream.put(b"last")["SequenceNumber"]
    with subscribe("AFTER_SEQUENCE_NUMBER", SequenceNumber=number) as events:
        event = next(events)
    assert (event.data, event.behind_ms) == ([], 0)
    assert event.continuation is not None
    assert int(event.continuation) >= int(number)


@pytest.mark.deviates(*NO_SUBSCRIPTIONS)
@pytest.mark.deviates("kinesis-local", "sends empty events for it")
def test_an_unknown_shard_is_refused(subscribe: Subscribe) -> None:
    """Subscribing to a shard that does not exist is a ResourceNotFoundException."""
    with pytest.raises(ClientError) as caught, subscribe("LATEST", "shardId-000000000009"):
        pass
    assert caught.value.response["Error"]["Code"] == "ResourceNotFoundException"


@pytest.mark.deviates(*NO_SUBSCRIPTIONS)
@pytest.mark.deviates(
    "kinesis-local", "responds with 200 and has the ResourceInUseException as its first frame"
)
def test_a_second_subscription_within_5_seconds_is_refused(subscribe: Subscribe) -> None:
    """A second subscription of the same consumer and shard is a ResourceInUseException at first."""
    with subscribe("LATEST") as events:
        next(events)
        with pytest.raises(ClientError) as caught, subscribe("LATEST"):
            pass
    assert caught.value.response["Error"]["Code"] == "ResourceInUseException"


@pytest.mark.deviates(*NO_SUBSCRIPTIONS)
@pytest.mark.deviates("kinesis-local", "never ends a shard: empty events follow for ever")
def test_a_shards_end_names_the_children(stream: Any, subscribe: Subscribe) -> None:
    """The last event of a closed shard has its children and no continuation. Then the events end."""
    stream.put(b"last")
    stream.split()
    with subscribe("TRIM_HORIZON") as events:
        seen = list(itertools.islice(events, 4))
    assert [data for event in seen for data in event.data] == [b"last"]
    assert seen[-1].continuation is None
    children = {child["ShardId"]: child["ParentShards"] for child in seen[-1].children}
    assert children == {"shardId-000000000001": [SHARD], "shardId-000000000002": [SHARD]}


@pytest.mark.deviates(*NO_SUBSCRIPTIONS)
@pytest.mark.deviates("kinesis-local", "never ends a shard: empty events follow for ever")
def test_the_last_event_has_no_continuation(client: Any, stream: Any, consumer: ConsumerOf) -> None:
    """The member is absent at the end of a shard, and not null: lifion-kinesis distinguishes the two."""
    stream.split()
    start = {"Type": "TRIM_HORIZON"}
    with frames_of(client, ConsumerARN=consumer.arn, ShardId=SHARD, StartingPosition=start) as frames:
        *_, last = itertools.islice(frames, 5)
    assert last.payload.keys() == {"Records", "MillisBehindLatest", "ChildShards"}


@pytest.mark.deviates(*NO_SUBSCRIPTIONS)
@pytest.mark.deviates(
    "kinesis-local", "sends no initial-response, so that boto3 raises NoInitialResponseError"
)
def test_the_first_frame_is_an_initial_response(client: Any, consumer: ConsumerOf) -> None:
    """boto3 requires the frame `initial-response` before all others. The KCL's protocol has it too."""
    start = {"Type": "LATEST"}
    with frames_of(client, ConsumerARN=consumer.arn, ShardId=SHARD, StartingPosition=start) as frames:
        assert next(frames).headers[":event-type"] == "initial-response"


@pytest.mark.deviates(*NO_SUBSCRIPTIONS)
def test_events_are_framed_alike(client: Any, stream: Any, consumer: ConsumerOf) -> None:
    """On every server a frame with records has these headers, and a payload with these members."""
    stream.put(b"x")
    start = {"Type": "TRIM_HORIZON"}
    with frames_of(client, ConsumerARN=consumer.arn, ShardId=SHARD, StartingPosition=start) as frames:
        frame = next(frame for frame in frames if frame.payload.get("Records"))
    assert frame.headers == {
        ":message-type": "event",
        ":event-type": "SubscribeToShardEvent",
        ":content-type": "application/json",
    }
    present = {name for name, value in frame.payload.items() if value is not None}
    assert present == {"Records", "ContinuationSequenceNumber", "MillisBehindLatest"}
    wanted = {"SequenceNumber", "ApproximateArrivalTimestamp", "Data", "PartitionKey"}
    assert wanted <= frame.payload["Records"][0].keys()
