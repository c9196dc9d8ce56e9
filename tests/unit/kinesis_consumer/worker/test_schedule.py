"""Which shards are looked at next."""

from __future__ import annotations

import pytest

from kinesis_consumer import GroupSettings
from kinesis_consumer.delivery import ShardReader
from kinesis_consumer.leases import updates
from kinesis_consumer.stores import MemoryTable
from kinesis_consumer.worker import Worker
from kinesis_consumer.worker.held_shards import HeldShards
from kinesis_consumer.worker.worker import LOOK_S
from kinesis_core.budget import NoRoomError, admit
from kinesis_core.model import Page
from support.consumer_groups import QUICK, fill, leases_of, new_group, new_stream
from support.fake_stream import FakeClock, FakeStream


def test_what_has_changed_is_looked_at_once() -> None:
    """Shards are looked at in the order in which they changed, each once, however often it changed."""
    schedule = HeldShards()
    schedule.touch(["b", "a", "b"])
    assert schedule.take_changed(0.0) == ["b", "a"]
    assert schedule.take_changed(0.0) == []


def test_a_shard_whose_time_has_come_is_looked_at() -> None:
    """Only the last time that a shard was put off to counts."""
    schedule = HeldShards()
    schedule.put_off("a", 5.0)
    schedule.put_off("b", 3.0)
    schedule.put_off("a", 7.0)
    assert schedule.next_s() == 3.0
    assert [schedule.take_changed(now_s) for now_s in (2.0, 3.0, 6.0, 7.0, 8.0)] == [[], ["b"], [], ["a"], []]
    assert schedule.next_s() == float("inf")


def test_putting_off_to_the_same_time_again_costs_nothing() -> None:
    """A shard that waits for an hour is looked at many times meanwhile."""
    schedule = HeldShards()
    for _ in range(1000):
        schedule.put_off("a", 3600.0)
    assert len(schedule._times) == 1


def test_a_change_wakes_those_that_wait() -> None:
    """They do not notice a batch that is ready, or a page that has arrived, only when they look by themselves."""
    worker, _ = start(1, GroupSettings())
    shards, woken = worker.leases.shards, list[int]()
    before = shards.changes
    shards.listeners.add(lambda: woken.append(shards.changes))
    (reader,) = shards.readers()
    shards.put_ready(reader)
    shards.look_at(reader.key)
    assert woken == [before + 1, before + 2]


def start(shards: int, settings: GroupSettings) -> tuple[Worker, FakeClock]:
    """Return a worker that has the leases of so many shards with one record each, and its clock, which stands still."""
    stream, clock = new_stream(shards), FakeClock()
    fill(stream, shards)
    threads = new_group(stream, settings=settings, clock=clock)._threads
    while len(threads.worker.leases.shards.readers()) < shards:
        threads.coordinator.step()
        clock.sleep(1)
    return threads.worker, clock


def looks_per_batch(shards: int, monkeypatch: pytest.MonkeyPatch) -> float:
    """Return how often readers are looked at for each batch of a worker with that many shards."""
    worker, _ = start(shards, GroupSettings(max_batch_records=1))
    looks = 0

    def is_ready(self: Worker, reader: ShardReader, now_s: float) -> bool:
        nonlocal looks
        looks += 1
        return original(self, reader, now_s)

    def readers(self: HeldShards) -> list[ShardReader]:
        nonlocal looks
        looks += shards
        return all_readers(self)

    original, all_readers = Worker._is_ready, HeldShards.readers
    with monkeypatch.context() as patch:
        patch.setattr(Worker, "_is_ready", is_ready)
        patch.setattr(HeldShards, "readers", readers)
        due, batches = worker.due_readers(), 0
        while batches < shards:
            worker.advance(due.pop(0))
            batch = worker.take()
            if batch is not None:
                batch.commit()
                batches += 1
            due += worker.due_readers()
    return looks / shards


def test_the_work_for_a_batch_does_not_grow_with_the_number_of_shards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A worker with many shards looks at a shard when it has changed, and not at all shards for each batch."""
    few, many = looks_per_batch(8, monkeypatch), looks_per_batch(64, monkeypatch)
    assert many <= few


def test_a_commit_makes_room_for_shards_that_wait_for_it() -> None:
    """Nothing else changes in such a shard. It is due at once, and not when all shards are looked at."""
    worker, _ = start(2, GroupSettings(max_buffered_bytes=1))
    first, second = worker.due_readers()
    worker.advance(first)
    worker.advance(second)
    assert not second.has_begun
    assert worker.due_readers() == []
    batch = worker.take()
    assert batch is not None
    batch.commit()
    assert second in worker.due_readers()


def test_a_response_counts_before_it_is_received(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that does not fit is not received. Its shard waits until there is room, and no other one takes that."""
    worker, clock = start(3, GroupSettings(max_buffered_bytes=1000))
    bodies, given_up, get_records = dict.fromkeys(range(3), 10), list[int](), FakeStream.get_records

    def receive(self: FakeStream, iterator: str, limit: int, with_data: bool, shard_id: str) -> Page:
        index = int(shard_id.removeprefix("shardId-"))
        try:
            admit(bodies[index])
        except NoRoomError:
            given_up.append(index)
            raise
        return get_records(self, iterator, limit, with_data, shard_id)

    monkeypatch.setattr(FakeStream, "get_records", receive)
    bodies[1] = 500
    first, large, small = worker.due_readers()
    worker.advance(first)
    worker.advance(large)
    assert (given_up, large.kept.size_bytes, large.call.size_bytes) == ([1], 0, 0)
    worker.advance(small)
    assert not small.has_begun
    clock.sleep(1)
    assert worker.due_readers() == []
    batch = worker.take()
    assert batch is not None
    batch.commit()
    assert worker.due_readers()[0] is large
    worker.advance(large)
    assert large.kept.size_bytes > 0
    worker._line.wait("another")
    assert not worker._line.may_go(large.key)
    worker._line.leave("another")
    assert large.refused_bytes == 0  # an event of a subscription, which makes no call, would need as much
    assert small in worker.due_readers()
    worker.advance(small)
    assert small.has_begun


@pytest.mark.parametrize("why", ["lost", "ended"])
def test_a_shard_that_wants_no_room_leaves_the_line(why: str) -> None:
    """Its lease is lost, or its last page is read. The next one is called, although the first would find no room."""
    worker, _ = start(3, GroupSettings(max_buffered_bytes=1000))
    gone, waiting, holding = worker.due_readers()
    worker.advance(holding)
    if why == "lost":
        gone.held.lose("it expired")
    else:
        gone.buffer.is_ended = True
    gone.refused_bytes = 5000
    worker._line.wait(gone.key)
    worker._line.wait(waiting.key)
    assert waiting in worker.due_readers()
    worker._line.wait("another")
    assert not worker._line.may_go(gone.key)


def test_no_more_shards_are_called_than_fit_together() -> None:
    """Otherwise each page that goes would wake all shards of a long line, and one of them finds room."""
    worker, _ = start(2, GroupSettings(max_buffered_bytes=1000))
    first, second = worker.due_readers()
    for reader in (first, second):
        reader.refused_bytes = 600
        worker._line.wait(reader.key)
    assert worker.due_readers() == [first]
    worker.advance(first)
    assert worker.due_readers() == [second]


def test_one_open_batch_stops_no_other_shard() -> None:
    """Nothing is known of a shard's first page, so a small limit does not keep it from being asked for."""
    worker, _ = start(3, GroupSettings(max_buffered_bytes=1000, fetch_threads=1))
    for reader in worker.due_readers():
        worker.advance(reader)
    assert all(reader.has_begun for reader in worker.leases.shards.readers())


def test_a_lost_lease_keeps_no_other_shard_waiting() -> None:
    """A shard that waits for room and goes to another worker leaves the line."""
    worker, clock = start(3, GroupSettings(max_buffered_bytes=1))
    first, second, third = worker.due_readers()
    worker.advance(first)
    clock.sleep(1)
    assert worker.due_readers() == []
    worker.leases.end(second)
    worker.leases.end(first)
    assert worker.due_readers() == [third]


def test_a_lease_that_was_gained_is_looked_at_at_once() -> None:
    """It does not wait until all shards are looked at."""
    stream, table, clock = new_stream(), MemoryTable(), FakeClock()
    threads = new_group(stream, table, clock=clock)._threads
    assert threads.worker.due_readers() == []
    threads.coordinator.step()
    assert threads.worker.due_readers() == threads.worker.leases.shards.readers() != []


def test_a_shard_is_read_on_when_a_hand_over_is_revoked() -> None:
    """Nothing happens in such a shard, so it is found when all shards are looked at, once a second."""
    stream, table, clock = new_stream(), MemoryTable(), FakeClock()
    threads = new_group(stream, table, clock=clock)._threads
    threads.coordinator.step()
    worker = threads.worker
    (reader,) = worker.leases.shards.readers()
    fill(stream, 1)
    worker.advance(reader)
    assert worker.take() is not None
    (lease,) = leases_of(table).values()
    assert table.update(updates.begin_hand_over(lease, "other")) is not None
    clock.sleep(QUICK.lease_duration_s / 2)
    worker.leases.renew()
    assert reader.held.is_handing_over
    assert worker.due_readers() == []
    (lease,) = leases_of(table).values()
    assert table.update(updates.assign(lease, worker.leases.name)) is not None
    clock.sleep(QUICK.lease_duration_s / 2)
    worker.leases.renew()
    assert not reader.held.is_handing_over
    clock.sleep(LOOK_S)
    assert worker.due_readers() == [reader]


def test_a_lease_that_is_gone_is_not_looked_at() -> None:
    """Also when its shard has changed, or waits for a time."""
    worker, clock = start(2, GroupSettings())
    for reader in worker.due_readers():
        worker.advance(reader)
    gone = worker.leases.shards.readers()[0]
    worker.leases.end(gone)
    clock.sleep(60)
    assert gone not in worker.due_readers()
