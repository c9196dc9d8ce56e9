"""Records whose stream is resharded while its list of shards is late, refused or wrong."""

from __future__ import annotations

import random

import pytest
from attrs import define, field

from kinesis_core import Producer, ProducerSettings
from kinesis_core.errors import AccessDeniedError, ServiceError, ThrottledError
from kinesis_core.model import PutEntry, Shard
from kinesis_core.producing.responses import Misrouted
from kinesis_core.producing.rows import Rows
from kinesis_core.producing.sender import Sender, SenderGroup
from support.fake_puts import Desk, FakePuts
from support.waiting import wait_until

PLAIN = ProducerSettings(aggregation_enabled=False)


@define
class LateListing(FakePuts):
    """Returns the list of shards from the last `freeze` for so many calls, or fails every listing."""

    late: int = 0
    failure: ServiceError | None = None
    _old: list[Shard] = field(factory=list)

    def freeze(self, calls: int) -> None:
        self.late, self._old = calls, list(self.shards.values())

    def list_shards(self, *, with_retries: bool = True, only_open: bool = False) -> list[Shard]:
        listed = super().list_shards(with_retries=with_retries, only_open=only_open)
        if self.failure is not None:
            raise self.failure
        self.late -= 1
        return self._old if self.late >= 0 else listed


def rows(count: int, size: int = 10) -> Rows:
    return Rows(
        [b"%d" % number + bytes(size) for number in range(count)], [f"key-{n % 40}" for n in range(count)]
    )


def misrouted_aggregate(puts: LateListing, calls_late: int = 0) -> tuple[Desk, list[Misrouted]]:
    """Return a producer with a misrouted aggregate, whose shard was split before it was sent."""
    desk = Desk.open(puts.create(1))
    puts.freeze(calls_late)
    puts.split(puts.open_shards()[0])
    desk.put(Rows([b"1", b"2"], ["key", "key"]))
    desk.accumulator.seal()
    desk.accumulator.waiting_callers += 1
    request = desk.accumulator.take(desk.clock.now)
    response = puts.put_records([entry for batch in request for entry in batch.entries])
    return desk, desk.responses.on_response(request, response, desk.clock.now)


@pytest.mark.parametrize("aggregated", [True, False])
def test_rows_that_wait_for_room_while_their_shards_merge(aggregated: bool) -> None:
    """Rows of both parents continue waiting for the child. No row is lost."""
    puts = FakePuts().create(2)
    desk = Desk.open(puts, ProducerSettings(aggregation_enabled=aggregated, buffer_bytes=1))
    accumulator, queues = desk.accumulator, desk.accumulator.router.group(rows(40))
    accumulator.offer(accumulator.router.group(rows(40)), desk.clock.now)  # fills the buffer
    assert len(queues) == 2
    puts.merge(*puts.open_shards())
    accumulator.use(accumulator.router.shards.of(puts.list_shards()))
    [left] = accumulator.offer(queues, desk.clock.now).values()
    assert sorted(left.data) == sorted(rows(40).data)


def test_explicit_hash_keys_stay_with_their_rows() -> None:
    """If rows with and without explicit hash keys are joined, the others have None."""
    joined = Rows([b"1"], ["a"]).joined(Rows([b"2"], ["b"], ["7"]))
    assert joined == Rows([b"1", b"2"], ["a", "b"], [None, "7"])
    assert Rows([b"1"], ["a"]).joined(Rows([b"2"], ["b"])).hash_keys is None


@pytest.mark.parametrize("calls_late", [0, 3, 12])
def test_a_list_that_is_late(calls_late: int) -> None:
    """
    The shards are listed until the listing has the shard that the aggregate went to. Nothing is sent again meanwhile.
    """
    puts = LateListing()
    desk, misrouted = misrouted_aggregate(puts, calls_late)
    desk.find_out(desk.dispatcher._settle(misrouted))
    assert puts.listings == 1 + calls_late + 1
    assert desk.accumulator.counts.held_bytes == 0
    assert desk.accumulator.counts.take_totals().user_records == 2


def test_a_shard_that_is_never_listed() -> None:
    """A shard that is never listed is an error that names it, at the deadline of the records."""
    desk, misrouted = misrouted_aggregate(LateListing(), 1000)
    started_s = desk.clock.now
    desk.find_out(desk.dispatcher._settle(misrouted))
    assert 30 <= desk.clock.now - started_s < 33
    assert desk.accumulator.failure is not None
    assert desk.accumulator.failure.counts == {"ShardNotListed": 2}
    assert misrouted[0][1] in str(desk.accumulator.failure)


@pytest.mark.parametrize("late_s", [10, 40])
def test_a_response_that_is_late(late_s: float) -> None:
    """Records that were written count as written, even if the response came after their deadline."""
    puts = LateListing()
    desk, misrouted = misrouted_aggregate(puts)
    desk.clock.sleep(late_s)
    desk.find_out(desk.dispatcher._settle(misrouted))
    assert desk.accumulator.failure is None
    assert desk.accumulator.counts.take_totals().user_records == 2


@pytest.mark.parametrize(
    ("failure", "patient"),
    [
        (ThrottledError("Rate exceeded.", "LimitExceededException"), True),
        (AccessDeniedError("No.", "Denied"), False),
    ],
)
def test_a_list_that_is_refused(failure: ServiceError, patient: bool) -> None:
    """Throttles are retried until the deadline of the records. A missing permission is an error at once."""
    puts = LateListing()
    desk, misrouted = misrouted_aggregate(puts)
    puts.failure, started_s = failure, desk.clock.now
    desk.find_out(desk.dispatcher._settle(misrouted))
    assert (desk.clock.now - started_s >= 30) == patient
    assert desk.accumulator.failure is not None
    assert desk.accumulator.failure.counts == {failure.code: 2}


def test_a_producer_that_stops_waits_for_no_list() -> None:
    """A producer that stops makes no further call."""
    desk, misrouted = misrouted_aggregate(LateListing(), 1000)
    group = SenderGroup(8, desk.clock)
    sender = Sender(desk.puts, desk.accumulator, desk.clock, group)
    sender.dispatcher.find_out(sender.dispatcher._settle(misrouted))
    call = sender.dispatcher.take(desk.clock.now)
    assert call is not None
    sender.dispatcher.on_result(call, sender.make(call), desk.clock.now)
    sender.cancel()
    assert group._take(desk.clock.now + 3_600) is None
    assert desk.puts.listings == 2


def test_plain_records_show_a_reshard_too() -> None:
    """Plain records are written in any shard, but they show a reshard: each new shard then has its own queue."""
    puts = FakePuts().create(1)
    with Producer(puts, PLAIN, rng=random.Random(0)) as writing:
        puts.split(puts.open_shards()[0])
        writing.put_columns(rows(40).data, rows(40).keys)
        totals = writing.flush()
        assert (totals.user_records, totals.misplaced) == (40, 0)
        wait_until(lambda: puts.listings == 2)
        writing.put_columns(rows(40).data, rows(40).keys)
        assert writing.flush().user_records == 40
    assert puts.listings == 2
    assert set(puts.copies().values()) == {2}


def test_plain_records_need_no_list() -> None:
    """Plain records are written even if the shards cannot be listed."""
    puts = LateListing()
    with Producer(puts.create(1), PLAIN, rng=random.Random(0)) as writing:
        puts.split(puts.open_shards()[0])
        puts.failure = AccessDeniedError("No.", "Denied")
        writing.put_columns(rows(40).data, rows(40).keys)
        assert writing.flush().user_records == 40


class Contradicting(FakePuts):
    """A stream that puts each record into another shard than its list of shards says."""

    def _shard_of(self, entry: PutEntry) -> str:
        own = super()._shard_of(entry)
        return next(shard_id for shard_id in self.open_shards() if shard_id != own)


def test_keys_that_the_service_puts_elsewhere() -> None:
    """With a service that contradicts its own list of shards, records are written without aggregation."""
    puts = Contradicting().create(2)
    desk = Desk.open(puts, ProducerSettings(record_ttl_s=5))
    desk.put(Rows([b"1", b"2"], ["key", "key"]))
    desk.flush()
    assert desk.accumulator.failure is None
    assert desk.accumulator.counts.take_totals().misplaced == 2
    assert puts.copies() == {b"1": 2, b"2": 2}
