"""Reading a stream in plain Python: positions that contradict each other."""

from __future__ import annotations

import json
from threading import Barrier, RLock
from typing import Any

import pytest
from attrs import define, field

from kinesis_core import (
    AtTimestamp,
    DataLossError,
    KclApplication,
    Latest,
    OffsetError,
    OptionError,
    PerShard,
    PerStream,
    PlanSettings,
    ReadSettings,
    Stream,
    TrimHorizon,
)
from kinesis_core.model import Cut, Page
from support.aggregates import aggregate
from support.fake_stream import FakeClock
from support.scripted_stream import ScriptedStream, scripted_stream
from support.waiting import PATIENCE_S

A = "shardId-000000000000"
NINE, TEN = "2026-01-31T09:00:00Z", "2026-01-31T10:00:00Z"


def stream_of(fake: ScriptedStream) -> Stream:
    settings = ReadSettings(threads=1)
    return Stream("orders", "eu-west-1", "orders", fake, PlanSettings(), settings, fake.clock)


@define
class Together(ScriptedStream):
    """A stream that answers the first call about a shard only when all shards have been asked about."""

    asked: set[str] = field(factory=set)
    everybody: Barrier = field(factory=lambda: Barrier(64))
    lock: RLock = field(factory=RLock)

    def get_iterator(self, shard_id: str, cut: Cut) -> str:
        if shard_id not in self.asked:
            self.asked.add(shard_id)
            self.everybody.wait(PATIENCE_S)
        with self.lock:
            return super().get_iterator(shard_id, cut)

    def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
        with self.lock:
            return super().get_records(iterator, limit, with_data, shard_id)


def test_shards_are_planned_together() -> None:
    """The calls about one shard have to wait for its quota. Other shards do not wait for it."""
    fake = Together(FakeClock())
    fake.create(64)
    fake.put_many(A, 3)
    fake.clock.now += 3600
    assert len(list(stream_of(fake).read().records())) == 3


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (TEN, NINE),
        (f"AT_TIMESTAMP {TEN}", AtTimestamp(1)),
        (PerStream({"orders": AtTimestamp(2)}), PerStream({"orders": AtTimestamp(1)})),
    ],
)
def test_a_start_after_the_end_is_refused_before_any_call(start: Any, end: Any) -> None:
    """A read whose start is after its end is refused by the positions alone, under the names of the arguments."""
    fake = scripted_stream()
    with pytest.raises(
        OptionError,
        match=r"is after its end.*Exchange start and end, or correct one of them\. \[stream=orders\]",
    ):
        stream_of(fake).read(start, end)
    assert fake.log == []


def test_a_start_at_the_end_is_an_empty_batch() -> None:
    """A read from a time to the same time has no records."""
    fake = scripted_stream()
    first, *_ = fake.put_many(A, 3, 1.0)
    time = AtTimestamp(first.arrived_ms or 0)
    assert list(stream_of(fake).read(time, time).records()) == []


@pytest.mark.parametrize(("start", "end", "named"), [(5, "LATEST", "start"), (TEN, {A: 5}, "end")])
def test_a_position_of_another_type_is_refused(start: Any, end: Any, named: str) -> None:
    """What is neither text nor a position is refused under the name of its argument."""
    with pytest.raises(
        OptionError, match=rf"^'{named}' is of type (int|dict)\. Use a position as text or as a value\.$"
    ):
        stream_of(scripted_stream()).read(start, end)


def test_a_huge_position_is_not_shown_whole() -> None:
    """An error shows the start of a text that is no position."""
    with pytest.raises(OptionError) as caught:
        stream_of(scripted_stream()).read("x" * 100_000)
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize(
    ("version", "told"),
    [
        (1, r"^The text is a saved offset, not a position\. Pass it as json\.loads returns it, or"),
        (99, r"has version 99\. This release reads versions 1 and 2\. Use the release that wrote it, or"),
    ],
)
def test_a_saved_offset_is_given_as_a_mapping(version: int, told: str) -> None:
    """As text it is refused. So is one of another version, with what to do."""
    stream = stream_of(scripted_stream())
    offset = {"version": version, "streams": {}}
    for use in (stream.read, lambda start: next(stream.follow(start))):
        with pytest.raises(OffsetError, match=told):
            use(json.dumps(offset))
    with pytest.raises(OffsetError, match=r" saved offset.*\. Give a time, or LATEST\.$"):
        stream.read(end=json.dumps(offset))
    for read in (stream.read, lambda start: next(stream.follow(start))):
        with pytest.raises(
            OffsetError,
            match=r"has version 99; this release reads versions 1 and 2\. Use the release that wrote it",
        ):
            read({**offset, "version": 99})


def test_errors_of_planning_name_the_arguments() -> None:
    """What only the service shows to be wrong is reported under the names of the arguments, too."""
    stream = stream_of(scripted_stream())
    unknown = PerShard({"shardId-000000000099": TrimHorizon()})
    with pytest.raises(OptionError, match=r"^'start' names shards that the stream does not have"):
        stream.read(unknown)
    with pytest.raises(OptionError, match=r"^'end' names shards that the stream does not have"):
        stream.read("TRIM_HORIZON", unknown)


def test_latest_after_the_end_is_refused() -> None:
    """LATEST is refused as the start of a read that ends in the past, as soon as the service's time is known."""
    fake = scripted_stream()
    fake.put_many(A, 3, 10.0)
    with pytest.raises(
        OptionError,
        match=r"LATEST \(2026-09-21 .* UTC\), is after its end, AT_TIMESTAMP 2026-09-.* Exchange start and end, or correct one",
    ):
        stream_of(fake).read("LATEST", AtTimestamp(fake.now_ms() - 20_000))
    assert list(stream_of(fake).read(Latest(), Latest()).records()) == []


def test_a_saved_offset_after_the_end_is_an_empty_batch() -> None:
    """A program that has read up to a time may ask for the records up to that time once more: there are none."""
    fake = scripted_stream()
    records = fake.put_many(A, 3, 10.0)
    stream = stream_of(fake)
    end = AtTimestamp(records[1].arrived_ms or 0)
    batch = stream.read("TRIM_HORIZON", end)
    assert len(list(batch.records())) == 1
    assert list(stream.read(batch.offset, end).records()) == []
    later = stream.read("TRIM_HORIZON", "LATEST")
    assert list(stream.read(later.offset, end).records()) == []
    assert list(stream.read(later.offset, PerShard({A: end})).records()) == []


class Billing:
    """The lease table of an application that has read some of one shard."""

    name = "billing"

    def __init__(self, checkpoint: str, sub_sequence_number: int) -> None:
        self.item = {
            "leaseKey": {"S": A},
            "leaseCounter": {"N": "1"},
            "checkpoint": {"S": checkpoint},
            "checkpointSubSequenceNumber": {"N": str(sub_sequence_number)},
        }

    def scan(self) -> list[dict[str, Any]]:
        return [self.item]


def aggregates(fake: ScriptedStream) -> str:
    """Put two aggregates of three user records each. Return the sequence number of the first."""
    first, _ = [
        fake.put(A, aggregate([("k", None, f"{n}/{i}".encode()) for i in range(3)])) for n in range(2)
    ]
    return first.sequence_number


def test_after_a_kcl_application() -> None:
    """A read, and a stream that is followed, begin after the user record at which a KCL application stopped."""
    fake = scripted_stream(1)
    table = Billing(aggregates(fake), 1)
    stream = stream_of(fake)
    stream._open_table = lambda given: {"billing": table}[given.table]
    expected = [b"0/2", b"1/0", b"1/1", b"1/2"]
    start = '{"kclApplication": "billing"}'
    assert [record.data for record in stream.read(start).records()] == expected
    assert [record.data for record in next(stream.follow(KclApplication("billing"))).records()] == expected


def test_an_application_that_says_nothing() -> None:
    """What the table does not say is reported under the name of the argument."""
    stream = stream_of(scripted_stream(1))
    stream._open_table = lambda _: Billing("LATEST", 0)
    with pytest.raises(
        OptionError, match=r"^'start' names a KCL application, whose table billing has the word LATEST for"
    ):
        stream.read('{"kclApplication": "billing"}')


def test_an_expired_checkpoint() -> None:
    """A record that was processed last and has expired may be followed by others that have: that is a loss."""
    fake = scripted_stream(1)
    table = Billing(aggregates(fake), 2)
    fake.trim(A, 1)
    stream = stream_of(fake)
    stream._open_table = lambda _: table
    with pytest.raises(DataLossError, match="is not in the shard, and the oldest record left is"):
        stream.read('{"kclApplication": "billing"}')


def test_following_until_a_time() -> None:
    """It ends by itself, and its batches have exactly the records that arrived before that time."""
    fake = scripted_stream(1)
    fake.put_many(A, 1, data=b"before")
    until = AtTimestamp(fake.now_ms() + 5000)
    found: list[bytes] = []
    for batch in stream_of(fake).follow("TRIM_HORIZON", until):
        found += [record.data for record in batch.records()]
        if found == [b"before"]:
            fake.clock.now += 1
            fake.put_many(A, 1, data=b"just before")
            fake.clock.now += 5
            fake.put_many(A, 1, data=b"after")
    assert found == [b"before", b"just before"]
    assert fake.now_ms() < until.epoch_ms + 5000


def test_following_until_a_time_on_an_idle_stream() -> None:
    """It ends at that time although no record comes, with a batch that is empty."""
    fake = scripted_stream(1)
    batches = list(stream_of(fake).follow("LATEST", AtTimestamp(fake.now_ms() + 5000)))
    assert [list(batch.records()) for batch in batches] == [[]]


# Times


def half_expired() -> ScriptedStream:
    """Return a stream with a record a minute for an hour, of which the first half has expired."""
    fake = scripted_stream()
    fake.forgets = True
    fake.put_many(A, 60, 60)
    fake.clock.sleep(23 * 3600 + 1770)
    return fake


ASKED = AtTimestamp(1_790_000_000_000)


def test_a_time_that_has_expired() -> None:
    """A read and a follow from there are an error under the name of the argument. What is left is read on request, all of it."""
    stream = stream_of(half_expired())
    said = r"^'start' asks for the records since 2026-09-21 14:13:20 UTC.*retention is 24 h\. Start at TRIM_HORIZON"
    with pytest.raises(DataLossError, match=said):
        stream.read(ASKED)
    with pytest.raises(DataLossError, match=said):
        stream.read(ASKED, AtTimestamp(ASKED.epoch_ms + 60_000))
    with pytest.raises(DataLossError, match=said):
        next(stream.follow(ASKED))
    fake = half_expired()
    settings = PlanSettings(fail_on_data_loss=False)
    stream = Stream("orders", "eu-west-1", "orders", fake, settings, ReadSettings(threads=1), fake.clock)
    expected = [record.sequence_number for record in fake.shards[A].records[30:]]
    assert [record.sequence_number for record in stream.read(ASKED).records()] == expected
    assert [record.sequence_number for record in next(stream.follow(ASKED)).records()] == expected


def test_the_first_time_that_is_certain() -> None:
    """A read that starts when everything is certain to be there is no error, and has all of it."""
    fake = half_expired()
    stream = stream_of(fake)
    assert stream.certain_from_ms() == stream.now_ms() - 24 * 3_600_000 + 60_000
    assert len(list(stream.read(AtTimestamp(stream.certain_from_ms())).records())) == 29


def test_a_read_does_not_wait_for_its_end() -> None:
    """A read that would end in the future is refused. To follow until then waits."""
    fake = scripted_stream()
    stream = stream_of(fake)
    soon = AtTimestamp(fake.now_ms() + 60_000)
    with pytest.raises(
        OptionError, match=r"^'end' is 2026-09-21 14:14:20 UTC, .* 14:13:2.*\. Use a time in the past\."
    ):
        stream.read(end=soon)
    assert not [record for batch in stream.follow(until=soon) for record in batch.records()]
    assert fake.now_ms() >= soon.epoch_ms
