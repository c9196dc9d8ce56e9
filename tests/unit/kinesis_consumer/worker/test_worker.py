"""The steps of one worker, without threads."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from kinesis_consumer import Batch, GroupSettings
from kinesis_consumer.delivery import ShardReader
from kinesis_consumer.leases import updates
from kinesis_consumer.worker import Callbacks, Source, Worker
from kinesis_core import UnavailableError
from kinesis_core.leases import read_lease
from kinesis_core.model import Page
from kinesis_core.planning import PlanSettings, ShardPages
from support.consumer_parts import OneShard
from support.fake_stream import FakeStream


def worker_with_a_lease(
    settings: GroupSettings | None = None, callbacks: Callbacks | None = None
) -> tuple[Worker, OneShard]:
    shard = OneShard.new(settings)
    pages = ShardPages.of("orders", shard.stream, PlanSettings(), shard.clock, random.Random(1))
    pages.begin()
    source = Source("orders", pages, shard.stream)
    worker = Worker("w", shard.table, {None: source}, shard.settings, shard.clock, callbacks or Callbacks())
    item = shard.table.update(updates.take(shard.lease(), worker.name))
    assert item is not None
    worker.gain(read_lease(item), shard.clock.now_s())
    return worker, shard


def test_a_failed_renewal_is_made_again_after_a_pause() -> None:
    """While the store fails, a worker renews its leases a few times a second, and not as fast as it can."""
    worker, shard = worker_with_a_lease()
    shard.clock.sleep(shard.settings.lease_duration_s / 2)
    shard.table.hook = lambda: "fail"
    assert 0.1 < worker.renew() < 1


def test_a_lease_that_is_not_due_costs_no_thread() -> None:
    """Of a thousand leases, most have nothing to do at a given time. Only the others are passed to the threads."""
    worker, shard = worker_with_a_lease()
    passed: list[object] = []

    def run_all(run: Callable[[Any], None], values: Iterable[Any]) -> list[None]:
        for value in values:
            passed.append(value)
            run(value)
        return []

    worker.renew(run_all)
    assert passed == []
    shard.clock.sleep(shard.settings.lease_duration_s / 2)
    worker.renew(run_all)
    assert passed == worker.readers()


def test_an_outage_of_hours_is_waited_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A shard that cannot be read is tried again after at most 15 s. It has fewer and fewer lines in the log."""

    def fail(*_: object, **__: object) -> Page:
        raise UnavailableError("GetRecords failed.", "InternalFailure")

    worker, shard = worker_with_a_lease(GroupSettings(lease_duration_s=60))
    shard.stream.put(shard.shard_id, b"x")
    (reader,) = worker.readers()
    began_s = shard.clock.now_s()
    with monkeypatch.context() as down:
        down.setattr(FakeStream, "get_records", fail)
        for _ in range(1100):
            worker.advance(reader)
            pause_s = reader.due_s - shard.clock.now_s()
            assert 1 <= pause_s <= 15
            shard.clock.sleep(pause_s)
            worker.renew()
    assert shard.clock.now_s() - began_s > 4 * 3600
    failures = [int(line.rpartition("=")[2]) for line in caplog.messages if line.startswith("shard.failed")]
    assert failures == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
    advance(worker)
    assert worker.take() is not None


def test_a_store_that_fails_is_left_alone_for_longer_and_longer(caplog: pytest.LogCaptureFixture) -> None:
    """Pages come from Kinesis all the time meanwhile. They do not begin the pauses of the store anew."""
    worker, shard = worker_with_a_lease(GroupSettings(lease_duration_s=600))
    (reader,) = worker.readers()
    shard.stream.put(shard.shard_id, b"x")
    shard.table.hook = lambda: "fail"
    pauses = []
    for _ in range(6):
        worker.advance(reader)
        pauses.append(reader.due_s - shard.clock.now_s())
        shard.clock.sleep(pauses[-1])
    assert pauses == [1, 2, 4, 8, 15, 15]
    assert len([line for line in caplog.messages if line.startswith("shard.failed")]) == 3
    shard.table.hook = str
    advance(worker)
    assert reader.failures == 0
    assert worker.take() is not None


def test_the_lag_grows_while_calls_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shard that cannot be read is not at its tip."""

    def fail(*_: object, **__: object) -> Page:
        raise UnavailableError("GetRecords failed.", "InternalFailure")

    worker, shard = worker_with_a_lease(GroupSettings(lease_duration_s=600))
    (reader,) = worker.readers()
    worker.advance(reader)
    assert worker.lag() == {"orders": {shard.shard_id: 0}}
    monkeypatch.setattr(FakeStream, "get_records", fail)
    worker.advance(reader)
    shard.clock.sleep(60)
    assert worker.lag() == {"orders": {shard.shard_id: 60_000}}


# Lag -------------------------------------------------------------------------------------------------------------

HOUR = GroupSettings(lease_duration_s=3600, fetch_interval_s=60, max_batch_records=1)


def advance(worker: Worker) -> None:
    while due := worker.due_readers():
        worker.advance(due[0])


def stuck() -> tuple[Worker, OneShard, Batch]:
    """Return a worker whose program holds a batch, and that reads nothing until it is committed."""
    worker, shard = worker_with_a_lease(HOUR)
    for _ in range(3):
        shard.stream.put(shard.shard_id, b"x")
    advance(worker)
    batch = worker.take()
    assert batch is not None
    return worker, shard, batch


def test_the_lag_grows_while_a_batch_keeps_its_shard_waiting() -> None:
    """It is the lag of the last page and its age by the own clock, until the shard is read again."""
    worker, shard, batch = stuck()
    before_ms = worker.lag()["orders"][shard.shard_id]
    shard.clock.sleep(100)
    assert worker.lag() == {"orders": {shard.shard_id: before_ms + 100_000}}
    while batch:
        batch.commit()
        advance(worker)
        following = worker.take()
        if following is None:
            break
        batch = following
    assert worker.lag() == {"orders": {shard.shard_id: 0}}


def test_the_lag_grows_while_the_memory_is_full() -> None:
    """A shard without a batch of its own waits as well while batches of others fill the memory."""
    worker, shard = worker_with_a_lease(
        GroupSettings(lease_duration_s=3600, max_buffered_bytes=1, max_batch_records=100)
    )
    shard.stream.put(shard.shard_id, b"x")
    advance(worker)
    shard.clock.sleep(7)
    assert worker.lag() == {"orders": {shard.shard_id: 7000}}


def test_the_lag_of_a_calm_shard_does_not_grow() -> None:
    """Between two polls at the tip, also when the second one is late, the lag is that of the last page: none."""
    worker, shard = worker_with_a_lease(HOUR)
    advance(worker)
    shard.clock.sleep(HOUR.fetch_interval_s + 5)
    assert worker.lag() == {"orders": {shard.shard_id: 0}}


def test_an_ended_shard_has_no_lag() -> None:
    """A closed shard of which all records are read gets no further ones, however long the batch in hand takes."""
    worker, shard = worker_with_a_lease(GroupSettings(lease_duration_s=3600))
    shard.stream.put(shard.shard_id, b"x")
    advance(worker)
    assert worker.take() is not None
    (reader,) = worker.readers()
    reader.buffer.is_ended = True
    shard.clock.sleep(100)
    assert worker.lag() == {}


def test_the_lag_grows_while_a_shard_is_handed_over() -> None:
    """A shard that another worker is to have is not read until the batch in hand is done."""
    worker, shard = worker_with_a_lease(GroupSettings(lease_duration_s=3600))
    shard.stream.put(shard.shard_id, b"x")
    advance(worker)
    assert worker.take() is not None
    assert shard.table.update(updates.begin_hand_over(shard.lease(), "other")) is not None
    shard.clock.sleep(2000)
    worker.renew()
    assert worker.lag() == {"orders": {shard.shard_id: 2_000_000}}


def test_a_lag_is_reported_while_nothing_is_read() -> None:
    """After each page, and then each ten seconds, the metric says it; not before the first page."""
    found: list[float] = []
    worker, shard = worker_with_a_lease(HOUR, Callbacks(metric=lambda _, value, __: found.append(value)))
    worker.report_lags()
    assert found == []
    for _ in range(2):
        shard.stream.put(shard.shard_id, b"x")
    advance(worker)
    pages = len(found)
    for _ in range(30):
        shard.clock.sleep(1)
        worker.report_lags()
    base = found[pages] - 10_000
    assert found[pages:] == [base + 10_000, base + 20_000, base + 30_000]


def test_lags_of_a_thousand_shards_are_not_looked_at_for_each_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that reads asks after each change. The shards are looked at once a second."""
    worker, shard = worker_with_a_lease(HOUR)
    readers, looks = worker.readers(), []

    def look(_: Worker) -> list[ShardReader]:
        looks.append(shard.clock.now_s())
        return readers

    monkeypatch.setattr(Worker, "readers", look)
    for _ in range(100):
        worker.report_lags()
    shard.clock.sleep(1)
    worker.report_lags()
    assert len(looks) == 2
