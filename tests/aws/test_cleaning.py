"""Deleting: all that a run has made, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kinesis_emulator import Emulator, Fault, FaultScript, Step
from tools.aws.cleaning import Cleaner
from tools.aws.guard import Guard
from tools.aws.kit import wait_until_usable
from tools.aws.ledger import TAG, UNTIL_TAG, Ledger, Resource
from tools.aws.target import Target


@pytest.fixture
def cleaner(target: Target) -> Cleaner:
    return Cleaner(target, lambda _: None, sleep=lambda _: None)


@pytest.fixture
def ledger(new_ledger: Callable[..., Ledger]) -> Ledger:
    return new_ledger()


@pytest.fixture
def stream(target: Target, ledger: Ledger) -> Resource:
    """Return a stream of the run, with a consumer."""
    client = Guard(ledger).stand_before(target.client("kinesis"))
    name = f"{ledger.run.prefix}stream"
    client.create_stream(StreamName=name, ShardCount=1)
    wait_until_usable(client, name)
    arn = client.describe_stream_summary(StreamName=name)["StreamDescriptionSummary"]["StreamARN"]
    client.register_stream_consumer(StreamARN=arn, ConsumerName="day")
    return Resource("stream", name)


def test_a_stream_with_consumers_is_deleted(
    emulator: Emulator, cleaner: Cleaner, ledger: Ledger, stream: Resource
) -> None:
    """It is gone, and the ledger says so. A second cleaning finds nothing to do."""
    assert cleaner.clean(ledger) == []
    assert not emulator.has_stream(stream.name)
    assert ledger.left() == []
    emulator.calls.clear()
    assert cleaner.clean(ledger) == []
    assert emulator.calls.by_action() == {}


def test_a_stream_that_somebody_else_created_under_the_name(
    emulator: Emulator, cleaner: Cleaner, ledger: Ledger, stream: Resource
) -> None:
    """Without the tag of the run it stays, by the ledger as by its name."""
    emulator.delete_stream(stream.name)
    emulator.create_stream(stream.name)
    [left] = cleaner.clean(ledger)
    assert left.resource == stream
    assert "lacks the tag" in left.why
    assert list(cleaner.find()) == []
    assert emulator.has_stream(stream.name)


def test_the_tag_of_another_run(target: Target, cleaner: Cleaner, ledger: Ledger, stream: Resource) -> None:
    """A tag with the id of another run proves nothing."""
    client = target.client("kinesis")
    client.add_tags_to_stream(StreamName=stream.name, Tags={TAG: "000000000000"})
    assert [left.resource for left in cleaner.clean(ledger)] == [stream]
    assert list(cleaner.find()) == []


def test_a_run_without_a_ledger_is_found_by_name_and_tag(
    emulator: Emulator, target: Target, cleaner: Cleaner, stream: Resource
) -> None:
    """Its streams are deleted once it must be over, and left while it may go on. Streams of others are not even described."""
    emulator.create_stream("kinesis-day-000000000000-theirs")
    found = list(cleaner.find())
    assert [resource for resource, _, _ in found] == [stream]
    [left] = cleaner.delete(found)
    assert "may go on until" in left.why
    over = {UNTIL_TAG: "2026-01-31T09:00:00+00:00"}
    target.client("kinesis").add_tags_to_stream(StreamName=stream.name, Tags=over)
    assert cleaner.delete(cleaner.find()) == []
    assert not emulator.has_stream(stream.name)
    assert emulator.has_stream("orders")
    assert emulator.has_stream("kinesis-day-000000000000-theirs")


def test_known_runs_are_not_looked_for(cleaner: Cleaner, ledger: Ledger, stream: Resource) -> None:
    """What a ledger names is left to it."""
    assert stream
    assert list(cleaner.find(known=[ledger.run.id])) == []


@pytest.mark.parametrize(
    "fault",
    [
        Fault("InternalFailure", status=500),
        Fault("LimitExceededException"),
        Fault("ResourceInUseException"),
        Fault(drop_response=True),
        Fault(drop_request=True, reset=True),
    ],
)
def test_deleting_is_repeated(
    emulator: Emulator, cleaner: Cleaner, ledger: Ledger, stream: Resource, fault: Fault
) -> None:
    """A delete that fails or whose response is lost is repeated."""
    emulator.settings.fault = FaultScript(Step(fault, action="DeleteStream", times=2))
    assert cleaner.clean(ledger) == []
    assert not emulator.has_stream(stream.name)


@pytest.mark.parametrize(
    ("action", "code"), [("DeleteStream", "is denied"), ("ListTagsForStream", "is denied")]
)
def test_what_cannot_be_deleted_is_named(
    emulator: Emulator, cleaner: Cleaner, ledger: Ledger, stream: Resource, action: str, code: str
) -> None:
    """A denial is the reason that is said, and the resource stays in the ledger for the next cleaning."""
    emulator.settings.deny.add(action)
    [left] = cleaner.clean(ledger)
    assert left.resource == stream
    assert f"{action} {code}" in left.why
    assert ledger.left() == [stream]
    emulator.settings.deny.clear()
    assert cleaner.clean(ledger) == []


def test_a_delete_that_fails_for_ever(
    emulator: Emulator, cleaner: Cleaner, ledger: Ledger, stream: Resource
) -> None:
    """After some attempts it is left, with the code."""
    emulator.settings.fault = FaultScript(
        Step(Fault("ResourceInUseException"), action="DeleteStream", times=None)
    )
    [left] = cleaner.clean(ledger)
    assert left.resource == stream
    assert left.why == "deleting it fails with ResourceInUseException"


def test_a_stream_that_stays_for_long(
    emulator: Emulator, target: Target, ledger: Ledger, stream: Resource
) -> None:
    """A stream that is DELETING is waited for, and left if it does not disappear."""
    times = iter(range(0, 10_000, 50))
    emulator.settings.stream_deleting_s = 10_000
    cleaner = Cleaner(target, lambda _: None, sleep=lambda _: None, now_s=lambda: float(next(times)))
    [left] = cleaner.clean(ledger)
    assert left.why == "it does not disappear"
    assert ledger.left() == [stream]


def test_a_creation_that_takes_effect_late(emulator: Emulator, target: Target, ledger: Ledger) -> None:
    """After a kill the cleaning waits for a call that is still under way."""
    name = f"{ledger.run.prefix}late"
    ledger.creating(Resource("stream", name))
    waits: list[Any] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if seconds >= 5 and not emulator.calls.count("CreateStream"):
            target.client("kinesis").create_stream(StreamName=name, ShardCount=1, Tags=ledger.run.tags)

    assert Cleaner(target, lambda _: None, sleep=sleep).clean(ledger, was_killed=True) == []
    assert max(waits) >= 5
    assert not emulator.has_stream(name)
