from __future__ import annotations

import pickle
from collections import Counter

import pytest

from kinesis_core.aggregation import unpack
from kinesis_core.errors import AccessDeniedError, PutError
from kinesis_core.model import PutEntry, PutResponse, PutResult
from kinesis_core.producing import ProducerSettings
from kinesis_core.producing.rows import Rows
from kinesis_core.producing.shard_map import MAX_HASH_KEY, ShardMap
from kinesis_core.producing.shard_queue import ShardBatch
from support.fake_puts import Desk, FakePuts, FaultRates

PLAIN = ProducerSettings(aggregation_enabled=False)
FIRST, SECOND = "shardId-000000000000", "shardId-000000000001"
LOW, HIGH = "0", str(MAX_HASH_KEY)
"""Explicit hash keys of the first and the last shard."""
THROTTLED = "ProvisionedThroughputExceededException"
USER_RECORD_BYTES = 7
"""What a user record of one byte adds to an aggregate."""


def rows(count: int, size: int = 10, hash_key: str | None = None) -> Rows:
    data = [b"%d" % number + bytes(size) for number in range(count)]
    return Rows(data, ["key"] * count, None if hash_key is None else [hash_key] * count)


def take(desk: Desk) -> list[ShardBatch]:
    return desk.accumulator.take(desk.clock.now)


def refuse(request: list[ShardBatch], code: str = THROTTLED) -> PutResponse:
    results = [PutResult(None, code, "Refused.") for batch in request for _ in batch.entries]
    return PutResponse(len(results), results)


# Buffering


def test_records_are_buffered_until_they_are_due() -> None:
    """Fewer than 500 records are sent when the first is due, and not before."""
    desk = Desk.open(FakePuts().create(1), PLAIN)
    desk.put(rows(499))
    assert take(desk) == []
    assert desk.accumulator.wait_s(desk.clock.now) == pytest.approx(1.0)
    desk.clock.sleep(1.0)
    assert [len(batch.entries) for batch in take(desk)] == [499]


def test_large_records_of_a_shard_wait_for_each_other() -> None:
    """A record larger than a usual request is the only one of its shard in flight, and no thread polls meanwhile."""
    desk = Desk.open(FakePuts(max_record_bytes=10 * 1024 * 1024).create(1), PLAIN)
    for _ in range(4):  # the shard's window grows with what it accepts
        desk.put(rows(1, 3_000_000))
        desk.flush()
    desk.put(rows(2, 2_500_000))
    desk.accumulator.waiting_callers += 1
    requests = desk.accumulator.counts.totals["requests"]
    [first] = take(desk)
    assert take(desk) == []
    assert desk.accumulator.counts.totals["requests"] == requests + 1
    assert desk.accumulator.wait_s(desk.clock.now) is None
    desk.send([first])
    assert len(take(desk)) == 1


def test_a_full_request_is_sent_at_once() -> None:
    """500 records are sent at once. Further ones stay buffered."""
    desk = Desk.open(FakePuts().create(1), PLAIN)
    desk.put(rows(400))
    desk.put(rows(300))
    assert sum(len(batch.entries) for batch in take(desk)) == 500
    assert take(desk) == []


def test_nothing_waits_while_a_caller_does() -> None:
    """While a caller waits for room or for a flush, small requests are sent at once."""
    desk = Desk.open(FakePuts().create(1), PLAIN)
    desk.put(rows(1))
    desk.accumulator.waiting_callers += 1
    assert len(take(desk)) == 1


def test_user_records_of_a_shard_share_aggregates() -> None:
    """
    The user records of each shard fill aggregates of the configured size, with the key `a` and a hash key of the
    shard.
    """
    puts = FakePuts().create(2)
    desk = Desk.open(puts, ProducerSettings(aggregation_max_size=1_000))
    desk.put(Rows([bytes(90)] * 100, ["key"] * 100, [LOW, HIGH] * 50))
    desk.flush()
    assert {entry.partition_key for entry, _ in puts.stored} == {"a"}
    sizes = sorted(len(entry.data) for entry, _ in puts.stored)
    assert len(sizes) == 12
    assert all(900 < size <= 1_000 for size in sizes[2:])
    assert all(record.is_owned for record in puts.user_records())


def test_what_fills_an_aggregate_alone_goes_plain() -> None:
    """
    A user record larger than an aggregate becomes a record of its own. Those before and after it share aggregates.
    """
    puts = FakePuts().create(1)
    desk = Desk.open(puts, ProducerSettings(aggregation_max_size=500))
    desk.put(Rows([b"1", b"2", bytes(1_000), b"3", b"4"], ["key"] * 5))
    desk.flush()
    unpacked = [unpack(entry.data) for entry, _ in puts.stored]
    assert [None if one is None else one.data for one in unpacked] == [[b"1", b"2"], None, [b"3", b"4"]]


def test_aggregates_stay_below_the_record_limit() -> None:
    """The record limit of the stream, which includes the partition key, applies before the configured size, to the byte."""
    left = set()
    for limit in range(1_024, 1_024 + 2 * USER_RECORD_BYTES):
        puts = FakePuts(max_record_bytes=limit).create(1)
        desk = Desk.open(puts)
        desk.put(Rows([b"x"] * 500, ["key"] * 500))
        desk.flush()
        left.add(limit - max(len(entry.data) + len(entry.partition_key) for entry, _ in puts.stored))
    assert left == set(range(USER_RECORD_BYTES))


def test_an_aggregate_is_closed_when_its_first_user_record_is_due() -> None:
    """Later user records do not delay it."""
    desk = Desk.open(FakePuts().create(1))
    desk.put(rows(2))
    desk.clock.sleep(0.9)
    desk.put(rows(2))
    assert desk.accumulator.wait_s(desk.clock.now) == pytest.approx(0.1)
    desk.clock.sleep(0.11)
    assert [batch.user_records for batch in take(desk)] == [4]


def test_large_records_make_small_requests() -> None:
    """A request stays within 10 MiB, and may consist of one record of 10 MiB."""
    puts = FakePuts(max_record_bytes=10 * 1024 * 1024).create(1)
    desk = Desk.open(puts, ProducerSettings(aggregation_enabled=False, buffer_bytes=2**30))
    desk.put(Rows([bytes(10 * 1024 * 1024 - 3)], ["key"]))
    desk.put(Rows([bytes(3 * 1024 * 1024)] * 5, ["key"] * 5))
    desk.flush()
    assert puts.request_bytes[0] == 10 * 1024 * 1024
    assert len(puts.stored) == 6
    assert max(puts.request_bytes) <= 10 * 1024 * 1024


def test_a_flush_waits_for_nothing_that_is_put_later() -> None:
    """A record put after a flush began is not merged into a batch that the flush waits for."""
    desk = Desk.open(FakePuts().create(1), PLAIN)
    desk.put(rows(3))
    generation = desk.accumulator.begin_generation()
    desk.put(rows(2))
    [queue] = desk.accumulator.router.queues
    assert [len(batch.entries) for batch in queue.batches] == [3, 2]
    [first] = list(queue.take(3, 1_000, at_least_one=True))
    desk.send([first])
    assert desk.accumulator.counts.is_written(generation)
    assert not desk.accumulator.counts.is_written(generation + 1)
    desk.flush()
    assert desk.accumulator.counts.held_bytes == 0
    assert len(desk.puts.stored) == 5


# Room


def test_the_buffer_bounds_what_is_held() -> None:
    """A full buffer accepts no more rows until something is written."""
    desk = Desk.open(FakePuts().create(4), ProducerSettings(aggregation_enabled=False, buffer_bytes=10_000))
    accumulator = desk.accumulator
    held = []
    for number in range(200):
        left = accumulator.offer(
            accumulator.router.group(Rows([bytes(97)], [f"{number:03}"])), desk.clock.now
        )
        held.append(accumulator.counts.held_bytes)
        assert bool(left) == (number >= 100)
    assert max(held) == 10_000
    request = take(desk)
    accumulator.waiting_callers += 1
    request = request or take(desk)
    desk.send(request)
    assert accumulator.counts.held_bytes < 10_000
    assert not accumulator.is_full


def test_open_aggregates_count_and_make_room() -> None:
    """If open aggregates of many shards fill the buffer, they are closed and sent."""
    puts = FakePuts().create(50)
    desk = Desk.open(puts, ProducerSettings(buffer_bytes=20_000, record_max_buffered_time_s=3_600))
    held = []
    for number in range(400):
        desk.put(Rows([bytes(200)], [f"key-{number}"]))
        held.append(desk.accumulator.counts.held_bytes)
    assert max(held) < 20_000 + 400
    assert puts.stored


def test_a_full_shard_delays_no_other() -> None:
    """Rows of a shard with a full queue are returned. Rows of other shards in the same call are added."""
    desk = Desk.open(FakePuts().create(2), PLAIN)
    router = desk.accumulator.router
    desk.put(rows(1_000, hash_key=LOW))
    both = Rows([b"low", b"high"], ["key"] * 2, [LOW, HIGH])
    left = desk.accumulator.offer(router.group(both), desk.clock.now)
    assert [queue.shard_id for queue in left] == [FIRST]
    assert router.queue(SECOND).waiting_records == 1


# Refusals


def test_only_what_was_refused_is_sent_again() -> None:
    """Only the refused records of a request are sent again."""
    desk = Desk.open(FakePuts().create(1), PLAIN)
    desk.put(rows(500))
    request = take(desk)
    results = [PutResult(FIRST)] * 499 + [PutResult(None, "InternalFailure", "Refused.")]
    desk.responses.on_response(request, PutResponse(1, results), desk.clock.now)
    desk.clock.sleep(5)
    again = take(desk)
    assert [entry.data[:3] for batch in again for entry in batch.entries] == [b"499"]


def test_refused_records_keep_their_order() -> None:
    """The batches of a shard that one request refuses are sent again in the order in which they were put."""
    desk = Desk.open(FakePuts().create(1), ProducerSettings(aggregation_max_size=64))
    desk.put(rows(9))
    desk.accumulator.seal()
    desk.accumulator.waiting_callers += 1
    request = take(desk)
    sent = [entry.data for batch in request for entry in batch.entries]
    assert len(request) > 2
    desk.responses.on_response(request, refuse(request), desk.clock.now)
    desk.clock.sleep(3)
    assert [entry.data for batch in take(desk) for entry in batch.entries] == sent


def test_the_window_of_a_shard_bounds_the_bytes_in_flight() -> None:
    """Of large records, as many are in flight as the window has bytes for, whatever it has records for."""
    desk = Desk.open(FakePuts().create(1), PLAIN)
    window = desk.accumulator.router.queue(FIRST).window
    desk.put(rows(20, 5_000))
    window.window_s = 0.02
    desk.accumulator.waiting_callers += 1
    [batch] = take(desk)
    assert len(batch.entries) == window.window_bytes // len(batch.entries[0].data) == 4


def test_a_throttled_shard_rests_while_others_are_written() -> None:
    """The records of a throttled shard wait. Those of another shard are sent at once."""
    desk = Desk.open(FakePuts().create(2), PLAIN)
    desk.put(rows(500, hash_key=LOW))
    desk.responses.on_response(request := take(desk), refuse(request), desk.clock.now)
    desk.put(rows(500, hash_key=HIGH))
    desk.accumulator.waiting_callers += 1
    assert {batch.shard_id for batch in take(desk)} == {SECOND}
    wait_s = desk.accumulator.wait_s(desk.clock.now)
    assert wait_s is not None
    assert 0 < wait_s <= 0.1
    desk.clock.sleep(0.1)
    assert {batch.shard_id for batch in take(desk)} == {FIRST}


def test_a_throttled_shard_is_asked_for_less() -> None:
    """The first throttle makes requests a quarter of the window. Each further one makes the window smaller."""
    desk = Desk.open(FakePuts().create(1), PLAIN)
    desk.put(rows(500))
    sizes = []
    for _ in range(4):
        request = take(desk)
        sizes.append(sum(len(batch.entries) for batch in request))
        desk.responses.on_response(request, refuse(request), desk.clock.now)
        desk.clock.sleep(3)
    assert sizes == [500, 187, 140, 105]


def test_a_throttled_shard_gets_a_probe_in_each_request() -> None:
    """One record larger than the window of its shard joins a request of other shards, whichever shard comes first."""
    for seed in range(10):
        desk = Desk.open(FakePuts().create(2), PLAIN, seed)
        desk.accumulator.router.queue(FIRST).window.window_s = 0.02
        desk.put(rows(1, 50_000, LOW))
        desk.put(rows(100, hash_key=HIGH))
        desk.accumulator.waiting_callers += 1
        assert {batch.shard_id for batch in take(desk)} == {FIRST, SECOND}


@pytest.mark.tests
def test_what_waits_for_a_hot_shard_is_written_in_time() -> None:
    """
    A shard that accepts 50 records a second is written to for twenty minutes, as fast as the buffer allows. No
    record reaches its deadline.
    """
    puts = FakePuts().create(1)
    desk = Desk.open(puts, PLAIN)
    taken = 0.0
    started_s = desk.clock.now
    grouped = desk.accumulator.router.group(rows(100))
    while desk.clock.now < started_s + 1_200:
        desk.accumulator.offer(grouped, desk.clock.now)
        request = desk.accumulator.take(desk.clock.now)
        if not request:
            desk.clock.sleep(desk.accumulator.wait_s(desk.clock.now) or 0.01)
            continue
        results = []
        for _ in range(sum(len(batch.entries) for batch in request)):
            has_room = taken < 50 * (desk.clock.now - started_s)
            taken += has_room
            results.append(PutResult(FIRST) if has_room else PutResult(None, THROTTLED, "Rate exceeded."))
        failed = sum(result.error_code is not None for result in results)
        desk.responses.on_response(request, PutResponse(failed, results), desk.clock.now)
        desk.clock.sleep(0.01)
        assert desk.accumulator.failure is None
    assert taken > 0.9 * 1_200 * 50


def test_lost_responses_are_counted() -> None:
    """A request without a response is sent again, and its user records count as possible duplicates."""
    puts = FakePuts(fault_rates=FaultRates(lost_responses=100)).create(1)
    desk = Desk.open(puts)
    desk.put(rows(10))
    desk.accumulator.begin_generation()
    desk.clock.sleep(1)
    desk.send(take(desk))
    puts.fault_rates = FaultRates()
    desk.flush()
    assert puts.lost == 10
    assert set(puts.copies().values()) == {2}
    totals = desk.accumulator.counts.take_totals()
    assert (totals.user_records, totals.resent, totals.requests, totals.failed) == (10, 10, 2, 1)


# Failures


def failure_of(desk: Desk) -> PutError:
    assert desk.accumulator.failure is not None
    return desk.accumulator.failure


def run(desk: Desk) -> float:
    """Send until the producer fails, and return how long that took."""
    started_s = desk.clock.now
    while desk.accumulator.failure is None:
        desk.step()
    return desk.clock.now - started_s


def test_a_shard_that_only_throttles_for_long_is_a_failure() -> None:
    """After twenty times the TTL, the error has counts by code, the shard, the hash of a key, and advice. It pickles."""
    desk = Desk.open(FakePuts().create(2), PLAIN)
    desk.put(rows(3, hash_key=LOW))
    desk.puts.fault_rates = FaultRates(refused_records=100)
    started_s = desk.clock.now
    while desk.clock.now < started_s + 10:
        desk.step()
    desk.put(rows(2, hash_key=HIGH))
    assert 590 <= run(desk) < 593
    error = failure_of(desk)
    assert error.counts == {THROTTLED: 3}
    assert error.shard_id == FIRST
    assert error.key_sha256 == "2c70e12b7a0646f9"
    assert str(error) == (
        "3 user records could not be written to stream orders: their shard throttled for 600 s, and accepted no record "
        "in this time: ProvisionedThroughputExceededException 3. 2 more user records may not be in the stream either, because "
        "the producer stops. A shard accepts 1 MiB and 1,000 records a second from all its producers. Give the stream more "
        "shards, run fewer producers at once, or raise record_ttl_s. "
        "[stream=orders shard=shardId-000000000000 key_sha256=2c70e12b7a0646f9]"
    )
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 # our own
    assert (str(copy), copy.counts, copy.shard_id) == (str(error), error.counts, error.shard_id)


class OneShardFails(FakePuts):
    """A stream whose first shard accepts nothing."""

    def _put(self, entry: PutEntry) -> PutResult:
        if entry.explicit_hash_key == LOW:
            return PutResult(None, "InternalFailure", "Failed.")
        return super()._put(entry)


def test_a_shard_that_only_fails_is_a_failure() -> None:
    """If each request for a shard fails for the TTL, the producer gives up, although another shard accepts everything."""
    desk = Desk.open(OneShardFails().create(2), PLAIN)
    desk.put(rows(3, hash_key=LOW))
    started_s = desk.clock.now
    while desk.accumulator.failure is None:
        desk.put(rows(2, hash_key=HIGH))
        desk.step()
    assert 30 <= desk.clock.now - started_s < 35
    assert failure_of(desk).counts == {"InternalFailure": 3}
    assert "could not be written to stream orders: their shard accepted nothing for 30 s" in str(
        failure_of(desk)
    )


def test_a_record_may_wait_for_its_turn_for_long() -> None:
    """A row waits as long as its shard accepts others before it: the TTL counts from the last success of the shard."""
    desk = Desk.open(FakePuts().create(1), ProducerSettings(aggregation_enabled=False, record_ttl_s=1))
    desk.put(rows(900))
    accepted = 0
    while desk.accumulator.counts.unwritten:
        request = take(desk)
        if not request:
            desk.clock.sleep(0.9)
            continue
        codes = [None, *("InternalFailure" for _ in range(sum(len(batch.entries) for batch in request) - 1))]
        results = [PutResult(FIRST if code is None else None, code) for code in codes]
        desk.responses.on_response(request, PutResponse(len(results) - 1, results), desk.clock.now)
        desk.clock.sleep(0.9)
        accepted += 1
        assert desk.accumulator.failure is None
    assert accepted == 900


def test_throttles_and_failures_in_turn_are_no_outage() -> None:
    """A throttle between failures shows that the shard works. Only the longer limit ends that."""
    desk = Desk.open(
        FakePuts(fault_rates=FaultRates(refused_records=50, failed_records=100)).create(1), PLAIN
    )
    desk.put(rows(1))
    assert 600 <= run(desk) < 603


def test_an_error_does_not_deny_what_may_be_true() -> None:
    """After a lost response, or a misplaced aggregate, the error says that records may be in the stream."""
    desk = Desk.open(FakePuts(fault_rates=FaultRates(lost_responses=100)).create(1), PLAIN)
    desk.put(rows(3))
    desk.clock.sleep(1)
    desk.step()
    desk.puts.fault_rates = FaultRates(failed_records=100)
    run(desk)
    assert desk.puts.lost == 3
    assert failure_of(desk).counts == {"InternalFailure": 3}
    assert (
        "3 user records are not confirmed as written to stream orders: their shard accepted nothing for 30 s: "
        "InternalFailure 3. 3 of them may be in the stream: it is unknown whether earlier requests wrote them."
    ) in str(failure_of(desk))


def test_an_error_does_not_deny_a_misplaced_aggregate() -> None:
    """An aggregate in another shard is in the stream for consumers that deliver everything. The error says so."""
    desk = Desk.open(FakePuts().create(2))
    desk.put(rows(3, hash_key=LOW))
    desk.clock.sleep(1)
    misrouted = desk.responses.on_response(take(desk), PutResponse(0, [PutResult(SECOND)]), desk.clock.now)
    desk.responses.settle_misrouted(misrouted)
    denied = AccessDeniedError("Allow the IAM action kinesis:PutRecords.", "AccessDeniedException")
    desk.responses.on_request_failed(take(desk), denied, desk.clock.now)
    assert "3 of them may be in the stream" in str(failure_of(desk))


def test_a_refusal_for_good_is_a_failure_at_once() -> None:
    """A missing permission is not retried. The error names the IAM action."""
    desk = Desk.open(FakePuts().create(1))
    desk.put(rows(7))
    desk.accumulator.begin_generation()
    desk.clock.sleep(1)
    denied = AccessDeniedError("Allow the IAM action kinesis:PutRecords.", "AccessDeniedException")
    desk.responses.on_request_failed(take(desk), denied, desk.clock.now)
    assert failure_of(desk).counts == {"AccessDeniedException": 7}
    assert "kinesis:PutRecords" in str(failure_of(desk))


def test_a_record_refused_for_good_is_a_failure() -> None:
    """A code that is not retryable fails the producer at the first attempt."""
    desk = Desk.open(FakePuts().create(1), PLAIN)
    desk.put(rows(500))
    desk.responses.on_response(
        request := take(desk), refuse(request, "KMSAccessDeniedException"), desk.clock.now
    )
    assert failure_of(desk).counts == {"KMSAccessDeniedException": 500}


def test_after_a_failure_nothing_is_held_or_sent() -> None:
    """A late response is counted. Everything else is dropped, and callers that wait are woken."""
    desk = Desk.open(FakePuts().create(2), PLAIN)
    desk.put(rows(500, hash_key=LOW))
    request = take(desk)
    desk.put(rows(400, hash_key=HIGH))
    generation = desk.accumulator.begin_generation()
    desk.clock.sleep(1)
    denied = AccessDeniedError("Allow the IAM action kinesis:PutRecords.", "AccessDeniedException")
    desk.responses.on_request_failed(take(desk), denied, desk.clock.now)
    assert take(desk) == []
    assert failure_of(desk).counts == {"AccessDeniedException": 400}
    assert "500 more user records may not be in the stream either" in str(failure_of(desk))
    assert desk.accumulator.counts.is_written(generation)
    assert desk.accumulator.lost_records == 900
    desk.responses.on_response(request, PutResponse(0, ()), desk.clock.now)
    assert desk.accumulator.lost_records == 400
    assert desk.accumulator.counts.take_totals().user_records == 500
    assert desk.accumulator.counts.held_bytes == 0


# Flushes


def test_a_flush_waits_for_what_was_put_before_it() -> None:
    """Later records belong to the next flush, even in the same queue."""
    desk = Desk.open(FakePuts().create(1), PLAIN)
    desk.put(rows(300))
    generation = desk.accumulator.begin_generation()
    desk.put(rows(100))
    desk.clock.sleep(1)
    first, second = take(desk)
    assert not desk.accumulator.counts.is_written(generation)
    desk.responses.on_response([first], PutResponse(0, ()), desk.clock.now)
    assert desk.accumulator.counts.is_written(generation)
    assert not desk.accumulator.counts.is_written(generation + 1)
    desk.responses.on_response([second], PutResponse(0, ()), desk.clock.now)
    assert desk.accumulator.counts.is_written(generation + 1)


# Resharding


def test_a_misplaced_aggregate_is_sent_again() -> None:
    """
    After an unknown split an aggregate goes to one of the children. All its user records are sent again, each to its
    own child, and waiting ones are rerouted.
    """
    puts = FakePuts().create(1)
    desk = Desk.open(puts)
    puts.split(FIRST)
    desk.put(Rows([b"1", b"2", b"3", b"4"], ["key"] * 4, [LOW, HIGH, LOW, HIGH]))
    desk.flush()
    assert Counter(record.data for record in puts.kcl_user_records()) == Counter([b"1", b"2", b"3", b"4"])
    assert {record.shard_id for record in puts.kcl_user_records()} == {SECOND, "shardId-000000000002"}
    totals = desk.accumulator.counts.take_totals()
    assert (totals.user_records, totals.misplaced, puts.listings) == (4, 4, 2)


def test_an_aggregate_in_another_shard_may_be_written() -> None:
    """An aggregate is written if the child that it went to owns all its keys."""
    puts = FakePuts().create(1)
    desk = Desk.open(puts)
    puts.split(FIRST)
    desk.put(Rows([b"1", b"2"], ["key"] * 2, [LOW, LOW]))
    desk.flush()
    assert puts.copies() == Counter([b"1", b"2"])
    assert desk.accumulator.counts.take_totals().misplaced == 0


def test_what_waits_for_a_closed_shard_goes_to_its_children() -> None:
    """Aggregates, open aggregates and plain records are routed by the new map, and keep their deadlines."""
    puts = FakePuts().create(1)
    desk = Desk.open(puts, ProducerSettings(aggregation_max_size=200))
    desk.put(Rows([b"%d" % n + bytes(10) for n in range(40)], ["key"] * 40, [LOW, HIGH] * 20))
    desk.put(Rows([b"large" + bytes(500)], ["key"], [HIGH]))
    groups = desk.accumulator.router.group(Rows([b"late"], ["key"], [LOW]))
    puts.split(FIRST)
    desk.accumulator.use(ShardMap.of(puts.list_shards()))
    assert desk.accumulator.offer(groups, desk.clock.now) == {}
    desk.flush()
    assert len(puts.user_records()) == 42
    assert all(record.is_owned for record in puts.user_records())


def test_shards_that_cannot_be_listed_are_a_failure() -> None:
    """An aggregate in an unknown shard does not count as written if the shards cannot be listed."""
    puts = FakePuts().create(1)
    desk = Desk.open(puts)
    puts.split(FIRST)
    desk.put(rows(2))
    desk.clock.sleep(1)
    request = take(desk)
    misrouted = desk.responses.on_response(request, PutResponse(0, [PutResult(SECOND)]), desk.clock.now)
    assert not desk.responses.is_explained(misrouted)
    error = AccessDeniedError("Allow kinesis:ListShards.", "AccessDeniedException")
    desk.responses.fail_unlisted([batch for batch, _ in misrouted], error, are_sent=True)
    assert failure_of(desk).counts == {"AccessDeniedException": 2}
    assert "ListShards" in str(failure_of(desk))
    assert "2 of them may be in the stream" in str(failure_of(desk))
