"""Batches of one shard: exact, one at a time, the same after a crash."""

from __future__ import annotations

from typing import Any

import pytest

from kinesis_consumer.delivery.batch import Batch
from kinesis_consumer.delivery.shard_reader import RECORD_BYTES, ShardReader
from kinesis_consumer.errors import LeaseLostError
from kinesis_consumer.leases import updates
from kinesis_consumer.settings import GroupSettings
from kinesis_consumer.stores import Update
from kinesis_core import AccessDeniedError, DataLossError, StreamRecreatedError, UnavailableError
from kinesis_core.budget import NoRoomError
from kinesis_core.leases import LeaseCheckpoint
from kinesis_core.model import Page
from support.aggregates import aggregate
from support.fake_stream import FakeStream
from unit.kinesis_consumer.consumer_parts import OneShard, commit, data


def put(shard: OneShard, *values: bytes) -> None:
    for value in values:
        shard.stream.put(shard.shard_id, value)


def pack(*values: bytes) -> bytes:
    return aggregate(("key", None, value) for value in values)


def next_batch(reader: ShardReader, fetches: int = 3) -> Batch:
    batch = fetch_and_take(reader, fetches)
    assert batch is not None
    return batch


def fetch_and_take(reader: ShardReader, fetches: int = 3) -> Batch | None:
    for _ in range(fetches):
        if reader.has_room:
            reader.fetch()
    return take(reader)


def take(reader: ShardReader) -> Batch | None:
    reader.fix_next()
    return reader.take()


def test_a_batch_is_fixed_before_it_goes_out() -> None:
    """The lease names the end of a batch as pending, and the checkpoint stays until the commit."""
    shard = OneShard.new()
    put(shard, b"1", b"2")
    batch = next_batch(shard.reader())
    assert data(batch) == [b"1", b"2"]
    assert shard.lease().pending == batch.end
    assert shard.lease().checkpoint == LeaseCheckpoint("TRIM_HORIZON")


def test_a_page_that_comes_during_a_commit_is_kept() -> None:
    """
    A thread fetches a page while the commit is written, and makes a batch of it as soon as none is out. If the store fails just then,
    the plan is kept for another attempt.
    """

    shard = OneShard.new()
    put(shard, b"1")
    reader = shard.reader()
    first = next_batch(reader)

    def fetch() -> str:
        shard.table.hook = str
        put(shard, b"2")
        reader.fetch()
        assert take(reader) is None
        return ""

    shard.table.hook = fetch
    assert commit(reader, first) is None
    shard.table.hook = lambda: "fail"
    with pytest.raises(UnavailableError):
        take(reader)
    shard.table.hook = str
    assert data(take(reader)) == [b"2"]


def test_a_lease_says_when_its_batch_was_committed() -> None:
    """The time is that of Kinesis, which all workers share. A renewal leaves it as it is."""
    shard = OneShard.new()
    put(shard, b"1")
    reader = shard.reader()
    batch = next_batch(reader)
    assert shard.lease().committed_ms is None
    reader.write_commit(batch)
    committed_ms = shard.stream.now_ms()
    assert shard.lease().committed_ms == committed_ms
    shard.stream.clock.now += 5
    reader.held.renew(reader.renewal())
    assert shard.lease().committed_ms == committed_ms


def test_two_threads_that_commit_one_batch() -> None:
    """The second one finds it committed, and its write does not fix another end of the next batch."""
    shard = OneShard.new(GroupSettings(max_batch_records=1))
    put(shard, b"1", b"2")
    reader = shard.reader()
    first = next_batch(reader)
    reader.fetch()
    assert reader.write_commit(first)
    lease = shard.lease()
    assert not reader.write_commit(first)
    assert shard.lease() == lease
    assert reader.kept.size_bytes == 1 + RECORD_BYTES
    first.is_committed = False
    with pytest.raises(LeaseLostError, match="cannot be committed"):
        reader.write_commit(first)


def test_a_commit_that_is_made_again_skips_no_page() -> None:
    """The next batch is built once. Pages that come between two attempts are in the one after it."""
    shard = OneShard.new(GroupSettings(max_batch_records=1))
    put(shard, b"1", b"2", b"3")
    reader = shard.reader()
    first = next_batch(reader)
    reader.fetch()

    def deny() -> str:
        raise AccessDeniedError("denied", "AccessDeniedException")

    shard.table.hook = deny
    with pytest.raises(AccessDeniedError):
        reader.write_commit(first)
    shard.table.hook = str
    reader.fetch()
    second = commit(reader, first)
    assert data(second) == [b"2"]
    assert data(commit(reader, second)) == [b"3"]


def test_a_commit_that_meets_the_loss_of_its_lease_frees_memory_once() -> None:
    """Its data counts no longer once the reader is closed, and the commit counts although the lease is lost."""
    shard = OneShard.new()
    put(shard, b"1")
    reader = shard.reader()
    batch = next_batch(reader)

    def close() -> str:
        reader.close()
        return ""

    shard.table.hook = close
    assert reader.write_commit(batch)
    assert reader.memory.used_bytes == 0
    assert reader.take() is None


def test_a_batch_that_waits_does_not_go_out_once_its_lease_is_released() -> None:
    """A program takes a batch at the moment at which its lease is released."""
    shard = OneShard.new()
    put(shard, b"1")
    reader = shard.reader()
    reader.fetch()
    assert reader.fix_next()
    assert reader.begin_release(only_idle=True)
    assert not reader.held.is_ours
    assert reader.take() is None


def test_a_batch_in_hand_keeps_its_lease() -> None:
    """A release that waits for idle shards changes nothing while the program has a batch."""
    shard = OneShard.new()
    put(shard, b"1")
    reader = shard.reader()
    batch = next_batch(reader)
    assert not reader.begin_release(only_idle=True)
    assert batch.is_ours


def test_no_batch_is_planned_after_a_hand_over_has_begun() -> None:
    """The last commit fixes no further end: the next owner is to make the batches."""
    shard = OneShard.new(GroupSettings(max_batch_records=1))
    put(shard, b"1", b"2")
    reader = shard.reader()
    first = next_batch(reader)
    reader.fetch()
    assert shard.table.table.update(updates.begin_hand_over(shard.lease(), "next")) is not None
    reader.held.renew()
    assert commit(reader, first) is None
    assert shard.lease().pending is None


def test_nothing_goes_out_after_the_program_was_asked_to_finish() -> None:
    """A batch that waits while another worker does is that worker's."""
    shard = OneShard.new()
    put(shard, b"1")
    reader = shard.reader()
    reader.fetch()
    assert reader.fix_next()
    assert shard.table.table.update(updates.begin_hand_over(shard.lease(), "next")) is not None
    reader.held.renew()
    assert reader.held.ask(shard.clock.now_s())
    assert reader.take() is None


def test_nothing_takes_the_place_of_a_batch_that_was_withdrawn() -> None:
    """
    A batch that is taken back because the lease is released stays in the lease, although the next records are there. The next owner
    delivers it, and skips nothing.
    """
    shard = OneShard.new(GroupSettings(max_batch_records=1))
    put(shard, b"1", b"2")
    reader = shard.reader()
    assert data(next_batch(reader)) == [b"1"]
    reader.fetch()
    assert reader.begin_release(only_idle=False)
    assert take(reader) is None
    following = shard.reader()
    assert data(next_batch(following)) == [b"1"]


def test_the_next_batch_goes_out_when_a_hand_over_is_revoked() -> None:
    """A commit during a hand-over fixes the next batch without handing it out. If the lease stays here after all, it goes out."""
    shard = OneShard.new(GroupSettings(max_batch_records=1))
    put(shard, b"1", b"2", b"3")
    reader = shard.reader()
    first = next_batch(reader)
    reader.fetch()
    inner = shard.table.table

    def ask_for_lease() -> str:
        if shard.lease().owner == reader.held.worker:
            assert inner.update(updates.begin_hand_over(shard.lease(), "other"))
        return ""

    shard.table.hook = ask_for_lease
    assert commit(reader, first) is None
    assert reader.held.is_handing_over
    assert take(reader) is None
    shard.table.hook = str
    assert inner.update(updates.assign(shard.lease(), reader.held.worker))
    reader.held.renew()
    second = next_batch(reader)
    assert data(second) == [b"2"]
    assert data(commit(reader, second)) == [b"3"]


def test_one_batch_at_a_time() -> None:
    """While a batch is out, there is no other one. Its commit brings the next, in the same write."""
    shard = OneShard.new()
    put(shard, b"1")
    reader = shard.reader()
    first = next_batch(reader)
    put(shard, b"2", b"3")
    shard.clock.sleep(1)
    assert fetch_and_take(reader) is None
    writes = len([call for call, _ in shard.table.calls if call == "update"])
    second = commit(reader, first)
    assert len([call for call, _ in shard.table.calls if call == "update"]) == writes + 1
    assert data(second) == [b"2", b"3"]
    assert second is not None
    assert (shard.lease().checkpoint, shard.lease().pending) == (first.end, second.end)


def test_a_batch_is_the_same_after_a_crash() -> None:
    """Another worker delivers the batch again, with the same records and id, though more records are there now."""
    shard = OneShard.new()
    put(shard, b"1", b"2")
    lost = next_batch(shard.reader())
    put(shard, b"3")
    reader = shard.reader()
    again = next_batch(reader)
    assert (data(again), again.id, again.end) == (data(lost), lost.id, lost.end)
    assert data(commit(reader, again)) == [b"3"]


def test_a_batch_that_is_delivered_again_costs_no_write() -> None:
    """Its end is in the lease already."""
    shard = OneShard.new()
    put(shard, b"1")
    next_batch(shard.reader())
    reader = shard.reader()
    lease = shard.lease()
    next_batch(reader)
    assert shard.lease() == lease


def test_a_batch_is_committed_as_its_worker_does() -> None:
    """`Batch.commit` leaves it to the worker, which also hands out the next batch."""
    shard = OneShard.new()
    put(shard, b"1")
    reader = shard.reader()
    asked: list[tuple[ShardReader, Batch]] = []
    reader.commit_with = lambda *of_whom: asked.append(of_whom)
    batch = next_batch(reader)
    batch.commit()
    assert asked == [(reader, batch)]


def test_a_batch_of_several_pages_is_the_same_after_a_crash() -> None:
    """A batch that took several pages is read again as one, also where the next worker reads smaller pages."""
    shard = OneShard.new(GroupSettings(max_batch_records=5))
    put(shard, *(b"%d" % i for i in range(9)))
    lost = next_batch(shard.reader())
    shard.settings = GroupSettings(max_batch_records=2)
    again = next_batch(shard.reader(), fetches=9)
    assert (len(data(lost)), data(again), again.id) == (5, data(lost), lost.id)


def test_limits_of_a_batch() -> None:
    """A batch has at most the given number of records, and ends once it has the given bytes."""
    shard = OneShard.new(GroupSettings(max_batch_records=3))
    put(shard, *(b"%d" % i for i in range(5)))
    reader = shard.reader()
    first = next_batch(reader)
    assert data(first) == [b"0", b"1", b"2"]
    reader.fetch()
    assert data(commit(reader, first)) == [b"3", b"4"]


def test_a_kcl_stopped_inside_an_aggregate() -> None:
    """Reading goes on with the next user record of the aggregate, and the id says so."""
    shard = OneShard.new()
    put(shard, b"0", pack(b"a", b"b", b"c"), b"1")
    number = shard.stream.shards[shard.shard_id].records[1].sequence_number
    held = shard.take("kcl")
    held.checkpoint(LeaseCheckpoint(number, 0), None, {})
    batch = next_batch(shard.reader())
    assert data(batch) == [b"b", b"c", b"1"]
    assert batch.id.first == f"{number}/1"


def test_a_crash_inside_an_aggregate() -> None:
    """A batch that begins inside an aggregate begins there again after a crash."""
    shard = OneShard.new()
    put(shard, pack(b"a", b"b", b"c"), b"1")
    number = shard.stream.shards[shard.shard_id].records[0].sequence_number
    shard.take("kcl").checkpoint(LeaseCheckpoint(number, 1), None, {})
    lost, again = next_batch(shard.reader()), next_batch(shard.reader())
    assert data(lost) == data(again) == [b"c", b"1"]
    assert lost.id == again.id


def test_commits_name_the_last_user_record() -> None:
    """The checkpoint names the last user record of an aggregate by its index, so a KCL goes on after it."""
    shard = OneShard.new()
    put(shard, b"1", pack(b"a", b"b", b"c"))
    reader = shard.reader()
    batch = next_batch(reader)
    commit(reader, batch)
    assert shard.lease().checkpoint.sub_sequence_number == 2
    put(shard, b"2")
    assert data(next_batch(shard.reader())) == [b"2"]


def test_a_pending_checkpoint_of_a_kcl_fixes_nothing() -> None:
    """The pending checkpoint of a KCL, or of a time before its last checkpoint, is no batch of ours."""
    shard = OneShard.new()
    put(shard, b"1", b"2", b"3")
    first, second, _third = shard.stream.shards[shard.shard_id].records
    next_batch(shard.reader())
    shard.table.table.update(
        updates.checkpoint(
            shard.lease(),
            LeaseCheckpoint(first.sequence_number),
            (LeaseCheckpoint(second.sequence_number), "x"),
        )
    )
    assert data(next_batch(shard.reader())) == [b"2", b"3"]


def test_a_store_that_fails_is_waited_out() -> None:
    """A commit waits while the store fails, and is made once it works."""
    shard = OneShard.new()
    put(shard, b"1")
    reader = shard.reader()
    batch = next_batch(reader)
    back_s = shard.clock.now_s() + 5
    shard.table.hook = lambda: "fail" if shard.clock.now_s() < back_s else ""
    commit(reader, batch)
    assert shard.lease().checkpoint == batch.end


def test_a_batch_whose_end_could_not_be_fixed_stays_the_same() -> None:
    """When the store fails before a batch goes out, the next attempt delivers the same batch."""
    shard = OneShard.new()
    put(shard, b"1")
    reader = shard.reader()
    reader.fetch()
    shard.table.hook = lambda: "lose"
    with pytest.raises(UnavailableError):
        take(reader)
    shard.table.hook = str
    put(shard, b"2")
    shard.clock.sleep(1)
    reader.fetch()
    assert data(take(reader)) == [b"1"]


def test_the_end_of_a_shard() -> None:
    """A closed shard is finished once its last batch is committed."""
    shard = OneShard.new()
    put(shard, b"1")
    reader = shard.reader()
    shard.stream.split(shard.shard_id)
    batch = next_batch(reader)
    assert (reader.buffer.is_ended, reader.is_finished) == (True, False)
    assert commit(reader, batch) is None
    assert reader.is_finished


def test_an_idle_shard_is_not_in_doubt() -> None:
    """A shard without records for longer than the retention loses none, because renewals say until when it was empty."""
    shard = OneShard.new()
    shard.stream.forgets = True
    put(shard, b"1")
    reader = shard.reader()
    batch = next_batch(reader)
    commit(reader, batch)
    for _ in range(30 * 60):
        shard.clock.sleep(60)
        reader.held = shard.take()
        reader.fetch()
        reader.held.renew(reader.renewal())
    put(shard, b"2")
    assert data(next_batch(shard.reader())) == [b"2"]


def test_records_that_expired_before_they_were_read() -> None:
    """A group that was down for longer than the retention is told that records may be lost."""
    shard = OneShard.new()
    shard.stream.forgets = True
    put(shard, b"1")
    reader = shard.reader()
    batch = next_batch(reader)
    commit(reader, batch)
    put(shard, b"2")
    shard.clock.sleep(25 * 3600)
    put(shard, b"3")
    with pytest.raises(DataLossError, match="may have expired"):
        next_batch(shard.reader())
    assert data(next_batch(shard.reader(fail_on_data_loss=False))) == [b"3"]


def test_an_open_batch_that_expired() -> None:
    """A batch that cannot be delivered again as it was is a loss, and not another batch of the same id."""
    shard = OneShard.new()
    shard.stream.forgets = True
    put(shard, b"1")
    shard.clock.sleep(3600)
    put(shard, b"2")
    next_batch(shard.reader())
    shard.clock.sleep(23.5 * 3600)
    with pytest.raises(DataLossError, match="not committed have expired"):
        next_batch(shard.reader())
    assert data(next_batch(shard.reader(fail_on_data_loss=False))) == [b"2"]


def test_latest_of_a_kcl_is_the_first_call() -> None:
    """LATEST without a time means now. It stays the same when the worker ends before its first commit."""
    shard = OneShard.new(checkpoint=LeaseCheckpoint("LATEST"))
    put(shard, b"old")
    shard.clock.sleep(60)
    assert fetch_and_take(shard.reader()) is None
    shard.clock.sleep(60)
    put(shard, b"new")
    shard.clock.sleep(60)
    assert data(next_batch(shard.reader())) == [b"new"]


def test_a_time_that_only_a_kcl_knows() -> None:
    """AT_TIMESTAMP without a time means the time that the group was opened with, else the oldest record."""
    shard = OneShard.new(checkpoint=LeaseCheckpoint("AT_TIMESTAMP"))
    put(shard, b"old")
    shard.clock.sleep(60)
    reader = shard.reader(initial_ms=shard.stream.now_ms())
    put(shard, b"new")
    assert data(next_batch(reader)) == [b"new"]
    shard = OneShard.new(checkpoint=LeaseCheckpoint("AT_TIMESTAMP"))
    put(shard, b"old")
    assert data(next_batch(shard.reader())) == [b"old"]


def test_the_data_in_memory_is_counted() -> None:
    """Records count from the page that brought them until the commit of their batch."""
    shard = OneShard.new(GroupSettings(max_batch_records=2))
    put(shard, b"1", b"22", b"333")
    reader = shard.reader()
    batch = next_batch(reader)
    assert reader.kept.size_bytes == reader.memory.used_bytes == 3 + 2 * RECORD_BYTES
    reader.fetch()
    assert reader.kept.size_bytes == reader.memory.used_bytes == 6 + 3 * RECORD_BYTES
    rest = commit(reader, batch)
    assert reader.kept.size_bytes == reader.memory.used_bytes == 3 + RECORD_BYTES
    commit(reader, rest)
    assert reader.kept.size_bytes == reader.memory.used_bytes == 0


def test_the_search_for_the_start_needs_no_room() -> None:
    """It would start again each time that there is none. The page after it waits."""
    shard = OneShard.new(GroupSettings(max_buffered_bytes=1000))
    put(shard, b"1", b"2")
    first = shard.reader()
    commit(first, next_batch(first))
    put(shard, b"3")
    reader = shard.reader()
    reader.memory.share().hold(1000)
    with pytest.raises(NoRoomError):
        reader.fetch()
    assert reader.has_begun
    assert not reader.buffer.has_pages


def test_a_body_of_unknown_length_has_half_of_a_small_limit() -> None:
    """Otherwise a batch that stays open would keep a worker from every call through botocore."""
    reader = OneShard.new(GroupSettings(max_buffered_bytes=1000)).reader()
    reader.memory.share().hold(400)
    reader.call.admit(None)
    assert reader.call.size_bytes == 500


def test_data_of_a_reader_that_is_closed_counts_no_longer() -> None:
    """Not even that of a page which was on its way. So the memory of a worker does not fill with shards that it has lost."""
    shard = OneShard.new(GroupSettings(max_batch_records=2))
    put(shard, b"1", b"22", b"333")
    reader = shard.reader()
    reader.fetch()
    assert reader.memory.used_bytes == 3 + 2 * RECORD_BYTES
    reader.close()
    reader.fetch()
    assert reader.memory.used_bytes == 0


def test_a_shard_does_not_end_before_a_batch_that_the_next_owner_delivers() -> None:
    """A batch that was fixed by the last commit of a hand-over is left to the next owner, also at the end of the shard."""
    shard = OneShard.new(GroupSettings(max_batch_records=1))
    put(shard, b"1", b"2")
    reader = shard.reader()
    first = next_batch(reader)
    assert shard.table.table.update(updates.begin_hand_over(shard.lease(), "next")) is not None
    reader.fetch()
    assert commit(reader, first) is None
    shard.stream.split(shard.shard_id)
    shard.clock.sleep(1)
    reader.fetch()
    assert reader.buffer.is_ended
    assert not reader.is_finished
    assert reader.renewal() == {}
    assert data(next_batch(shard.reader())) == [b"2"]


def test_a_page_that_arrives_while_one_is_fetched() -> None:
    """An event of enhanced fan-out that comes during a fetch makes the next one due at once."""
    shard = OneShard.new()
    reader = shard.reader()
    woken: list[bool] = []
    reader.wake = lambda: woken.append(True)
    get_page = shard.stream.get_records

    def get_records(*arguments: Any, **named: Any) -> Page:
        reader.arrived()
        return get_page(*arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeStream, "get_records", lambda _, *given, **named: get_records(*given, **named))
        reader.fetch()
    assert (reader.pace.due_s, woken) == (float("-inf"), [True])


STREAM = "000000000000:orders:1780000000"


def test_a_lease_learns_its_stream() -> None:
    """Leases of a KCL do not say of which stream they are. The first write after a page that shows it says so."""
    shard = OneShard.new()
    reader = shard.reader()
    reader.held.renew(reader.renewal())
    assert shard.lease().stream is None
    reader.fetch()
    reader.held.renew(reader.renewal())
    assert shard.lease().stream == STREAM
    assert "streamIdentifier" not in reader.renewal()


def test_a_program_that_ends_at_once_names_the_stream() -> None:
    """It makes no renewal, and its first batch names the stream."""
    shard = OneShard.new()
    put(shard, b"1")
    next_batch(shard.reader())
    assert shard.lease().stream == STREAM


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_position_of_an_earlier_stream(*, is_committed: bool) -> None:
    """Kinesis refuses a record of another stream: one that was committed, or one of a batch that was not. The lease stays as it is."""
    shard = OneShard.new()
    put(shard, b"1")
    batch = next_batch(reader := shard.reader())
    if is_committed:
        commit(reader, batch)
    shard.table.table.update(Update(shard.shard_id, {}, remove=("streamIdentifier",)))
    before = shard.lease()
    shard.stream.recreate(1)
    put(shard, b"2")
    with pytest.raises(
        StreamRecreatedError,
        match=rf"position of the lease of {shard.shard_id}.*did not come from this stream.*Start without the saved offset",
    ):
        shard.reader().fetch()
    assert (shard.lease().checkpoint, shard.lease().stream) == (before.checkpoint, None)


@pytest.mark.parametrize("has_committed", [True, False])
def test_a_retention_that_was_raised_between_two_workers(*, has_committed: bool) -> None:
    """The lease says for how long records were kept at its last write. So a longer retention of now hides no loss."""
    shard = OneShard.new()
    shard.stream.forgets = True
    reader = shard.reader()
    if has_committed:
        put(shard, b"1")
        batch = next_batch(reader)
        commit(reader, batch)
    else:
        reader.fetch()
        reader.held.renew(reader.renewal())
    put(shard, b"lost")
    shard.clock.sleep(30 * 3600)
    shard.stream.retain(168)
    with pytest.raises(DataLossError):
        shard.reader().fetch()
