"""Consumers by name: found, registered, waited for, removed."""

from __future__ import annotations

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
    """The consumers of a stream; each status lasts some seconds."""

    clock: FakeClock = field(factory=FakeClock)
    consumer: Consumer | None = None
    changes_s: float = 0.0
    shows_late: int = 0
    """How many times a new consumer is not shown yet."""
    error: ServiceError | None = None
    lost: ServiceError | None = None
    """What looking at a consumer that is there brings."""
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

    def register_consumer(self, name: str) -> Consumer:
        self.calls.append("register")
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


def test_an_active_one_is_used_as_it_is() -> None:
    """A consumer that is there and ACTIVE costs one call."""
    consumers = Consumers(consumer=Consumer("me", ARN, "ACTIVE"))
    assert find(consumers) == Consumer("me", ARN, "ACTIVE")
    assert consumers.calls == ["describe"]


def test_a_new_one_is_registered_and_waited_for() -> None:
    """A consumer that is not there is registered once, and handed out when it is ACTIVE."""
    consumers = Consumers()
    started = consumers.clock.now
    assert find(consumers) == Consumer("me", ARN, "ACTIVE")
    assert consumers.calls.count("register") == 1
    assert 8 <= consumers.clock.now - started < 10


def test_one_that_is_being_deleted_is_registered_anew() -> None:
    """A query that starts while its consumer is being removed waits, and registers it again."""
    consumers = Consumers(consumer=Consumer("me", ARN, "DELETING"))
    consumers.changes_s = consumers.clock.now + 5
    assert find(consumers).status == "ACTIVE"
    assert consumers.calls.count("register") == 1


def test_one_by_its_arn_is_never_registered() -> None:
    """An ARN that is not there is an error; one that is there is waited for like a name."""
    with pytest.raises(StreamNotFoundError):
        find_consumer(Consumers(), ARN, 60, FakeClock())
    consumers = Consumers(consumer=Consumer("me", ARN, "CREATING"))
    consumers.changes_s = consumers.clock.now + 5
    assert find_consumer(consumers, ARN, 60, consumers.clock).status == "ACTIVE"
    assert "register" not in consumers.calls


def test_one_that_must_exist_is_never_registered() -> None:
    """A name that is only to be found is named in the error when it is not there, and in no registration."""
    consumers = Consumers()
    with pytest.raises(
        StreamNotFoundError, match=r"^Consumer 'me' does not exist\. .*consumerName"
    ) as caught:
        find_consumer(consumers, "me", 60, consumers.clock, register_if_missing=False)
    assert caught.value.code == "ResourceNotFoundException"
    assert consumers.calls == ["describe"]
    consumers.consumer = Consumer("me", ARN, "ACTIVE")
    assert (
        find_consumer(consumers, "me", 60, consumers.clock, register_if_missing=False) == consumers.consumer
    )


@pytest.mark.parametrize("keep", [False, True])
def test_one_that_was_registered_in_vain_is_removed(keep: bool) -> None:
    """A consumer that was registered here, and is not ACTIVE in time, is not left to be paid for unless it is to be kept."""
    consumers = Consumers(shows_late=2)
    with pytest.raises(ResourceInUseError):
        find_consumer(consumers, "me", 5, consumers.clock, keep=keep)
    assert consumers.calls.count("deregister") == (not keep)


def test_one_of_somebody_else_is_not_removed() -> None:
    """A consumer that was there already, and is not ACTIVE in time, may be the one that another query waits for."""
    consumers = Consumers(consumer=Consumer("me", ARN, "CREATING"))
    consumers.changes_s = consumers.clock.now + 60
    with pytest.raises(ResourceInUseError):
        find(consumers, timeout_s=5)
    assert "deregister" not in consumers.calls


def test_whatever_ends_the_wait_removes_it() -> None:
    """A consumer that was registered here is removed as well when it cannot be looked at any more."""
    consumers = Consumers(lost=UnavailableError("down", "InternalFailure"))
    with pytest.raises(UnavailableError):
        find(consumers)
    assert consumers.calls[-1] == "deregister"


def test_one_that_is_not_shown_yet() -> None:
    """A registration that AWS does not show at once is not an error."""
    consumers = Consumers(shows_late=3)
    assert find(consumers).status == "ACTIVE"


def test_waiting_ends_with_a_clear_error() -> None:
    """A consumer that does not become ACTIVE is named, with its status and what to do."""
    with pytest.raises(
        ResourceInUseError, match=r"Consumer 'me' is CREATING and not ACTIVE after 5 s\..*subscribeTimeout"
    ):
        find(Consumers(), timeout_s=5)


@pytest.mark.parametrize(
    "error",
    [
        AccessDeniedError("not allowed", "AccessDeniedException"),
        ThrottledError("20 consumers", "LimitExceededException"),
    ],
)
def test_what_registering_raises_is_raised(error: ServiceError) -> None:
    """A missing permission or a full stream ends the start."""
    with pytest.raises(type(error)):
        find(Consumers(error=error))


def test_a_permission_is_asked_for_without_taking_a_shard() -> None:
    """Whether subscribing is allowed shows on a shard that does not exist; nothing else is found out there."""
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
    """Who stops is not held up by a consumer that cannot be removed; the log says what became of it."""
    consumers = Consumers(error=error)
    with caplog.at_level("INFO"):
        remove_consumer(consumers, Consumer("me", ARN, "ACTIVE"))
    assert consumers.calls == ["deregister"]
    assert said in caplog.text
