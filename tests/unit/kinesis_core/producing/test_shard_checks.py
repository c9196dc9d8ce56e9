"""The checks of the shards before aggregates are sent, and the records when a check fails."""

from __future__ import annotations

from itertools import count

import pytest

from kinesis_core import runtime
from kinesis_core.errors import AccessDeniedError, ServiceError, ThrottledError, UnavailableError
from kinesis_core.producing.dispatcher import Describe, ListShards, Put
from kinesis_core.producing.rows import Rows
from support.fake_puts import Desk
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

THROTTLED = ThrottledError("Rate exceeded.", "LimitExceededException")


def recreate_and_list_old(desk: Desk, call: int) -> None:
    """Recreate the stream. The listing with the number *call*, from 0, returns the shards of the old stream."""
    old = dict(desk.puts.shards)
    desk.puts.recreate(3)
    new, calls = desk.puts.shards, count()

    def lag() -> None:
        desk.puts.shards = old if next(calls) == call else new

    desk.puts.before_listing = lag
    desk.puts.before_put = lambda _: setattr(desk.puts, "shards", new)


def test_checks_are_bounded() -> None:
    """With a flush after every few rows, the shards are listed a few times at once and then five times a second."""
    desk = flushed()
    for _ in range(100):
        desk.put(Rows([b"a", b"b"], ["key", "key"]))
        desk.flush()
    assert 2 < desk.puts.listings <= 1 + 10
    listings = desk.puts.listings
    desk.clock.sleep(0.21)
    for _ in range(100):
        desk.put(Rows([b"a", b"b"], ["key", "key"]))
        desk.flush()
    assert desk.puts.listings == listings + 1


def test_one_check_is_enough_after_a_flush() -> None:
    """While the stream is written to, one check after a flush is enough. An unchanged map is kept."""
    desk = flushed()
    shards = desk.accumulator.router.shards
    for number in range(5):
        write(desk, rows(number * 10, number * 10 + 10))
        desk.clock.sleep(1.5)
    assert desk.puts.listings == 2
    assert desk.accumulator.router.shards is shards
    assert runtime().native or len(desk.accumulator.router.known_keys) == 100


def test_a_check_that_fails_after_a_recent_response() -> None:
    """
    No stream is deleted and recreated within the silence limit: the rows do not wait, and the next check follows the
    next flush.
    """
    desk = flushed()
    desk.puts.listing_errors = [THROTTLED] * 3
    began_s = desk.clock.now
    desk.put(rows(100, 107))
    desk.flush()
    assert desk.accumulator.failure is None
    assert (desk.puts.listings, desk.clock.now) == (2, began_s)
    desk.put(rows(107, 114))
    desk.flush()
    desk.clock.sleep(1.0)
    desk.put(rows(114, 121))
    desk.flush()
    assert desk.puts.listings == 4
    assert kcl(desk) == payloads(0, 121)


@pytest.mark.parametrize("took_s", [SILENCE_S, 20])
def test_a_check_that_fails_after_a_silence(took_s: float) -> None:
    """After a silence the stream may be a recreated one: the shards are listed again before anything is written."""
    desk = flushed()

    def hang() -> None:
        desk.puts.before_listing = None
        desk.clock.sleep(took_s)
        desk.puts.recreate(3)

    desk.puts.before_listing = hang
    desk.puts.listing_errors = [UnavailableError("Read timed out.", "ReadTimeoutError")]
    check_written(desk, 100, 400)


@pytest.mark.parametrize("refused", [1, 3])
def test_a_check_that_shows_other_shards_and_then_fails(refused: int) -> None:
    """Once other open shards were listed, nothing is written by the old map, even after a recent response."""
    desk = flushed()
    desk.puts.recreate(3)
    desk.puts.listing_errors = [None, *[THROTTLED] * refused]
    check_written(desk, 100, 400)
    assert desk.accumulator.counts.take_totals().misplaced == 0
    listed = desk.puts.listings, desk.puts.listed
    desk.put(rows(400, 500))
    desk.flush()
    assert (desk.puts.listings, desk.puts.listed) == (listed[0] + 1, listed[1] + 3)


def test_other_open_shards_are_remembered() -> None:
    """
    After a listing with other open shards, a listing that matches the map counts only if the listing of all shards
    agrees.
    """
    desk = flushed()
    recreate_and_list_old(desk, call=2)
    desk.puts.listing_errors = [None, THROTTLED]
    check_written(desk, 100, 400)


def test_requests_that_are_sent_again_need_no_further_check() -> None:
    """A successful check ends the silence, even if no request had a response since."""
    desk = flushed()
    desk.clock.sleep(SILENCE_S)
    refusals = iter(range(100))

    def refuse(_: object) -> None:
        if next(refusals) < 12:
            raise THROTTLED

    desk.puts.before_put = refuse
    began_s, listings = desk.clock.now, desk.puts.listings
    desk.put(rows(100, 200))
    desk.flush()
    assert 0.2 < desk.clock.now - began_s < SILENCE_S
    assert desk.puts.listings == listings + 1
    assert kcl(desk) == payloads(0, 200)


def test_plain_records_end_no_silence() -> None:
    """After a silence, a plain record may be the first one of a recreated stream: the next check must succeed."""
    desk = flushed()
    desk.clock.sleep(60)
    desk.puts.recreate(3)
    desk.put(Rows([b"100"], ["key-100"]))
    desk.flush()
    desk.accumulator.counts.take_totals()
    desk.puts.listing_errors = [THROTTLED]
    check_written(desk, 101, 400, since=100)


def test_an_outdated_map_is_checked_by_all_threads() -> None:
    """While one thread replaces an outdated map, other threads send nothing by it."""
    desk = flushed()
    desk.put(rows(100, 110))
    desk.flush()
    desk.dispatcher.was_flushed = False
    desk.dispatcher.is_outdated = True
    desk.put(rows(110, 120))
    desk.accumulator.seal()
    desk.accumulator.waiting_callers += 1
    assert isinstance(desk.dispatcher.take(desk.clock.now), ListShards)
    assert desk.dispatcher.take(desk.clock.now) is None


def test_threads_share_a_check() -> None:
    """Two threads that send after a silence share one check, and neither sends before it is over."""
    desk = flushed()
    desk.clock.sleep(SILENCE_S)
    desk.put(rows(100, 200))
    desk.accumulator.seal()
    desk.accumulator.waiting_callers += 1
    check = desk.dispatcher.take(desk.clock.now)
    assert check == ListShards(only_open=True)
    assert desk.dispatcher.take(desk.clock.now) is None
    assert desk.dispatcher.wait_s(desk.clock.now) is None
    desk.make(check)
    assert isinstance(desk.dispatcher.take(desk.clock.now), Put)
    assert desk.puts.listings == 1 + 1


def test_findings_take_turns() -> None:
    """What there is to find out is found out one after the other: the second begins with what the first has changed."""
    desk = opened()
    dispatcher, now_s = desk.dispatcher, desk.clock.now
    desk.puts.split(desk.puts.open_shards()[0])
    dispatcher.find_out(dispatcher._list())
    dispatcher.find_out(dispatcher._check_strategy_once(1))
    first = dispatcher.take(now_s)
    assert first == ListShards()
    assert dispatcher.take(now_s) is None
    desk.make(first)
    assert len(desk.accumulator.router.shards.open_shards) == 3
    second = dispatcher.take(now_s)
    assert second == Describe()
    desk.make(second)
    assert dispatcher.take(now_s) is None


def test_two_listings_that_contradict_each_other() -> None:
    """If the listing of all shards is older than that of the open ones, both are repeated until they agree."""
    desk = flushed()
    recreate_and_list_old(desk, call=1)
    check_written(desk, 100, 400)


@pytest.mark.parametrize("silence_s", [0, SILENCE_S])
def test_a_split_whose_children_are_not_listed_yet(silence_s: float) -> None:
    """
    The open shards are missing, but the closed one is listed: the stream is not being deleted, and the producer
    waits.
    """
    desk = flushed(shards=1)
    desk.clock.sleep(silence_s)
    desk.puts.split(desk.puts.open_shards()[0])
    desk.puts.without_children = 4
    check_written(desk, 100, 200, since=0)


def test_a_server_that_does_not_know_the_filter() -> None:
    """The check lists all shards if the server refuses the filter."""
    desk = flushed()
    desk.puts.refuses_filter = True
    desk.puts.recreate(3)
    check_written(desk, 100, 400)


def test_a_check_lists_open_shards_only() -> None:
    """
    A check lists open shards. Closed ones, of which a stream can have many, are listed only if the open ones changed.
    """
    desk = opened()
    for _ in range(3):
        desk.puts.split(desk.puts.open_shards()[0])
    desk.put(rows(0, 100))
    desk.flush()
    assert len(desk.accumulator.router.shards.open_shards) == 5
    desk.accumulator.counts.take_totals()
    listed = desk.puts.listed
    for number in range(100, 200, 10):
        desk.clock.sleep(SILENCE_S)
        desk.put(rows(number, number + 10))
        desk.flush()
    assert desk.puts.listed == listed + 10 * 5
    desk.puts.merge(*desk.puts.open_shards()[:2])
    desk.clock.sleep(SILENCE_S)
    desk.put(rows(200, 210))
    desk.flush()
    assert len(desk.accumulator.router.shards.open_shards) == 4
    assert desk.accumulator.router.shards.ranges.keys() == desk.puts.shards.keys()
    assert desk.accumulator.counts.take_totals().misplaced == 0
    assert kcl(desk) == payloads(0, 210)


def test_plain_records_need_no_check() -> None:
    """Kinesis routes plain records by their own keys, so nothing is listed after a flush."""
    desk = opened(enabled=False)
    for _ in range(3):
        desk.put(rows(0, 50))
        desk.flush()
        desk.clock.sleep(SILENCE_S)
    assert desk.puts.listings == 1


@pytest.mark.parametrize(
    ("error", "silence_s", "patience_s"),
    [
        (THROTTLED, SILENCE_S, 600),
        (UnavailableError("No.", "InternalFailure"), SILENCE_S, 30),
        (AccessDeniedError("No.", "AccessDeniedException"), SILENCE_S, 0),
        (AccessDeniedError("No.", "AccessDeniedException"), 0, 0),
    ],
)
def test_shards_that_cannot_be_listed_are_a_failure(
    error: ServiceError, silence_s: float, patience_s: int
) -> None:
    """Rows wait while the error is retryable, and longest if it is a throttle. Nothing is written by a map that may be outdated."""
    desk = flushed()
    desk.clock.sleep(silence_s)
    desk.puts.listing_errors = [error] * 1_000
    written, began_s = len(desk.puts.stored), desk.clock.now
    desk.put(rows(100, 107))
    desk.flush()
    assert failure_of(desk).counts == {error.code: 7}
    assert patience_s <= desk.clock.now - began_s < patience_s + 5
    assert len(desk.puts.stored) == written
