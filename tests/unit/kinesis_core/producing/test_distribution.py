"""
Streams that distribute their records themselves (RecordDistributionStrategy AUTO), from the start or from a switch
on.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pytest
from attrs import define

from kinesis_core import Producer, ProducerSettings
from kinesis_core.aggregation import unpack
from kinesis_core.errors import ThrottledError
from kinesis_core.model import PutEntry, PutResponse, PutResult, StreamSummary
from kinesis_core.producing.rows import NO_KEY, Rows
from support.fake_puts import Desk, FakePuts
from unit.kinesis_core.producing.numbered import kcl, payloads, rows

SMALL = ProducerSettings(aggregation_max_size=500)


def keyless(start: int, stop: int) -> Rows:
    return Rows(rows(start, stop).data, [NO_KEY] * (stop - start))


def aggregates(desk: Desk) -> int:
    return sum(unpack(entry.data) is not None for entry, _ in desk.puts.stored)


def test_records_are_plain_and_sent_once() -> None:
    """No record is aggregated, and no shard is unexpected."""
    desk = Desk.open(FakePuts(is_auto=True).create(4))
    desk.put(rows(0, 2_000))
    desk.flush()
    assert desk.puts.copies() == payloads(0, 2_000)
    assert aggregates(desk) == 0
    totals = desk.accumulator.counts.take_totals()
    assert (totals.user_records, totals.records, totals.misplaced) == (2_000, 2_000, 0)
    for _ in range(100):
        desk.put(rows(0, 10))
        desk.flush()
    assert (desk.puts.listings, desk.puts.descriptions) == (1, 1)


def test_keys_may_be_missing() -> None:
    """A record without a key is sent without one. Other records keep their key."""
    puts = FakePuts(is_auto=True).create(2)
    with Producer(puts, rng=random.Random(0)) as producer:
        producer.put(b"1")
        producer.put(b"2", "key")
        producer.put_columns([b"3", b"4"], [None, "other"])
    keys = {entry.data: entry.partition_key for entry, _ in puts.stored}
    assert keys == {b"1": NO_KEY, b"2": "key", b"3": NO_KEY, b"4": "other"}


def test_explicit_hash_keys_are_ignored_and_that_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """Explicit hash keys are ignored, and the log says so once."""
    desk = Desk.open(FakePuts(is_auto=True).create(2))
    for _ in range(3):
        desk.put(Rows([b"1", b"2"], ["a", "b"], ["0", None]))
    desk.flush()
    assert len(desk.puts.stored) == 6
    assert [message.split()[0] for message in caplog.messages].count("hash_keys.ignored") == 1


def test_a_hot_key_uses_all_shards() -> None:
    """The records of one key are spread over the queues of all shards."""
    desk = Desk.open(FakePuts(is_auto=True).create(4))
    desk.put(Rows([b"x"] * 2_000, ["hot"] * 2_000))
    assert [queue.waiting_records for queue in desk.accumulator.router.queues] == [500] * 4


def test_a_stream_that_is_switched_to_distribute() -> None:
    """
    The first unexplained shard id shows the switch. Only records in flight are sent again, and all later ones are
    plain.
    """
    desk = Desk.open(FakePuts().create(4), SMALL)
    desk.put(rows(0, 500))
    desk.flush()
    assert (desk.accumulator.counts.take_totals().misplaced, desk.puts.descriptions) == (0, 1)
    desk.puts.is_auto = True
    before = len(desk.puts.requests)
    desk.put(rows(500, 2_500))
    desk.flush()
    assert kcl(desk) == payloads(0, 2_500)
    totals = desk.accumulator.counts.take_totals()
    assert desk.puts.descriptions == 2
    assert totals.user_records == 2_000
    assert 0 < totals.misplaced < 2_000
    assert sum(desk.puts.copies().values()) - 2_500 == totals.misplaced
    assert sum(desk.puts.requests[before + 1 :]) == totals.misplaced  # the first request has all aggregates
    desk.put(rows(2_500, 3_000))
    desk.flush()
    assert desk.accumulator.counts.take_totals().records == 500


def test_a_stream_that_is_switched_back() -> None:
    """After some dozens of records in the shards of their keys, the producer aggregates again."""
    desk = Desk.open(FakePuts(is_auto=True).create(4), SMALL)
    desk.put(rows(0, 500))
    desk.flush()
    desk.puts.is_auto = False
    desk.put(rows(500, 1_000))
    desk.flush()
    assert desk.puts.descriptions == 2
    assert aggregates(desk) == 0
    desk.put(rows(1_000, 2_000))
    desk.flush()
    assert aggregates(desk) > 10
    assert desk.puts.copies() == kcl(desk) == payloads(0, 2_000)


def test_a_stream_that_requires_keys_again() -> None:
    """Records without a key are refused, get random keys, and are sent again once."""
    desk = Desk.open(FakePuts(is_auto=True).create(4), SMALL)
    desk.puts.is_auto = False
    desk.put(keyless(0, 700))
    desk.flush()
    assert desk.accumulator.failure is None
    assert desk.puts.copies() == kcl(desk) == payloads(0, 700)
    assert all(entry.partition_key for entry, _ in desk.puts.stored)
    assert desk.accumulator.counts.take_totals().resent == 0


def test_records_without_keys_wait_until_a_check_is_due(caplog: pytest.LogCaptureFixture) -> None:
    """If DescribeStreamSummary is not due yet, records wait until it is."""
    caplog.set_level("INFO")
    desk = Desk.open(FakePuts(is_auto=True).create(4))
    for _ in range(5):
        desk.find_out(desk.dispatcher._check_strategy_once(1))
    desk.puts.is_auto = False
    desk.put(keyless(0, 10))
    desk.flush()
    assert desk.accumulator.failure is None
    assert desk.puts.copies() == payloads(0, 10)
    assert "call=DescribeStreamSummary" not in caplog.text  # a delayed call is not a failed one


def test_plain_records_in_flight_are_not_misrouted() -> None:
    """A change of the strategy makes no plain record in flight misrouted."""
    desk = Desk.open(FakePuts(is_auto=True).create(2))
    desk.put(rows(0, 600))
    request = desk.accumulator.take(desk.clock.now)
    results = [PutResult(batch.shard_id) for batch in request for _ in batch.entries]
    desk.accumulator.distribute(is_auto=False)
    assert desk.responses.on_response(request, PutResponse(0, results), desk.clock.now) == []


def test_a_stream_that_reports_auto_and_requires_keys() -> None:
    """If the stream reports AUTO but refuses records without keys, the refusal is an error."""

    class Contradicting(FakePuts):
        def describe(self, *, with_retries: bool = True) -> StreamSummary:
            self.is_auto = True
            try:
                return super().describe(with_retries=with_retries)
            finally:
                self.is_auto = False

    desk = Desk.open(Contradicting().create(2))
    began_s = desk.clock.now
    desk.put(keyless(0, 7))
    desk.flush()
    assert desk.accumulator.failure is not None
    assert desk.clock.now - began_s < 10
    assert desk.accumulator.failure.counts == {"ValidationException": 7}
    assert desk.accumulator.failure.key_sha256 == ""


@pytest.mark.parametrize("is_auto", [True, False])
def test_what_waits_when_the_strategy_changes_is_packed_again(is_auto: bool) -> None:
    """Waiting aggregates become plain records, or the reverse. So do rows that wait for room."""
    desk = Desk.open(FakePuts(is_auto=not is_auto).create(3), SMALL)
    desk.put(rows(0, 200))
    groups = desk.accumulator.group(rows(200, 300))
    desk.puts.is_auto = is_auto
    desk.accumulator.distribute(is_auto=is_auto)
    assert desk.accumulator.offer(groups, desk.clock.now) == {}
    desk.flush()
    assert desk.puts.copies() == kcl(desk) == payloads(0, 300)
    assert bool(aggregates(desk)) == (not is_auto)
    assert desk.accumulator.counts.held_bytes == 0


def test_a_strategy_that_is_not_reported() -> None:
    """
    With a botocore that does not know the strategy, a misrouted aggregate without explanation is sent again as plain
    records, which are accepted in any shard. Each row is written at most twice, and DescribeStreamSummary is called a
    few times.
    """
    desk = Desk.open(FakePuts(is_auto=True, is_reported=False).create(4), SMALL)
    began_s = desk.clock.now
    desk.put(rows(0, 2_000))
    desk.flush()
    assert desk.accumulator.failure is None
    assert kcl(desk) == payloads(0, 2_000)
    assert max(desk.puts.copies().values()) == 2
    for start in range(2_000, 3_000, 100):
        desk.put(rows(start, start + 100))
        desk.flush()
    assert 5 < desk.puts.descriptions <= 1 + 5 + (desk.clock.now - began_s) / 15


def test_a_one_shard_stream_is_checked_every_ten_minutes() -> None:
    """
    Every record belongs to the only shard, which proves nothing: DescribeStreamSummary is called every ten minutes.
    """
    desk = Desk.open(FakePuts(is_auto=True).create(1))
    for _ in range(130):
        desk.put(rows(0, 100))
        desk.flush()
        desk.clock.sleep(10.0)
    assert 1 + 2 <= desk.puts.descriptions <= 1 + 3


@define
class Busy(FakePuts):
    """DescribeStreamSummary is throttled so many times after the first call."""

    throttles: int = 0

    def describe(self, *, with_retries: bool = True) -> StreamSummary:
        summary = super().describe(with_retries=with_retries)
        if 1 < self.descriptions <= 1 + self.throttles:
            raise ThrottledError("Rate exceeded.", "LimitExceededException")
        return summary


def test_a_one_shard_stream_that_is_split_and_switched_back() -> None:
    """A recent check of the strategy, when there was one shard, delays no later check."""
    desk = Desk.open(FakePuts(is_auto=True).create(1))
    desk.put(rows(0, 100))
    desk.flush()
    desk.puts.split(desk.puts.open_shards()[0])
    desk.puts.is_auto = False
    for start in range(100, 1_000, 100):
        desk.put(rows(start, start + 100))
        desk.flush()
        desk.clock.sleep(1.0)
    assert aggregates(desk) > 1
    assert desk.puts.copies() == kcl(desk) == payloads(0, 1_000)


def test_a_throttled_check_is_retried() -> None:
    """A throttled DescribeStreamSummary is retried until the deadline of the records."""
    desk = Desk.open(Busy(throttles=3).create(4), SMALL)
    desk.puts.is_auto = True
    desk.put(rows(0, 500))
    desk.flush()
    assert desk.accumulator.failure is None
    assert kcl(desk) == payloads(0, 500)


def test_records_without_keys_wait_while_the_check_is_throttled() -> None:
    """Records wait even if DescribeStreamSummary was throttled so often that the producer calls it less often."""
    desk = Desk.open(Busy(is_auto=True, throttles=5).create(4))
    desk.puts.is_auto = False
    desk.put(keyless(0, 10))
    desk.flush()
    assert desk.accumulator.failure is None
    assert desk.puts.copies() == payloads(0, 10)
    assert desk.puts.descriptions == 1 + 5 + 1


def test_retries_of_the_check_end() -> None:
    """
    The retries end when the patience is over. The error is the first refusal.
    """
    desk = Desk.open(Busy(is_auto=True, throttles=10**6).create(4))
    desk.puts.is_auto = False
    began_s = desk.clock.now
    desk.put(keyless(0, 10))
    desk.flush()
    assert desk.accumulator.failure is not None
    assert desk.accumulator.failure.counts == {"ValidationException": 10}
    assert 600 <= desk.clock.now - began_s < 615  # that is for how long throttles are waited out


def test_new_shards_are_listed() -> None:
    """New shards of an on-demand stream get queues of their own."""
    desk = Desk.open(FakePuts(is_auto=True).create(2))
    desk.puts.split(desk.puts.open_shards()[0])
    desk.put(rows(0, 500))
    desk.flush()
    desk.put(rows(500, 1_000))
    assert len(desk.accumulator.router.queues) == 3
    assert (desk.puts.listings, desk.puts.descriptions) == (2, 1)
    desk.flush()
    assert desk.puts.copies() == payloads(0, 1_000)


def test_a_new_shard_that_is_not_listed_yet() -> None:
    """The shards are listed again every few seconds, not after each response."""
    puts = FakePuts(is_auto=True).create(2)
    desk = Desk.open(puts)
    puts.split(puts.open_shards()[0])
    puts.holes = 3
    for _ in range(12):
        desk.put(rows(0, 100))
        desk.flush()
        desk.clock.sleep(1.0)
    assert (puts.listings, puts.holes) == (1 + 3, 0)
    desk.clock.sleep(5.0)
    desk.put(rows(0, 100))
    desk.flush()
    assert len(desk.accumulator.router.shards.open_shards) == 3


def test_a_switch_while_requests_are_in_flight() -> None:
    """With threads, each row is written once or twice, and all later records are plain."""
    puts = FakePuts().create(4)

    def switch(_: Sequence[PutEntry]) -> None:
        if len(puts.requests) == 5:
            puts.is_auto = True

    puts.before_put = switch
    settings = ProducerSettings(aggregation_max_size=300, max_connections=1)
    with Producer(puts, settings, rng=random.Random(0)) as writing:
        for start in range(0, 2_000, 100):
            writing.put_columns(rows(start, start + 100).data, rows(start, start + 100).keys)
            writing.flush()
    assert Counter(record.data for record in puts.kcl_user_records()) == payloads(0, 2_000)
    assert max(puts.copies().values()) <= 2
