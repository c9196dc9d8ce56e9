"""Records that leave a stream while plain Python reads it, over HTTP: nothing is skipped without an error."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise

import pytest

from kinesis_core import Batch, Stream
from kinesis_core.errors import DataLossError, StreamRecreatedError
from kinesis_core.planning import PlanSettings
from kinesis_core.reading import FanOutSettings, ReadSettings
from kinesis_credentials import StaticKeys
from kinesis_emulator import Emulator, EventFault, Fault, FaultScript, Limits, ManualClock, Settings, Step
from kinesis_emulator.requests import Request
from support.loops import variants
from support.streams import make_client

KEYS = StaticKeys("AKIAEXAMPLE", "example-secret")
HOUR_S, DAY_S = 3600, 24 * 3600
PAGE, EVENT_RECORDS = 100, 1000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(time.time())


@pytest.fixture
def emulator(clock: ManualClock) -> Iterator[Emulator]:
    """A Kinesis with a clock that the test sets: a consumer would be CREATING until the test lets time pass."""
    limits = replace(Limits.unlimited(), event_max_records=EVENT_RECORDS)
    with Emulator(settings=Settings(limits=limits, consumer_creating_s=0.0), clock=clock) as running:
        yield running


def fill(emulator: Emulator, clock: ManualClock, count: int, oldest_s: float, newest_s: float) -> None:
    """Put numbered records that arrived so many seconds ago, evenly from the oldest to the newest."""
    for i in range(count):
        age_s = oldest_s + (newest_s - oldest_s) * i / count
        emulator.put("orders", b"%d" % i, "k", arrived_s=clock.now_s - age_s)


def opened(
    emulator: Emulator, *, fails: bool = True, margin_s: float = 300.0, by: str | None = None
) -> Stream:
    return Stream.open(
        "orders",
        region="us-east-1",
        endpoint_url=emulator.endpoint_url,
        credentials=KEYS,
        read=ReadSettings(PAGE, min_fetch_period_s=0.0, fail_on_data_loss=fails),
        plan=PlanSettings(min_fetch_period_s=0.0, fail_on_data_loss=fails, trim_horizon_margin_s=margin_s),
        consumer=by,
        fan_out=FanOutSettings(fallback_to_polling=False),
    )


def take(stream: Stream, read: list[int], at: int, then: Callable[[], object]) -> None:
    """Read a batch from the oldest record into *read*, and let *then* happen when it has *at* records."""
    for record in stream.read("TRIM_HORIZON").records():
        read.append(int(record.data))
        if len(read) == at:
            then()


def follow(batches: Iterator[Batch]) -> None:
    """Read on, and see that nothing comes."""
    for batch in batches:
        assert not list(batch.records())


def gaps(numbers: list[int]) -> int:
    return sum(b - a - 1 for a, b in pairwise(numbers))


def test_a_slow_reader_of_a_live_stream_at_its_retention(emulator: Emulator, clock: ManualClock) -> None:
    """A batch whose rows are taken slower than records leave the stream ends with an error, and not with gaps."""
    emulator.create_stream("orders", shards=1)
    fill(emulator, clock, 3000, DAY_S - 360, DAY_S - 390)
    with opened(emulator) as stream:
        read: list[int] = []
        with pytest.raises(
            DataLossError, match=r"shardId-000000000000 .*may be lost.*fail_on_data_loss=False"
        ):
            take(stream, read, 500, lambda: clock.advance(375))
    assert gaps(read) == 0


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_retention_that_is_decreased_during_a_batch(
    emulator: Emulator, clock: ManualClock, is_closed: bool
) -> None:
    """DecreaseStreamRetentionPeriod in the middle of a batch ends it with an error."""
    emulator.create_stream("orders", shards=1, retention_hours=168)
    fill(emulator, clock, 3000, 48 * HOUR_S, 12 * HOUR_S)
    with opened(emulator) as stream:
        if is_closed:
            emulator.split("orders", "shardId-000000000000")
        client = make_client(emulator.endpoint_url)
        lower = partial(client.decrease_stream_retention_period, StreamName="orders", RetentionPeriodHours=24)
        with pytest.raises(DataLossError, match="may be lost"):
            take(stream, [], PAGE, lower)


@pytest.mark.parametrize("is_closed", variants([False, True]))
def test_what_leaves_between_two_subscriptions(
    emulator: Emulator, clock: ManualClock, is_closed: bool
) -> None:
    """A subscription that is cut, and followed by one that begins at the oldest record left, ends the batch with an error."""
    emulator.create_stream("orders", shards=1)
    fill(emulator, clock, EVENT_RECORDS + 2000, DAY_S - 360, DAY_S - 400)
    if is_closed:
        emulator.split("orders", "shardId-000000000000")
    subscriptions = 0

    def cut(request: Request) -> Fault | None:
        nonlocal subscriptions
        if request.action != "SubscribeToShard" or request.params["ShardId"] != "shardId-000000000000":
            return None
        subscriptions += 1
        if subscriptions == 2:
            clock.advance(398)
        return Fault(events=EventFault(after_events=1, cut=True)) if subscriptions == 1 else None

    with opened(emulator, by="me") as stream:
        batch = stream.read("TRIM_HORIZON")
        emulator.settings.fault = cut
        with pytest.raises(
            DataLossError, match=r"shardId-000000000000 .*may be lost.*fail_on_data_loss=False"
        ):
            list(batch.records())
    assert subscriptions == 2


def test_trim_horizon_on_a_live_stream(emulator: Emulator, clock: ManualClock) -> None:
    """A first batch can be read minutes after it was planned, though records leave the stream all the time."""
    emulator.create_stream("orders", shards=1)
    fill(emulator, clock, 2000, DAY_S + 60, DAY_S - 600)
    with opened(emulator) as stream:
        batch = stream.read("TRIM_HORIZON")
        clock.advance(240)
        read = [int(record.data) for record in batch.records()]
        assert read[-1] == 1999
        assert gaps(read) == 0
        assert [int(record.data) for record in batch.records()] == read
    with opened(emulator, margin_s=0) as stream:
        batch = stream.read("TRIM_HORIZON")
        clock.advance(5)
        with pytest.raises(DataLossError, match=r"records from AT .* expired"):
            list(batch.records())


@pytest.mark.parametrize("is_old", [False, True])
def test_a_stream_that_is_recreated_while_it_is_followed(
    emulator: Emulator, clock: ManualClock, is_old: bool
) -> None:
    """Records of a stream of the same name are an error, also when idle shards' iterators only say that they expired."""
    emulator.create_stream("orders", shards=2)
    with opened(emulator) as stream:
        batches = stream.follow("TRIM_HORIZON")
        emulator.put("orders", b"1", "k")
        next(batches)
        clock.advance(400)
        emulator.delete_stream("orders")
        emulator.create_stream("orders", shards=2)
        for i in range(20):
            emulator.put("orders", b"new", f"k{i}")
        if is_old:
            emulator.settings.fault = FaultScript(
                Step(Fault("ExpiredIteratorException"), "GetRecords", times=2)
            )
        with pytest.raises(StreamRecreatedError, match="deleted and created again"):
            follow(batches)
