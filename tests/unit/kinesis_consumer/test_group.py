"""A consumer group as its user sees it: iteration, commits, callbacks, errors, and its end."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from attrs import define, evolve, field

from kinesis_consumer import Batch, Callbacks, ConsumerGroup, LeaseLostError
from kinesis_consumer.leases.life import Out
from kinesis_consumer.stores import MemoryTable, Update
from kinesis_consumer.words import GROUPS
from kinesis_consumer.worker import WorkerThreads
from kinesis_consumer.worker.arrivals import UNCOMMITTED_S
from kinesis_consumer.worker.coordinator import loads_of_others
from kinesis_core import (
    AccessDeniedError,
    DataLossError,
    ProcessLimitError,
    StreamRecreatedError,
    TableNotFoundError,
    UnavailableError,
)
from kinesis_core.leases import Item
from kinesis_core.model import Page, Shard
from kinesis_core.termination import TERMINATION
from kinesis_credentials import Advice
from support.consumer_groups import QUICK, fill, in_background, leases_of, new_group, new_stream
from support.fake_stream import FakeClock, FakeStream
from support.waiting import PATIENCE_S, wait_until
from unit.few_threads import FewThreads
from unit.kinesis_consumer.lease_faults import FaultyTable

SHARD = "shardId-000000000000"
ONE_BY_ONE = evolve(QUICK, max_batch_records=1)


def data(batch: Batch) -> list[bytes]:
    return [record.data for record in batch.records()]


def read(group: ConsumerGroup, count: int) -> list[bytes]:
    """Return the data of the next *count* records, committed."""
    found: list[bytes] = []
    while len(found) < count:
        batch = next(group)
        found += data(batch)
        batch.commit()
    return found


def step_of(threads: WorkerThreads) -> list[Batch]:
    """Do once what the threads of a worker do. Returns the next batch, if there is one."""
    threads.coordinator.step()
    threads.worker.leases.renew()
    for reader in threads.worker.due_readers():
        threads.worker.advance(reader)
    batch = threads.worker.take()
    return [] if batch is None else [batch]


# Iteration -------------------------------------------------------------------------------------------------------


def test_a_group_delivers_all_records_in_order() -> None:
    """An iteration delivers the records of all shards, those of one shard in order, each once."""
    stream = new_stream(3)
    fill(stream, 30)
    by_shard: dict[str, list[bytes]] = {}
    with new_group(stream, settings=ONE_BY_ONE) as group:
        for batch in group:
            by_shard.setdefault(batch.shard_id, []).extend(data(batch))
            batch.commit()
            if sum(map(len, by_shard.values())) == 30:
                group.stop()
    assert by_shard == {
        shard_id: [record.data for record in shard.records] for shard_id, shard in stream.shards.items()
    }


def test_few_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group reads all shards and renews all leases with one thread for each, where it would have several."""
    stream = new_stream(3)
    fill(stream, 30)
    FewThreads(5).allow(monkeypatch)
    with new_group(stream, settings=ONE_BY_ONE) as group:
        assert len(read(group, 30)) == 30


@pytest.mark.parametrize("allowed", [0, 1, 2])
def test_too_few_threads(monkeypatch: pytest.MonkeyPatch, allowed: int) -> None:
    """A group that cannot have its own three threads is not entered, and leaves none of them."""
    group = new_group(new_stream(1))
    system = FewThreads(allowed).allow(monkeypatch)
    with pytest.raises(ProcessLimitError):
        group.__enter__()
    assert len(system.started) == allowed
    assert not any(thread.is_alive() for thread in group._threads._threads)


def test_committing_again_does_nothing() -> None:
    """A second commit of a batch is no error, and hands nothing out again, also when two threads commit at once."""
    stream, table = new_stream(), FaultyTable()
    fill(stream, 3)
    with new_group(stream, table, settings=ONE_BY_ONE) as group:
        batch = next(group)
        wait_until(
            lambda: not group._threads.worker.leases.shards.readers()[0].has_room
        )  # the following page is there
        second = threading.Thread(target=batch.commit)

        def begin_second_commit() -> str:
            if threading.current_thread() is threading.main_thread() and second.ident is None:
                second.start()
                second.join(0.2)  # it waits for the first commit; without that, it would write as well
            return ""

        table.hook = begin_second_commit
        batch.commit()
        second.join()
        batch.commit()
        assert data(next(group)) == [b"1"]
        assert group._threads.take() is None


def test_several_streams_in_one_group() -> None:
    """One worker reads several streams; a batch names its own."""
    streams = {"1:orders:1": new_stream(), "1:teas:1": new_stream()}
    for stream in streams.values():
        fill(stream, 5)
    with new_group(streams) as group:
        found = {}
        for batch in group:
            found[batch.stream] = data(batch)
            batch.commit()
            if len(found) == 2:
                break
        assert group.lag() == {stream: {SHARD: 0} for stream in streams}
    assert found == {stream: [b"0", b"1", b"2", b"3", b"4"] for stream in streams}


def test_a_merged_shard_waits_for_both_parents() -> None:
    """The child of two shards is read after the last commit in both, although its lease is there after the first one."""
    stream, clock = new_stream(2), FakeClock()
    first, second = stream.shards
    stream.put(first, b"first")
    stream.put(second, b"second")
    child = stream.merge(first, second)
    stream.put(child, b"child")
    threads = new_group(stream, clock=clock)._threads
    batches: list[Batch] = []

    def step() -> None:
        clock.sleep(1)
        batches.extend(step_of(threads))

    while len(batches) < 2:
        step()
    batches[0].commit()
    while child not in {reader.shard_id for reader in threads.worker.leases.shards.readers()}:
        step()
    for _ in range(5):
        step()
    assert len(batches) == 2
    batches[1].commit()
    while len(batches) < 3:
        step()
    assert data(batches[2]) == [b"child"]


SMALL = evolve(ONE_BY_ONE, max_buffered_bytes=100)


def test_batches_fit_into_the_memory() -> None:
    """No further page is read while batches and pages have `max_buffered_bytes`. A commit makes room for the next one."""
    stream = new_stream(4)
    for shard in stream.shards:
        stream.put(shard, b"x" * 100)
    threads = new_group(stream, settings=SMALL)._threads
    threads.coordinator.step()
    worker = threads.worker
    for _ in stream.shards:
        for reader in worker.due_readers():
            worker.advance(reader)
        batch = worker.take()
        assert batch is not None
        assert worker.take() is None
        batch.commit()


def test_a_full_memory_costs_no_time() -> None:
    """While the memory is full, the thread that reads waits, and does not look again and again."""
    stream = new_stream(4)
    for shard in stream.shards:
        stream.put(shard, b"x" * 100)
    with new_group(stream, settings=SMALL) as group:
        first = next(group)
        wait_until(lambda: len(group._threads.worker.leases.shards.readers()) == 4)
        assert group._threads._read_due() > 0
        first.commit()
        assert read(group, 3) == [b"x" * 100] * 3


def test_a_batch_that_was_delivered_before_is_read_whole() -> None:
    """A batch that is larger than the memory, because another worker made it, is delivered again nevertheless."""
    stream, table = new_stream(), MemoryTable()
    for number in range(10):
        stream.put(SHARD, b"%d" % number * 100)
    with new_group(stream, table) as group:
        dropped = next(group)
        assert len(data(dropped)) == 10
    small = evolve(SMALL, max_batch_records=2)
    with new_group(stream, table, settings=small, worker="worker-2") as group:
        assert data(next(group)) == data(dropped)


# The end ---------------------------------------------------------------------------------------------------------


def test_a_group_has_to_be_entered() -> None:
    """A batch of a group that was not entered is an error at once, not a wait for ever. So is entering it twice."""
    group = new_group(new_stream())
    with pytest.raises(RuntimeError, match="not entered"):
        next(group)
    group.close()
    with group:
        pass
    with pytest.raises(RuntimeError, match="entered before"), group:
        pass


def test_stop_ends_an_iteration_and_keeps_the_leases() -> None:
    """After `stop` there is no further batch. The batch in hand can be committed."""
    stream, table = new_stream(2), MemoryTable()
    fill(stream, 2)
    with new_group(stream, table, settings=ONE_BY_ONE) as group:
        batch = next(group)
        wait_until(lambda: bool(group._threads.worker.leases.shards._ready))
        group.stop()
        assert group._threads.take() is None
        assert list(group) == []
        batch.commit()
        assert leases_of(table)[batch.shard_id].owner == "worker-1"
    assert leases_of(table)[batch.shard_id].checkpoint.number == batch.id.last


def test_leases_are_renewed_until_the_batch_in_hand_is_done() -> None:
    """After `stop` a batch may take longer than the lease duration, and can be committed then."""
    stream, clock = new_stream(), FakeClock()
    fill(stream, 1)
    with new_group(stream, clock=clock) as group:
        batch = next(group)
        group.stop()
        for _ in range(3):
            now_s = clock.now = clock.now + QUICK.lease_duration_s * 0.9
            group._threads.shards.wake()
            (reader,) = group._threads.worker.leases.shards.readers()
            wait_until(lambda now_s=now_s, reader=reader: reader.held.renewed_s == now_s)  # type: ignore[misc]
        batch.commit()


def test_close_lets_everything_go() -> None:
    """After `close` leases have no owner, nobody leads, and the worker's report is gone. It is idempotent."""
    stream, table = new_stream(2), MemoryTable()
    fill(stream, 2)
    group = new_group(stream, table)
    with group:
        next(group)
        wait_until(lambda: len(table.scan()) == 4)
    group.close()
    assert {lease.owner for lease in leases_of(table).values()} == {None}
    assert {item["leaseKey"] for item in table.scan()} == set(stream.shards)
    with pytest.raises(StopIteration):
        next(group)


def test_a_second_close_waits_for_the_first() -> None:
    """The program may end once `close` returns: the leases are released by then, whichever thread releases them."""
    stream, ended, started, seen = new_stream(), list[str](), threading.Event(), threading.Event()

    def lost(*_: object) -> None:
        started.set()
        seen.wait(0.1)  # a second `close` that does not wait ends meanwhile
        ended.append("first")

    group = new_group(stream, callbacks=Callbacks(lease_lost=lost))
    fill(stream, 1)
    group.__enter__()
    next(group)
    with in_background(threading.Thread(target=group.close)):
        assert started.wait(PATIENCE_S)
        group.close()
        ended.append("second")
        seen.set()
    assert ended == ["first", "second"]


def test_a_close_that_is_called_while_it_closes() -> None:
    """A callback of `close` may close the group: that waits for nothing, and SIGTERM is handled until the leases are released."""
    stream, table, here = new_stream(), MemoryTable(), list[object]()

    def close(*_: object) -> None:
        group.close()
        here.extend(TERMINATION._here())

    group = new_group(stream, table, callbacks=Callbacks(lease_lost=close))
    fill(stream, 1)
    group.__enter__()
    next(group)
    closer = threading.Thread(target=group.close, daemon=True)
    closer.start()
    closer.join(PATIENCE_S)
    assert not closer.is_alive()
    assert here == [group._threads]
    assert not group._threads.is_own_thread
    assert leases_of(table)[SHARD].owner is None
    TERMINATION.remove(group._threads)  # only the main thread restores the default


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signal goes to one thread there")
def test_a_signal_is_handled_while_another_thread_closes() -> None:
    """Python handles it in the main thread, and does not wake it if another thread has got the signal."""
    stream, is_handled, started = new_stream(), threading.Event(), threading.Event()

    def lost(*_: object) -> None:
        started.set()
        is_handled.wait(PATIENCE_S)

    group = new_group(stream, callbacks=Callbacks(lease_lost=lost))
    fill(stream, 1)
    group.__enter__()
    next(group)
    before = signal.signal(signal.SIGUSR1, lambda *_: is_handled.set())
    try:
        with in_background(closer := threading.Thread(target=group.close)):
            assert started.wait(PATIENCE_S)
            threading.Timer(0.1, lambda: signal.pthread_kill(closer.ident or 0, signal.SIGUSR1)).start()
            group.close()
            assert is_handled.is_set()
    finally:
        signal.signal(signal.SIGUSR1, before)


@define
class SilentTable(MemoryTable):
    """A table whose updates are made without a response at times, and that cannot be read at others."""

    is_silent: bool = False
    is_unreadable: bool = False
    commits: int = 0
    """How many writes of commits got no response."""

    def update(self, update: Update) -> Item | None:
        item = MemoryTable.update(self, update)
        if self.is_silent:
            self.commits += "checkpoint" in update.set
            raise UnavailableError("The response is lost.")
        return item

    def get(self, key: str) -> Item | None:
        if self.is_unreadable:
            raise UnavailableError("The table cannot be reached.")
        return MemoryTable.get(self, key)


@pytest.mark.parametrize("is_known", [True, False])
def test_a_group_that_is_closed_during_a_commit(is_known: bool) -> None:
    """A commit that waits for a response ends when the group is closed. It says whether it was made, or that nobody knows."""
    stream, table = new_stream(), SilentTable()
    fill(stream, 1)
    with new_group(stream, table) as group, ThreadPoolExecutor(1) as pool:
        batch = next(group)
        table.is_silent, table.is_unreadable = True, not is_known
        committing = pool.submit(batch.commit)
        wait_until(lambda: table.commits)
        group.close()
        error = committing.exception(PATIENCE_S)
    table.is_unreadable = False
    assert leases_of(table)[SHARD].checkpoint == batch.end
    assert (batch.is_committed, batch.may_be_committed) == (is_known, not is_known)
    assert is_known is (error is None)


def test_a_batch_in_hand_at_close_is_lost() -> None:
    """A batch that was not committed before `close` cannot be committed after it."""
    stream = new_stream()
    fill(stream, 1)
    with new_group(stream) as group:
        batch = next(group)
        assert batch.is_ours
    assert not batch.is_ours
    with pytest.raises(
        LeaseLostError,
        match=r"is not committed, and is delivered again: its lease is lost\. Continue with the next batch",
    ) as raised:
        batch.commit()
    unpickled = pickle.loads(pickle.dumps(raised.value))  # noqa: S301 - our own bytes
    for error in (raised.value, unpickled):
        assert (error.stream, error.shard_id, str(error)) == ("orders", SHARD, str(raised.value))


def test_close_gives_the_leases_to_another_worker() -> None:
    """Another worker has the shard at once, and not after the lease duration, which is an hour here."""
    stream, table = new_stream(), MemoryTable()
    fill(stream, 1)
    first = new_group(stream, table)
    with first:
        batch = next(first)
        with new_group(stream, table, worker="worker-2") as second:
            wait_until(lambda: any(item["leaseKey"] == "worker-2" for item in table.scan()))
            first.close()
            assert data(next(second)) == data(batch)


def test_a_worker_that_is_dead_gets_no_lease_at_close() -> None:
    """A worker that was killed reported a moment ago. The leader gets the leases, as it is known to be alive."""
    stream, table = new_stream(), MemoryTable()
    fill(stream, 1)
    with new_group(stream, table, worker="worker-9"):
        wait_until(lambda: SHARD in leases_of(table))
        follower = new_group(stream, table)
        with follower:
            coordinator = follower._threads.coordinator
            wait_until(lambda: coordinator.leader.lock.leader == "worker-9")
            table.create(
                "worker-0", {"entityType": "WORKER_METRIC_STATS", "lut": 2**40, "sts": {}, "opr": {}}
            )
            assert loads_of_others(coordinator.leader, coordinator.wall_clock) == {"worker-9": 0}


def test_a_leader_that_closes_gives_nothing_to_the_dead() -> None:
    """A worker was killed a moment ago. Its report is still young, but the leader has seen that it renews no lease."""
    stream, table, clock = new_stream(2), MemoryTable(), FakeClock()
    settings = evolve(QUICK, lease_duration_s=3.0)
    coordinator = new_group(stream, table, settings=settings, clock=clock)._threads.coordinator
    coordinator.step()
    now_s = int(coordinator.wall_clock.now_s())
    table.create("worker-0", {"entityType": "WORKER_METRIC_STATS", "lut": now_s, "sts": {}, "opr": {}})
    clock.sleep(3)
    coordinator.step()
    assert loads_of_others(coordinator.leader, coordinator.wall_clock) == {"worker-0": 1}
    for _ in range(20):
        clock.sleep(1)
        coordinator.holder.renew()
        coordinator.step()
    assert {lease.owner for lease in leases_of(table).values()} == {"worker-1"}
    assert loads_of_others(coordinator.leader, coordinator.wall_clock) == {}


def test_close_survives_a_store_that_fails() -> None:
    """Each lease is released, whether or not other calls fail."""
    stream, table = new_stream(2), FaultyTable()
    fill(stream, 2)
    with new_group(stream, table) as group:
        read(group, 2)
        group.stop()
        faults = deque(["fail"])
        table.hook = lambda: faults.popleft() if faults else ""
    assert {lease.owner for lease in leases_of(table.table).values()} == {None}


@define
class Hanging(FakeStream):
    """A stream with a call that gets no response until the test ends."""

    call: str = ""
    responds: threading.Event = field(factory=threading.Event)
    hangs: threading.Event = field(factory=threading.Event)

    def list_shards(self) -> list[Shard]:
        self.hang("list_shards")
        return super().list_shards()

    def get_records(self, *arguments: Any, **more: Any) -> Page:
        self.hang("get_records")
        return super().get_records(*arguments, **more)

    def hang(self, call: str) -> None:
        if call == self.call:
            self.hangs.set()
            self.responds.wait(2 * PATIENCE_S)


@pytest.mark.parametrize("call", ["list_shards", "get_records"])
def test_close_does_not_wait_for_kinesis(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a call to Kinesis hangs, `close` releases everything that the group has, after its limits, and does not wait for the call."""
    monkeypatch.setattr(f"{WorkerThreads.__module__}.CLOSE_S", 0.1)
    table = MemoryTable()
    stream = Hanging(FakeClock(), call=call)
    stream.create(1)
    group = new_group(stream, table)
    closer = threading.Thread(target=group.close)
    try:
        group.__enter__()
        assert stream.hangs.wait(PATIENCE_S)
        closer.start()
        closer.join(PATIENCE_S)
        assert not closer.is_alive()
        assert {lease.owner for lease in leases_of(table).values()} <= {None}
        assert {item["leaseKey"] for item in table.scan()} <= {SHARD, "Migration3.0"}
    finally:
        stream.responds.set()
        TERMINATION.remove(group._threads)


def test_close_in_a_callback_only_stops_the_group() -> None:
    """A thread cannot wait for its own end. The leases are released at the end of the block."""
    stream, table, closed = new_stream(), MemoryTable(), threading.Event()
    fill(stream, 2)

    def close(*_: object) -> None:
        group.close()
        closed.set()

    group = new_group(stream, table, callbacks=Callbacks(metric=close))
    with group:
        assert closed.wait(PATIENCE_S)
        assert group._threads.is_stopping
        assert group._threads._renewing is not None, "batches in hand keep their leases"
        assert list(group) == []
    assert leases_of(table)[SHARD].owner is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="it has no forks")
def test_a_fork_cannot_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch in a process that was forked has no lease there: its commit is an error, and writes nothing."""
    stream, table = new_stream(), FaultyTable()
    fill(stream, 1)
    with new_group(stream, table) as group:
        batch = next(group)
        table.calls.clear()
        with monkeypatch.context() as patch:
            patch.setattr(os, "getpid", lambda: -1)
            with pytest.raises(RuntimeError, match="not in one that was forked"):
                batch.commit()
        assert ("update", SHARD) not in table.calls
        assert not batch.is_committed
        batch.commit()
        assert batch.is_committed


# Callbacks -------------------------------------------------------------------------------------------------------


class Calls(list[tuple[str, ...]]):
    """What callbacks were called with."""

    def callbacks(self) -> Callbacks:
        def note(name: str) -> Callable[[str, str], None]:
            return lambda stream, shard: self.append((name, stream, shard))

        return Callbacks(
            lease_gained=note("gained"),
            hand_over_requested=note("hand over"),
            lease_lost=note("lost"),
            shard_ended=note("ended"),
        )


def test_callbacks_say_what_happens_to_leases() -> None:
    """A lease is gained, its shard ends, and those of its children are gained, and lost at the end."""
    stream, calls = new_stream(), Calls()
    fill(stream, 1)
    with new_group(stream, callbacks=calls.callbacks()) as group:
        read(group, 1)
        children = stream.split(SHARD)
        wait_until(lambda: len(calls) == 4)
    assert calls[:2] == [("gained", "orders", SHARD), ("ended", "orders", SHARD)]
    assert sorted(calls[2:4]) == [("gained", "orders", child) for child in children]
    assert sorted(calls[4:]) == [("lost", "orders", child) for child in children]


def test_a_hand_over_is_announced_and_waits_for_the_batch_in_hand() -> None:
    """When a second worker joins, the first one is asked for a lease, commits its batch, and then releases the lease."""
    stream, table, calls, clock = new_stream(2), MemoryTable(), Calls(), FakeClock()
    fill(stream, 2)
    settings = evolve(QUICK, lease_duration_s=3.0)
    first = new_group(stream, table, settings=settings, callbacks=calls.callbacks(), clock=clock)._threads
    second = new_group(stream, table, settings=settings, worker="worker-2", clock=clock)._threads
    batches: list[Batch] = []
    found: list[Batch] = []

    def step() -> None:
        clock.sleep(1)
        batches.extend(step_of(first))
        found.extend(step_of(second) if len(batches) == 2 else [])

    while not any(call[0] == "hand over" for call in calls):
        step()
    for _ in range(5):
        step()
    assert not any(call[0] == "lost" for call in calls)
    for batch in batches:
        batch.commit()
    while not any(call[0] == "lost" for call in calls):
        step()
    moved = calls[-1][2]
    new = stream.put(moved, b"new").data
    while not found:
        step()
    assert data(found[0]) == [new]


def test_a_lease_that_is_lost_is_reported_once() -> None:
    """However many threads find out, `lease_lost` is called once, and the batch is no longer ours."""
    stream, table, calls = new_stream(), MemoryTable(), Calls()
    fill(stream, 1)
    with new_group(stream, table, callbacks=calls.callbacks()) as group:
        batch = next(group)
        reader = group._threads.worker.leases.shards.readers()[0]
        reader.held.lose("the test says so")
        with pytest.raises(
            LeaseLostError, match=r"is not committed, and is delivered again: the test says so"
        ) as raised:
            batch.commit()
        assert (raised.value.stream, raised.value.shard_id) == ("orders", SHARD)
        group._threads.worker.leases.end(reader)
        group._threads.worker.leases.end(reader)
        assert calls.count(("lost", "orders", SHARD)) == 1


def test_metrics_count_commits_and_measure_the_lag() -> None:
    """Each commit counts its records and bytes, and each page has a lag: by stream and shard."""
    found: list[tuple[str, float, Mapping[str, str]]] = []
    stream = new_stream()
    fill(stream, 3)
    callbacks = Callbacks(metric=lambda name, value, of_what: found.append((name, value, of_what)))
    with new_group(stream, callbacks=callbacks) as group:
        next(group)
        assert {name for name, _, _ in found} == {"lag_ms"}
        hand = group._threads.worker.leases.shards.readers()[0].hand
        assert isinstance(hand, Out)
        hand.batch.commit()
    shard = {"stream": "orders", "shard": SHARD}
    assert ("lag_ms", 0, shard) in found
    assert [each for each in found if each[0] != "lag_ms"] == [
        ("records.committed", 3, shard),
        ("bytes.committed", 3, shard),
    ]


def test_the_lag_is_measured_while_nothing_is_read() -> None:
    """A thread of the group reports the lag of a shard that waits for the commit of its batch."""
    found: list[float] = []
    stream, clock = new_stream(), FakeClock()
    fill(stream, 2)
    callbacks = Callbacks(metric=lambda _, value, __: found.append(value))
    with new_group(stream, settings=ONE_BY_ONE, callbacks=callbacks, clock=clock) as group:
        next(group)
        wait_until(lambda: not group._threads.worker.leases.shards.readers()[0].has_room)
        clock.sleep(1000)
        wait_until(lambda: found[-1] >= 1_000_000)


@pytest.mark.parametrize("name", ["lease_gained", "shard_ended", "metric"])
def test_a_callback_that_raises_ends_the_group_with_its_error(name: str) -> None:
    """The error of a callback in any thread surfaces in the iteration, and the leases are released nevertheless."""
    stream, table = new_stream(2), MemoryTable()
    for shard in list(stream.shards):
        stream.split(shard)

    def fail(*_: object) -> None:
        raise ZeroDivisionError(name)

    callbacks = Callbacks(**{name: fail})
    with pytest.raises(ZeroDivisionError, match=name), new_group(stream, table, callbacks=callbacks) as group:
        next(group)
    assert {lease.owner for lease in leases_of(table).values()} == {None}


def test_a_callback_that_raises_at_close_keeps_no_lease() -> None:
    """All leases and the leader's lock are released, although the first `lease_lost` raises."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    stream, table = new_stream(3), MemoryTable()
    fill(stream, 3)
    with (
        pytest.raises(ZeroDivisionError),
        new_group(stream, table, callbacks=Callbacks(lease_lost=fail)) as group,
    ):
        read(group, 3)
    assert {lease.owner for lease in leases_of(table).values()} == {None}
    assert {item["leaseKey"] for item in table.scan()} == set(stream.shards)


# Errors ----------------------------------------------------------------------------------------------------------


class Closed(FakeStream):
    """A stream whose records nobody may read."""

    def get_records(self, *_: object, **__: object) -> Page:
        raise AccessDeniedError("GetRecords is not allowed.", code="AccessDeniedException")


def test_an_error_of_a_reading_thread_surfaces() -> None:
    """A call that AWS refuses for good ends the group: the iteration raises the error, and the leases are released."""
    table = MemoryTable()
    with (
        pytest.raises(AccessDeniedError, match="not allowed"),
        new_group(Closed(FakeClock()).create(1), table) as group,
    ):
        next(group)
    assert leases_of(table)[SHARD].owner is None


def test_an_error_of_the_coordination_surfaces() -> None:
    """A table that refuses calls for good ends the group with that error."""

    def refuse() -> str:
        raise AccessDeniedError("UpdateItem is not allowed.", code="AccessDeniedException")

    table = FaultyTable(hook=refuse)
    group = new_group(new_stream(), table)
    with pytest.raises(AccessDeniedError, match="not allowed"), group:
        next(group)


def test_a_refused_commit_names_arguments() -> None:
    """An error of the store that ends a commit speaks of a group's arguments, as errors of the group do."""

    def refuse() -> str:
        raise TableNotFoundError("It is gone.", advice=Advice.CHECK_TABLE)

    stream, table = new_stream(), FaultyTable()
    fill(stream, 1)
    with new_group(stream, table) as group:
        batch = next(group)
        table.hook = refuse
        with pytest.raises(TableNotFoundError) as caught:
            batch.commit()
        table.hook = str
    assert str(caught.value) == f"It is gone. {GROUPS.say(Advice.CHECK_TABLE)}"


def test_a_store_that_fails_for_a_while_is_waited_out() -> None:
    """While each call to the table fails nothing ends; afterwards the group reads."""
    faults = deque(["fail"] * 3)
    table = FaultyTable(hook=lambda: faults.popleft() if faults else "")
    stream = new_stream()
    wanted = fill(stream, 2)
    with new_group(stream, table) as group:
        assert read(group, 2) == wanted
    assert not faults


# asyncio ---------------------------------------------------------------------------------------------------------


def test_an_asynchronous_iteration() -> None:
    """`async for` delivers what `for` delivers."""
    stream = new_stream()
    wanted = fill(stream, 3)

    async def program(group: ConsumerGroup) -> list[bytes]:
        found: list[bytes] = []
        async for batch in group:
            found += data(batch)
            batch.commit()
            if len(found) == 3:
                group.stop()
        return found

    with new_group(stream, settings=ONE_BY_ONE) as group:
        assert asyncio.run(program(group)) == wanted


def test_a_cancelled_wait_loses_no_batch() -> None:
    """A task that is cancelled while it waits for a batch takes none; the next one gets it."""
    stream = new_stream()

    async def program(group: ConsumerGroup) -> list[bytes]:
        waiting = asyncio.ensure_future(anext(group))
        while not group._threads.shards.listeners:
            await asyncio.sleep(0)
        waiting.cancel()
        fill(stream, 1)
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert not group._threads.shards.listeners
        return data(await anext(group))

    with new_group(stream) as group:
        assert asyncio.run(program(group)) == [b"0"]


def test_a_task_commits_and_closes_without_blocking_others() -> None:
    """While a commit, or the end of the group, waits for the store, other tasks go on."""
    stream, table, go_on = new_stream(), FaultyTable(), threading.Event()
    fill(stream, 1)

    async def program() -> None:
        async with new_group(stream, table) as group:
            assert signal.getsignal(signal.SIGTERM) == TERMINATION.on_signal
            batch = await anext(group)
            table.hook = waiting
            committing = asyncio.ensure_future(batch.commit_async())
            await asyncio.sleep(0)
            go_on.set()  # a commit in this thread would wait for ever
            await committing
            assert batch.is_committed
            go_on.clear()
            closing = asyncio.ensure_future(group.aclose())
            await asyncio.sleep(0)
            go_on.set()
            await closing
            assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL

    def waiting() -> str:
        assert go_on.wait(PATIENCE_S), "the event loop is blocked"
        return ""

    asyncio.run(program())
    assert leases_of(table.table)[SHARD].owner is None


def test_a_cancelled_commit_is_done_before_its_task_ends() -> None:
    """A task that is cancelled during a commit, even twice, is cancelled after it: the batch is committed."""
    stream, table, go_on = new_stream(), FaultyTable(), threading.Event()
    fill(stream, 1)

    def waiting() -> str:
        go_on.wait(PATIENCE_S)
        return ""

    async def program(group: ConsumerGroup) -> None:
        batch = await anext(group)
        table.hook = waiting
        committing = asyncio.ensure_future(batch.commit_async())
        for _ in range(2):
            await asyncio.sleep(0.05)
            committing.cancel()
        await asyncio.sleep(0.05)
        assert not committing.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await committing
        assert batch.is_committed

    with new_group(stream, table) as group:
        asyncio.run(program(group))


def test_a_cancelled_commit_that_fails_says_why() -> None:
    """The error of a commit whose task is cancelled meanwhile is the cause of the cancellation."""
    stream, table = new_stream(), FaultyTable()
    fill(stream, 1)

    async def program(group: ConsumerGroup) -> None:
        batch = await anext(group)
        committing = asyncio.ensure_future(batch.commit_async())
        group._threads.worker.leases.shards.readers()[0].held.lose("the test says so")
        await asyncio.sleep(0)
        committing.cancel()
        with pytest.raises(asyncio.CancelledError) as error:
            await committing
        assert isinstance(error.value.__cause__, LeaseLostError)
        assert not batch.is_committed

    with new_group(stream, table) as group:
        asyncio.run(program(group))


# Handlers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_async", [False, True])
def test_a_handler_that_takes_long_is_not_warned_of(is_async: bool, caplog: pytest.LogCaptureFixture) -> None:
    """`run` commits by itself, so a batch that its handler works on for minutes is no forgotten one."""
    stream, clock = new_stream(), FakeClock()
    fill(stream, 1)
    group = new_group(stream, clock=clock)
    waits: list[float] = []
    before_wait, before_wait_async = group._threads.wait, group._threads.wait_async

    def handle(_: Batch) -> None:
        clock.sleep(2 * UNCOMMITTED_S)
        seen = len(waits)
        wait_until(lambda: len(waits) > seen + 4)
        group.stop()

    async def handle_async(batch: Batch) -> None:
        await asyncio.to_thread(handle, batch)

    def wait(seen: int, seconds: float = 0.01) -> None:
        waits.append(seconds)
        before_wait(seen, 0.01)

    async def wait_async(seen: int, seconds: float = 0.01) -> None:
        waits.append(seconds)
        await before_wait_async(seen, 0.01)

    with group, pytest.MonkeyPatch.context() as patch:
        patch.setattr(WorkerThreads, "wait", lambda _, *arguments: wait(*arguments))
        patch.setattr(WorkerThreads, "wait_async", lambda _, *arguments: wait_async(*arguments))
        if is_async:
            asyncio.run(group.run_async(handle_async, tasks=2))
        else:
            group.run(handle, threads=2)
    assert "batch.uncommitted" not in caplog.text


# Signals ---------------------------------------------------------------------------------------------------------


def test_the_handler_of_sigterm_is_the_programs_own_again_after_the_end() -> None:
    """A group handles SIGTERM from its beginning to its end, unless the program has a handler of its own."""
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    with new_group(new_stream()):
        assert signal.getsignal(signal.SIGTERM) == TERMINATION.on_signal
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL

    def own(*_: object) -> None:
        pass

    signal.signal(signal.SIGTERM, own)
    try:
        with new_group(new_stream()):
            assert signal.getsignal(signal.SIGTERM) is own
        assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def test_sigterm_ends_an_iteration_after_the_batch_in_hand() -> None:
    """After SIGTERM the batch in hand is committed, no further one comes, and the lease is released."""
    stream, table = new_stream(), MemoryTable()
    fill(stream, 5)
    batches = []
    with new_group(stream, table, settings=ONE_BY_ONE) as group:
        for batch in group:
            batches.append(batch)
            signal.raise_signal(signal.SIGTERM)
            batch.commit()
    lease = leases_of(table)[SHARD]
    assert [batch.id.last for batch in batches] == [lease.checkpoint.number]
    assert lease.owner is None


def test_sigterm_stops_all_groups_of_a_process() -> None:
    """Two groups in the main thread both stop. The handler stays until the second one is closed, whichever that is."""
    with new_group(new_stream()) as first:
        with new_group(new_stream()) as second:
            first.close()
            assert signal.getsignal(signal.SIGTERM) == TERMINATION.on_signal
            with new_group(new_stream()) as third:
                signal.raise_signal(signal.SIGTERM)
                assert [list(second), list(third)] == [[], []]
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_close_in_a_callback_leaves_the_handler() -> None:
    """A group that is only stopped still releases its leases at its end, so a signal before that must not end the program."""
    entered, closed = threading.Event(), threading.Event()

    def close(*_: object) -> None:
        entered.wait(PATIENCE_S)
        group.close()
        closed.set()

    group = new_group(new_stream(), callbacks=Callbacks(lease_gained=close))
    with group:
        entered.set()
        assert closed.wait(PATIENCE_S)
        assert TERMINATION._here() == [group._threads]
        assert list(group) == []
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_group_says_what_it_is() -> None:
    """The `repr` of a group names application and worker, and that of a batch its id; neither shows records."""
    stream = new_stream()
    fill(stream, 1)
    with new_group(stream, worker="worker-7") as group:
        assert repr(group) == "<ConsumerGroup billing, worker worker-7>"
        batch = next(group)
        assert repr(batch) == f"<Batch orders:{SHARD}:{batch.id.first}:{batch.id.last}>"


def test_a_stream_that_is_created_again_ends_the_group() -> None:
    """The error says what to do in a group, which has leases and no checkpoint directory."""
    stream = new_stream()
    fill(stream, 1)
    with new_group(stream) as group:
        next(group).commit()
        stream.clock.sleep(60)
        stream.recreate(2)
        with pytest.raises(StreamRecreatedError) as caught:
            next(group)
    assert str(caught.value).startswith(
        "Stream orders was deleted and created again. The saved offset belongs to the stream created at "
    )
    assert "Start with new leases: " in str(caught.value)
    assert "directory" not in str(caught.value)


async def iterate(group: ConsumerGroup) -> None:
    async for _ in group:
        pass


async def handle(_: Batch) -> None: ...


@pytest.mark.parametrize(
    "use",
    [
        next,
        lambda group: asyncio.run(iterate(group)),
        lambda group: group.run(str),
        lambda group: asyncio.run(group.run_async(handle)),
    ],
    ids=["for", "async for", "run", "run_async"],
)
def test_a_loss_names_the_setting(use: Callable[[ConsumerGroup], object]) -> None:
    """Errors that end a running group name settings of a group, as those of `open` do."""
    with new_group(new_stream()) as group:
        group._threads.fail(DataLossError("It is lost.", advice=Advice.SKIP_LOST, stream="orders"))
        with pytest.raises(DataLossError) as caught:
            use(group)
    assert str(caught.value) == f"It is lost. {GROUPS.say(Advice.SKIP_LOST)} [stream=orders]"
