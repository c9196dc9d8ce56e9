"""Consumers by name: found, registered, waited for, removed."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from attrs import define, evolve, field

from kinesis_core.aws import Consumer
from kinesis_core.errors import (
    AccessDeniedError,
    ResourceInUseError,
    ServiceError,
    StreamNotFoundError,
    ThrottledError,
    UnavailableError,
)
from kinesis_core.reading.fan_out import check_permission, find_consumer, remove_consumer
from support.fake_stream import FakeClock
from support.fake_subscriptions import Subscriptions
from support.scripted_stream import scripted_stream

ARN = "arn:aws:kinesis:eu-west-1:000000000000:stream/orders/consumer/me:1"


@define
class Consumers:
    """The consumers of a stream. Each status lasts some seconds."""

    clock: FakeClock = field(factory=FakeClock)
    consumer: Consumer | None = None
    changes_s: float = 0.0
    shows_late: int = 0
    """How many calls do not return a new consumer yet."""
    error: ServiceError | None = None
    lost: ServiceError | None = None
    """The error of describing an existing consumer."""
    calls: list[str] = field(factory=list)

    def describe_consumer(self, name_or_arn: str) -> Consumer:
        assert name_or_arn in ("me", ARN)
        self.calls.append("describe")
        if self.consumer is not None and self.clock.now >= self.changes_s:
            gone = self.consumer.status == "DELETING"
            self.consumer = None if gone else evolve(self.consumer, status="ACTIVE")
        hidden, self.shows_late = self.shows_late > 0, max(0, self.shows_late - 1)
        if self.consumer is None or hidden:
            raise StreamNotFoundError("no such consumer", "ResourceNotFoundException")
        if self.lost is not None:
            raise self.lost
        return self.consumer

    def register_consumer(self, name: str, tags: Mapping[str, str] | None = None) -> Consumer:
        self.calls.append(f"register with {tags}" if tags else "register")
        if self.error is not None:
            raise self.error
        if self.consumer is not None:
            raise ResourceInUseError("taken", "ResourceInUseException")
        self.consumer, self.changes_s = Consumer(name, ARN, "CREATING"), self.clock.now + 8
        return self.consumer

    def deregister_consumer(self, arn: str) -> None:
        assert arn == ARN
        self.calls.append("deregister")
        if self.error is not None:
            raise self.error


def find(consumers: Consumers, timeout_s: float = 60) -> Consumer:
    return find_consumer(consumers, "me", timeout_s, consumers.clock)


def test_an_active_consumer_is_used() -> None:
    """An existing ACTIVE consumer costs one call."""
    consumers = Consumers(consumer=Consumer("me", ARN, "ACTIVE"))
    assert find(consumers) == Consumer("me", ARN, "ACTIVE")
    assert consumers.calls == ["describe"]


def test_a_missing_consumer_is_registered() -> None:
    """A consumer that does not exist is registered once, and returned when it is ACTIVE."""
    consumers = Consumers()
    started = consumers.clock.now
    assert find(consumers) == Consumer("me", ARN, "ACTIVE")
    assert consumers.calls.count("register") == 1
    assert 8 <= consumers.clock.now - started < 10


def test_a_consumer_that_is_being_deleted_is_registered_again() -> None:
    """A query that starts while its consumer is being removed waits, and registers it again."""
    consumers = Consumers(consumer=Consumer("me", ARN, "DELETING"))
    consumers.changes_s = consumers.clock.now + 5
    assert find(consumers).status == "ACTIVE"
    assert consumers.calls.count("register") == 1


def test_a_consumer_given_by_arn_is_never_registered() -> None:
    """An ARN that does not exist is an error. An existing consumer is waited for like one given by name."""
    with pytest.raises(StreamNotFoundError):
        find_consumer(Consumers(), ARN, 60, FakeClock())
    consumers = Consumers(consumer=Consumer("me", ARN, "CREATING"))
    consumers.changes_s = consumers.clock.now + 5
    assert find_consumer(consumers, ARN, 60, consumers.clock).status == "ACTIVE"
    assert "register" not in consumers.calls


def test_a_consumer_that_must_exist_is_never_registered() -> None:
    """A name that must exist is named in the error if it does not, and is not registered."""
    consumers = Consumers()
    with pytest.raises(
        StreamNotFoundError, match=r"^Consumer 'me' does not exist\. .*a name in place of the ARN"
    ) as caught:
        find_consumer(consumers, "me", 60, consumers.clock, register_if_missing=False)
    assert caught.value.code == "ResourceNotFoundException"
    assert consumers.calls == ["describe"]
    consumers.consumer = Consumer("me", ARN, "ACTIVE")
    assert (
        find_consumer(consumers, "me", 60, consumers.clock, register_if_missing=False) == consumers.consumer
    )


@pytest.mark.parametrize("keep", [False, True])
def test_a_registered_consumer_is_removed_after_an_error(keep: bool) -> None:
    """A consumer that was registered here and is not ACTIVE in time is removed, because it costs money, unless it is kept."""
    consumers = Consumers(shows_late=2)
    with pytest.raises(ResourceInUseError):
        find_consumer(consumers, "me", 5, consumers.clock, keep=keep)
    assert consumers.calls.count("deregister") == (not keep)


def test_a_consumer_of_another_query_is_not_removed() -> None:
    """A consumer that existed before and is not ACTIVE in time may belong to another query."""
    consumers = Consumers(consumer=Consumer("me", ARN, "CREATING"))
    consumers.changes_s = consumers.clock.now + 60
    with pytest.raises(ResourceInUseError):
        find(consumers, timeout_s=5)
    assert "deregister" not in consumers.calls


def test_every_error_of_the_wait_removes_it() -> None:
    """A consumer that was registered here is also removed when it can no longer be described."""
    consumers = Consumers(lost=UnavailableError("down", "InternalFailure"))
    with pytest.raises(UnavailableError):
        find(consumers)
    assert consumers.calls[-1] == "deregister"


def test_a_consumer_that_is_not_visible_yet() -> None:
    """A registration that AWS does not return at once is not an error."""
    consumers = Consumers(shows_late=3)
    assert find(consumers).status == "ACTIVE"


def test_waiting_ends_with_a_clear_error() -> None:
    """The error for a consumer that does not become ACTIVE has its name, its status and what to do."""
    with pytest.raises(
        ResourceInUseError,
        match=r"Consumer 'me' is CREATING and not ACTIVE after 5 s\..*timeout_s of FanOutSettings",
    ):
        find(Consumers(), timeout_s=5)


@pytest.mark.parametrize(
    "error",
    [
        AccessDeniedError("not allowed", "AccessDeniedException"),
        ThrottledError("20 consumers", "LimitExceededException"),
    ],
)
def test_errors_of_registering_are_raised(error: ServiceError) -> None:
    """A missing permission, or a stream with too many consumers, ends the start."""
    with pytest.raises(type(error)):
        find(Consumers(error=error))


def test_a_stream_with_too_many_consumers() -> None:
    """The quota is shared with queues, which no list of consumers shows. So the error says it."""
    refusal = ThrottledError("20 consumers.", "LimitExceededException", "r-1", stream="orders")
    with pytest.raises(ThrottledError, match="its queues count with them") as raised:
        find(Consumers(error=refusal))
    assert raised.value.what.startswith("20 consumers. A stream has at most 20 consumers, or 50")
    assert (raised.value.code, raised.value.request_id) == ("LimitExceededException", "r-1")
    assert raised.value.where == {"stream": "orders"}


def test_another_throttle_of_registering() -> None:
    """A throttle of the calls says nothing of queues."""
    with pytest.raises(ThrottledError) as raised:
        find(Consumers(error=ThrottledError("too fast", "ThrottlingException")))
    assert raised.value.what == "too fast"


def test_the_permission_check_takes_no_shard() -> None:
    """The permission is checked with a shard that does not exist. The check shows nothing else."""
    subscriptions = Subscriptions(scripted_stream(2))
    check_permission(subscriptions)
    assert [shard_id in subscriptions.stream.shards for _, shard_id, _ in subscriptions.calls] == [False]
    subscriptions.refusals = [AccessDeniedError("not allowed", "AccessDeniedException")]
    with pytest.raises(AccessDeniedError):
        check_permission(subscriptions)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (None, "consumer.removed"),
        (StreamNotFoundError("gone", "ResourceNotFoundException"), "consumer.gone"),
        (UnavailableError("down", "InternalFailure"), "consumer.left"),
    ],
)
def test_removing_never_fails(
    error: ServiceError | None, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A consumer that cannot be removed does not hold up the stop. The log has the result."""
    consumers = Consumers(error=error)
    with caplog.at_level("INFO"):
        remove_consumer(consumers, Consumer("me", ARN, "ACTIVE"))
    assert consumers.calls == ["deregister"]
    assert said in caplog.text
