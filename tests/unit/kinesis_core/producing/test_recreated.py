"""Records whose stream is deleted and recreated, with shards that have the same ids and other hash keys."""

from __future__ import annotations

import pytest

from kinesis_core.producing.shard_map import ShardMap
from unit.kinesis_core.producing.numbered import (
    SILENCE_S,
    check_written,
    failure_of,
    flushed,
    kcl,
    opened,
    payloads,
    rows,
    write,
)


def test_a_stream_recreated_between_two_flushes(caplog: pytest.LogCaptureFixture) -> None:
    """
    The shards are listed before the next aggregates, so that no aggregate is misplaced. The log says that the stream
    was recreated.
    """
    desk = flushed()
    desk.puts.recreate(3)
    check_written(desk, 100, 400)
    totals = desk.accumulator.counts.take_totals()
    assert (totals.user_records, totals.misplaced) == (300, 0)
    assert totals.requests == len(desk.puts.requests) - 1
    assert "stream.recreated stream=orders" in caplog.messages


def test_what_waits_while_the_stream_is_recreated_is_rerouted() -> None:
    """After a silence the shards are listed too, and waiting rows are rerouted."""
    desk = opened()
    desk.put(rows(100, 400))
    desk.clock.sleep(SILENCE_S)
    desk.puts.recreate(3)
    desk.flush()
    assert desk.accumulator.failure is None
    assert kcl(desk) == payloads(100, 400)


def test_what_was_written_and_not_flushed_is_in_doubt() -> None:
    """
    Written aggregates may be in wrong shards of the new stream, or gone with the old one: the error has their number.
    """
    desk = opened()
    write(desk, rows(100, 300))
    desk.clock.sleep(SILENCE_S)
    desk.puts.recreate(3)
    desk.put(rows(300, 400))
    desk.flush()
    error = failure_of(desk)
    assert error.counts == {"StreamRecreated": 200}
    assert "deleted and recreated" in str(error)
    assert "stream=orders" in str(error)


@pytest.mark.parametrize("was_auto", [True, False])
def test_only_aggregates_can_be_in_wrong_shards(*, was_auto: bool) -> None:
    """Plain records were written where Kinesis put them. It does not matter whether aggregates are written by now."""
    desk = opened()
    desk.accumulator.distribute(is_auto=was_auto)
    write(desk, rows(100, 300))
    desk.accumulator.distribute(is_auto=not was_auto)
    desk.puts.recreate(3)
    desk.accumulator.use(ShardMap.of(desk.puts.list_shards()))
    failure = desk.accumulator.failure
    assert (None if failure is None else failure.counts) == (None if was_auto else {"StreamRecreated": 200})


def test_an_unexpected_shard_shows_a_recreated_stream() -> None:
    """
    An unexpected shard shows a recreated stream after any time: the shards are listed, and written rows are reported.
    """
    desk = opened()
    write(desk, rows(100, 300))
    desk.puts.recreate(7)
    desk.put(rows(300, 900))
    desk.flush()
    assert failure_of(desk).counts.keys() == {"StreamRecreated"}


def test_aggregates_in_flight_are_checked_against_the_new_shards() -> None:
    """An aggregate in the shard with the expected id is misplaced if that id belongs to a shard of the new stream."""
    desk = opened()
    desk.put(rows(100, 300))
    desk.accumulator.seal()
    desk.accumulator.waiting_callers += 1
    request = desk.accumulator.take(desk.clock.now)
    desk.puts.recreate(3)
    response = desk.puts.put_records([entry for batch in request for entry in batch.entries])
    desk.find_out(desk.dispatcher._list())
    misrouted = desk.responses.on_response(request, response, desk.clock.now)
    assert len(misrouted) == len(request)
    desk.find_out(desk.dispatcher._settle(misrouted))
    desk.flush()
    assert kcl(desk) == payloads(100, 300)
    assert desk.accumulator.counts.take_totals().misplaced > 0


@pytest.mark.parametrize("enabled", [True, False])
def test_a_stream_that_is_not_found_and_there_again(enabled: bool) -> None:
    """A refused request is sent again, to the shards of the recreated stream."""
    desk = opened(enabled=enabled)
    desk.put(rows(0, 300))
    desk.puts.recreate(3)
    desk.puts.is_there = False

    def come_back() -> None:
        desk.puts.is_there = True

    desk.puts.before_listing = come_back
    desk.flush()
    assert desk.accumulator.failure is None
    assert kcl(desk) == payloads(0, 300)


def test_a_stream_that_is_gone_is_a_failure_at_once() -> None:
    """A deleted stream is not waited for."""
    desk = flushed()
    desk.puts.is_there = False
    began_s = desk.clock.now
    desk.put(rows(0, 7))
    desk.flush()
    assert failure_of(desk).counts == {"ResourceNotFoundException": 7}
    assert desk.clock.now - began_s < 2


def test_plain_records_are_not_in_doubt() -> None:
    """A plain record is in the shard of its own key, in either stream."""
    desk = opened(enabled=False)
    write(desk, rows(0, 100))
    desk.puts.recreate(7)
    desk.clock.sleep(20)
    desk.put(rows(100, 200))
    desk.flush()
    assert desk.puts.listings == 2
    assert desk.accumulator.failure is None
    assert kcl(desk) == payloads(100, 200)
