"""The steps of one worker, without threads."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from kinesis_consumer import Batch, GroupSettings, LeaseLostError
from kinesis_consumer.delivery import ShardReader
from kinesis_consumer.delivery.shard_reader import RECORD_BYTES
from kinesis_consumer.leases import updates
from kinesis_consumer.worker import Callbacks, Worker
from kinesis_consumer.worker.held_shards import HeldShards
from kinesis_core import AccessDeniedError, UnavailableError
from kinesis_core.model import Page
from support.fake_stream import FakeStream
from unit.kinesis_consumer.consumer_parts import OneShard


def worker_with_a_lease(
    settings: GroupSettings | None = None, callbacks: Callbacks | None = None
) -> tuple[Worker, OneShard]:
    shard = OneShard.new(settings)
    worker = shard.worker(callbacks)
    shard.give(worker)
    return worker, shard


def test_a_failed_renewal_is_made_again_after_a_pause() -> None:
    """While the store fails, a worker renews its leases a few times a second, and not as fast as it can."""
    worker, shard = worker_with_a_lease()
    shard.clock.sleep(shard.settings.lease_duration_s / 2)
    shard.table.hook = lambda: "fail"
    assert 0.1 < worker.leases.renew() < 1


def test_a_lease_that_is_not_due_costs_no_thread() -> None:
    """Of a thousand leases, most have nothing to do at a given time. Only the others are passed to the threads."""
    worker, shard = worker_with_a_lease()
    passed: list[object] = []

    def run_all(run: Callable[[Any], None], values: Iterable[Any]) -> list[None]:
        for value in values:
            passed.append(value)
            run(value)
        return []

    worker.leases.renew(run_all)
    assert passed == []
    shard.clock.sleep(shard.settings.lease_duration_s / 2)
    worker.leases.renew(run_all)
    assert passed == worker.leases.shards.readers()


def test_a_lease_that_ends_frees_its_data() -> None:
    """Otherwise a worker that loses shards has no room for those that it keeps."""
    worker, shard = worker_with_a_lease()
    shard.stream.put(shard.shard_id, b"x")
    (reader,) = worker.leases.shards.readers()
    worker.advance(reader)
    assert worker.leases.memory.used_bytes == 1 + RECORD_BYTES
    worker.leases.end(reader)
    assert worker.leases.memory.used_bytes == 0


def test_an_outage_of_hours_is_waited_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A shard that cannot be read is tried again after at most 15 s. It has fewer and fewer lines in the log."""

    def fail(*_: object, **__: object) -> Page:
        raise UnavailableError("GetRecords failed.", "InternalFailure")

    worker, shard = worker_with_a_lease(GroupSettings(lease_duration_s=60))
    shard.stream.put(shard.shard_id, b"x")
    (reader,) = worker.leases.shards.readers()
    began_s = shard.clock.now_s()
    with monkeypatch.context() as down:
        down.setattr(FakeStream, "get_records", fail)
        for _ in range(1100):
            worker.advance(reader)
            pause_s = reader.pace.due_s - shard.clock.now_s()
            assert 1 <= pause_s <= 15
            shard.clock.sleep(pause_s)
            worker.leases.renew()
    assert shard.clock.now_s() - began_s > 4 * 3600
    failures = [int(line.rpartition("=")[2]) for line in caplog.messages if line.startswith("shard.failed")]
    assert failures == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
    advance(worker)
    assert worker.take() is not None


def test_a_store_that_fails_is_left_alone_for_longer_and_longer(caplog: pytest.LogCaptureFixture) -> None:
    """Pages come from Kinesis all the time meanwhile. They do not begin the pauses of the store anew."""
    worker, shard = worker_with_a_lease(GroupSettings(lease_duration_s=600))
    (reader,) = worker.leases.shards.readers()
    shard.stream.put(shard.shard_id, b"x")
    shard.table.hook = lambda: "fail"
    pauses = []
    for _ in range(6):
        worker.advance(reader)
        pauses.append(reader.pace.due_s - shard.clock.now_s())
        shard.clock.sleep(pauses[-1])
    assert pauses == [1, 2, 4, 8, 15, 15]
    assert len([line for line in caplog.messages if line.startswith("shard.failed")]) == 3
    shard.table.hook = str
    advance(worker)
    assert reader.pace.failures == 0
    assert worker.take() is not None


def test_the_lag_grows_while_calls_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shard that cannot be read is not at its tip."""

    def fail(*_: object, **__: object) -> Page:
        raise UnavailableError("GetRecords failed.", "InternalFailure")

    worker, shard = worker_with_a_lease(GroupSettings(lease_duration_s=600))
    (reader,) = worker.leases.shards.readers()
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
    (reader,) = worker.leases.shards.readers()
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
    worker.leases.renew()
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
    readers, looks = worker.leases.shards.readers(), []

    def look(_: HeldShards) -> list[ShardReader]:
        looks.append(shard.clock.now_s())
        return readers

    monkeypatch.setattr(HeldShards, "readers", look)
    for _ in range(100):
        worker.report_lags()
    shard.clock.sleep(1)
    worker.report_lags()
    assert len(looks) == 2


# Commits ---------------------------------------------------------------------------------------------------------


def batch_in_hand() -> tuple[Worker, OneShard, Batch]:
    worker, shard = worker_with_a_lease()
    shard.stream.put(shard.shard_id, b"x")
    advance(worker)
    batch = worker.take()
    assert batch is not None
    return worker, shard, batch


def commit_in_vain(batch: Batch) -> LeaseLostError:
    """Commit twice, and return the error, which is the same the second time."""
    errors = []
    for _ in range(2):
        with pytest.raises(LeaseLostError) as raised:
            batch.commit()
        errors.append(raised.value)
        assert not batch.is_committed
        assert batch.may_be_committed is raised.value.may_be_committed
    assert errors[0].may_be_committed is errors[1].may_be_committed
    copied = pickle.loads(pickle.dumps(errors[0]))  # noqa: S301 # pickled one line up
    assert copied.may_be_committed is errors[0].may_be_committed
    return errors[0]


def test_a_commit_whose_response_is_lost_until_the_lease_expires() -> None:
    """It counts if the store responds to a look afterwards."""
    _, shard, batch = batch_in_hand()
    shard.table.hook = lambda: "lose" if shard.table.calls[-1][0] == "update" else ""
    batch.commit()
    assert (batch.is_committed, batch.may_be_committed, batch.is_ours) == (True, False, False)


def test_a_commit_of_which_nobody_knows(caplog: pytest.LogCaptureFixture) -> None:
    """The error says that the batch may be committed, each time, and the log says it for those who run a handler."""
    _, shard, batch = batch_in_hand()
    shard.table.hook = lambda: "lose"
    assert "may be committed: the store did not respond" in str(commit_in_vain(batch))
    assert [line for line in caplog.messages if line.startswith("batch.unconfirmed")]


@pytest.mark.parametrize("is_known", [False, True])
def test_a_commit_after_the_lease_was_lost(is_known: bool) -> None:
    """It is not sent. So it is certain that the batch is not committed, whether or not the worker has noticed the loss."""
    worker, shard, batch = batch_in_hand()
    shard.table.hook = lambda: "fail"
    shard.clock.sleep(11)
    if is_known:
        worker.leases.renew()
    error = commit_in_vain(batch)
    assert not error.may_be_committed
    assert "is not committed, and is delivered again" in str(error)


@pytest.mark.parametrize("error", [AccessDeniedError("denied", "AccessDeniedException"), KeyboardInterrupt()])
def test_a_commit_that_ends_after_a_write_without_a_response(error: BaseException) -> None:
    """
    The next write is refused, or the user interrupts it. Nobody knows whether the first one was made. That is still so when the
    lease is lost, and its reader is gone.
    """
    worker, shard, batch = batch_in_hand()

    def lose_then_end() -> str:
        if sum(call == "update" for call, _ in shard.table.calls) > writes + 1:
            raise error
        return "lose"

    writes = sum(call == "update" for call, _ in shard.table.calls)
    shard.table.hook = lose_then_end
    with pytest.raises(type(error)):
        batch.commit()
    assert batch.may_be_committed
    shard.clock.sleep(11)
    worker.leases.renew()
    assert commit_in_vain(batch).may_be_committed


def test_a_commit_succeeds_after_it_was_refused() -> None:
    """A batch that is committed in the end is no longer one that may be."""
    _, shard, batch = batch_in_hand()

    def deny() -> str:
        raise AccessDeniedError("denied", "AccessDeniedException")

    shard.table.hook = deny
    with pytest.raises(AccessDeniedError):
        batch.commit()
    shard.table.hook = str
    batch.commit()
    assert (batch.is_committed, batch.may_be_committed) == (True, False)


def test_the_end_of_a_shard_whose_response_is_lost() -> None:
    """A shard that was marked as finished is reported as ended, also if its lease expired before that was known."""
    ended: list[str] = []
    worker, shard = worker_with_a_lease(
        callbacks=Callbacks(shard_ended=lambda _, shard_id: ended.append(shard_id))
    )
    shard.stream.split(shard.shard_id)

    lost: list[float] = []

    def lose_the_end() -> str:
        has_children = bool(shard.lease().children)
        if shard.table.calls[-1] == ("update", shard.shard_id) and has_children and not lost:
            lost.append(shard.clock.now_s())
            return "lose"
        if shard.table.calls[-1] == ("get", shard.shard_id) and shard.lease().is_finished:
            shard.clock.sleep(shard.settings.lease_duration_s)
        return ""

    shard.table.hook = lose_the_end
    for _ in range(10):
        advance(worker)
        shard.clock.sleep(0.5)
    assert shard.lease().is_finished
    assert shard.lease().committed_ms is not None
    assert ended == [shard.shard_id]
    assert [held.key for held in worker.leases.shards.finished()] == [shard.shard_id], (
        "it is kept until its children are read"
    )
