"""What becomes of records whose stream is deleted and made anew, with shards that have the same ids and other hash keys."""

from __future__ import annotations

from collections import Counter

import pytest

from kinesis_core import ProducerSettings
from kinesis_core.errors import AccessDeniedError, PutError, ServiceError, ThrottledError, UnavailableError
from kinesis_core.producing.rows import Rows
from support.fake_puts import Desk, FakePuts

SILENCE_S = 6.0


def rows(start: int, stop: int) -> Rows:
    numbers = range(start, stop)
    return Rows([b"%d" % number for number in numbers], [f"key-{number}" for number in numbers])


def payloads(start: int, stop: int) -> Counter[bytes]:
    return Counter(b"%d" % number for number in range(start, stop))


def kcl(desk: Desk) -> Counter[bytes]:
    return Counter(record.data for record in desk.puts.kcl_user_records())


def failure_of(desk: Desk) -> PutError:
    assert desk.outbox.failure is not None
    return desk.outbox.failure


def opened(*, enabled: bool = True) -> Desk:
    """Return a producer of a stream with two shards."""
    settings = ProducerSettings(aggregation_enabled=enabled, aggregation_max_size=500)
    return Desk.open(FakePuts().create(2), settings)


def write(desk: Desk, some: Rows) -> None:
    """Write *some* rows without a flush."""
    desk.put(some)
    desk.outbox.seal()
    desk.outbox.hurry += 1
    while desk.outbox.ledger.held_bytes:
        desk.step()
    desk.outbox.hurry -= 1


def flushed() -> Desk:
    """Return a producer that has written and flushed something."""
    desk = opened()
    desk.put(rows(0, 100))
    desk.flush()
    desk.outbox.ledger.take_totals()
    return desk


def test_a_stream_made_anew_between_two_flushes(caplog: pytest.LogCaptureFixture) -> None:
    """The shards are listed before aggregates go out again, so that none has rows of several shards; that is logged."""
    desk = flushed()
    desk.puts.recreate(3)
    desk.put(rows(100, 400))
    desk.flush()
    assert desk.outbox.failure is None
    assert kcl(desk) == payloads(100, 400)
    totals = desk.outbox.ledger.take_totals()
    assert (totals.user_records, totals.misplaced) == (300, 0)
    assert totals.requests == len(desk.puts.requests) - 1
    assert "stream.recreated stream=orders" in caplog.messages


def test_what_waits_while_the_stream_is_made_anew_is_sorted_anew() -> None:
    """After a silence the shards are listed too, though there was no flush."""
    desk = opened()
    desk.put(rows(100, 400))
    desk.clock.sleep(SILENCE_S)
    desk.puts.recreate(3)
    desk.flush()
    assert desk.outbox.failure is None
    assert kcl(desk) == payloads(100, 400)


def test_what_was_written_and_not_flushed_is_in_doubt() -> None:
    """Aggregates may be in the wrong shards of the new stream, or gone with the old one: the error says how many rows."""
    desk = opened()
    write(desk, rows(100, 300))
    desk.clock.sleep(SILENCE_S)
    desk.puts.recreate(3)
    desk.put(rows(300, 400))
    desk.flush()
    error = failure_of(desk)
    assert error.counts == {"StreamRecreated": 200}
    assert "deleted and made anew" in str(error)
    assert "stream=orders" in str(error)


def test_an_unexpected_placement_shows_it_too() -> None:
    """However little time passes: the shards are listed, and what was written by the old ones is told of."""
    desk = opened()
    write(desk, rows(100, 300))
    desk.puts.recreate(7)
    desk.put(rows(300, 900))
    desk.flush()
    assert failure_of(desk).counts.keys() == {"StreamRecreated"}


def test_aggregates_on_the_way_are_judged_by_the_new_shards() -> None:
    """One that comes to a shard of the id that it was made for is not at home if that is another's by now."""
    desk = opened()
    desk.put(rows(100, 300))
    desk.outbox.seal()
    desk.outbox.hurry += 1
    request = desk.outbox.take(desk.clock.now)
    desk.puts.recreate(3)
    answer = desk.puts.put_records([entry for parcel in request for entry in parcel.entries])
    desk.sender._reshards.list_again(desk.clock.now)
    landings = desk.answers.settle(request, answer, desk.clock.now)
    assert len(landings) == len(request)
    desk.sender._reshards.place(landings)
    desk.flush()
    assert kcl(desk) == payloads(100, 300)
    assert desk.outbox.ledger.take_totals().misplaced > 0


@pytest.mark.parametrize("enabled", [True, False])
def test_a_stream_that_is_not_found_and_there_again(enabled: bool) -> None:
    """A refused request is sent again, to the shards that there are now."""
    desk = opened(enabled=enabled)
    desk.put(rows(0, 300))
    desk.puts.recreate(3)
    desk.puts.is_there = False

    def come_back() -> None:
        desk.puts.is_there = True

    desk.puts.before_listing = come_back
    desk.flush()
    assert desk.outbox.failure is None
    assert kcl(desk) == payloads(0, 300)


def test_a_stream_that_is_gone_is_a_failure_at_once() -> None:
    """It is not waited for: nobody knows whether it comes back."""
    desk = flushed()
    desk.puts.is_there = False
    began_s = desk.clock.now
    desk.put(rows(0, 7))
    desk.flush()
    assert failure_of(desk).counts == {"ResourceNotFoundException": 7}
    assert desk.clock.now - began_s < 2


def test_looks_are_bounded() -> None:
    """With a flush after every few rows the shards are listed a few times at once, and then five times a second."""
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


def test_one_look_is_enough_after_a_flush() -> None:
    """While the stream is written to all the time, nothing is listed; a map that has not changed is kept."""
    desk = flushed()
    for number in range(5):
        write(desk, rows(number * 10, number * 10 + 10))
        desk.clock.sleep(1.5)
    assert desk.puts.listings == 2
    assert len(desk.outbox.router.known_keys) == 100


def test_a_look_that_is_refused_a_moment_after_the_last_answer() -> None:
    """No stream is deleted and made anew in that time: the rows do not wait, and the next look is after the next flush."""
    desk = flushed()

    def refuse() -> None:
        raise ThrottledError("Rate exceeded.", "LimitExceededException")

    desk.puts.before_listing = refuse
    began_s = desk.clock.now
    desk.put(rows(100, 107))
    desk.flush()
    assert desk.outbox.failure is None
    assert (desk.puts.listings, desk.clock.now) == (2, began_s)
    desk.put(rows(107, 114))
    desk.flush()
    desk.clock.sleep(1.0)
    desk.put(rows(114, 121))
    desk.flush()
    assert desk.puts.listings == 4
    assert kcl(desk) == payloads(0, 121)


@pytest.mark.parametrize("took_s", [SILENCE_S, 20])
def test_a_look_that_is_refused_after_a_while(took_s: float) -> None:
    """In that time the stream may have been made anew: the shards are listed again before anything is written."""
    desk = flushed()
    pending = [True]

    def hang() -> None:
        if pending:
            pending.pop()
            desk.clock.sleep(took_s)
            desk.puts.recreate(3)
            raise UnavailableError("Read timed out.", "ReadTimeoutError")

    desk.puts.before_listing = hang
    desk.put(rows(100, 400))
    desk.flush()
    assert desk.outbox.failure is None
    assert kcl(desk) == payloads(100, 400)


@pytest.mark.parametrize("refused", [1, 3])
def test_a_look_that_shows_other_shards_and_is_refused_then(refused: int) -> None:
    """What the open shards showed holds: nothing is written by the old map, though the stream was heard a moment ago."""
    desk = flushed()
    desk.puts.recreate(3)
    calls = iter(range(100))

    def refuse() -> None:
        if 0 < next(calls) <= refused:
            raise ThrottledError("Rate exceeded.", "LimitExceededException")

    desk.puts.before_listing = refuse
    desk.put(rows(100, 400))
    desk.flush()
    assert desk.outbox.failure is None
    assert kcl(desk) == payloads(100, 400)
    assert desk.outbox.ledger.take_totals().misplaced == 0
    desk.puts.before_listing = None
    listed = desk.puts.listings, desk.puts.listed
    desk.put(rows(400, 500))
    desk.flush()
    assert (desk.puts.listings, desk.puts.listed) == (listed[0] + 1, listed[1] + 3)


def test_what_was_seen_once_is_not_forgotten() -> None:
    """After an answer with other open shards, one like the map is believed only if the list of all shards agrees."""
    desk = flushed()
    old = dict(desk.puts.shards)
    desk.puts.recreate(3)
    new, calls = desk.puts.shards, iter(range(100))

    def lag() -> None:
        call = next(calls)
        desk.puts.shards = old if call == 2 else new
        if call == 1:
            raise ThrottledError("Rate exceeded.", "LimitExceededException")

    desk.puts.before_listing = lag
    desk.puts.before_put = lambda _: setattr(desk.puts, "shards", new)
    desk.put(rows(100, 400))
    desk.flush()
    assert desk.outbox.failure is None
    assert kcl(desk) == payloads(100, 400)


def test_requests_that_are_sent_again_need_no_further_look() -> None:
    """The look has heard of the stream, though no request was answered since."""
    desk = flushed()
    desk.clock.sleep(SILENCE_S)
    refusals = iter(range(100))

    def refuse(_: object) -> None:
        if next(refusals) < 12:
            raise ThrottledError("Rate exceeded.", "LimitExceededException")

    desk.puts.before_put = refuse
    began_s, listings = desk.clock.now, desk.puts.listings
    desk.put(rows(100, 200))
    desk.flush()
    assert 0.5 < desk.clock.now - began_s < SILENCE_S
    assert desk.puts.listings == listings + 1
    assert kcl(desk) == payloads(0, 200)


def test_plain_records_end_no_silence() -> None:
    """A row that goes plain, without a look, may be the first of another stream: the look after it may not fail."""
    desk = flushed()
    desk.clock.sleep(60)
    desk.puts.recreate(3)
    desk.put(Rows([b"100"], ["key-100"]))
    desk.flush()
    desk.outbox.ledger.take_totals()

    def refuse() -> None:
        desk.puts.before_listing = None
        raise ThrottledError("Rate exceeded.", "LimitExceededException")

    desk.puts.before_listing = refuse
    desk.put(rows(101, 400))
    desk.flush()
    assert desk.outbox.failure is None
    assert kcl(desk) == payloads(100, 400)


def test_other_shards_that_were_seen_are_looked_at_by_all() -> None:
    """While one thread lists them again, another one sends nothing by the old map."""
    desk = flushed()
    desk.put(rows(100, 110))
    desk.flush()
    desk.sender._watch._is_taken_up = False
    listings = desk.puts.listings
    desk.sender._reshards.is_outdated = True
    desk.put(rows(110, 120))
    desk.outbox.seal()
    desk.outbox.hurry += 1
    desk.step()
    assert desk.puts.listings == listings + 2


def test_two_listings_that_contradict_each_other() -> None:
    """The open shards are those of the new stream, and the list of all is older: both are asked for until they agree."""
    desk = flushed()
    old = dict(desk.puts.shards)
    desk.puts.recreate(3)
    new, calls = desk.puts.shards, iter(range(100))

    def lag() -> None:
        desk.puts.shards = old if next(calls) == 1 else new

    desk.puts.before_listing = lag
    desk.puts.before_put = lambda _: setattr(desk.puts, "shards", new)
    desk.put(rows(100, 400))
    desk.flush()
    assert desk.outbox.failure is None
    assert kcl(desk) == payloads(100, 400)


@pytest.mark.parametrize("silence_s", [0, SILENCE_S])
def test_a_split_whose_children_are_not_listed_yet(silence_s: float) -> None:
    """No open shard is listed then, which is waited for: the stream is not being deleted, for its closed shard is listed."""
    desk = Desk.open(FakePuts().create(1), ProducerSettings(aggregation_max_size=500))
    desk.put(rows(0, 100))
    desk.flush()
    desk.clock.sleep(silence_s)
    desk.puts.split(desk.puts.open_shards()[0])
    desk.puts.without_children = 4
    desk.put(rows(100, 200))
    desk.flush()
    assert desk.outbox.failure is None
    assert kcl(desk) == payloads(0, 200)


def test_a_server_that_does_not_know_the_filter() -> None:
    """All shards are listed there."""
    desk = flushed()
    desk.puts.refuses_filter = True
    desk.puts.recreate(3)
    desk.put(rows(100, 400))
    desk.flush()
    assert desk.outbox.failure is None
    assert kcl(desk) == payloads(100, 400)


def test_a_look_asks_for_open_shards_only() -> None:
    """A stream that is often resharded has many closed ones; they are listed when the open ones are others than before."""
    desk = opened()
    for _ in range(3):
        desk.puts.split(desk.puts.open_shards()[0])
    desk.put(rows(0, 100))
    desk.flush()
    assert len(desk.outbox.router.shards.open_shards) == 5
    desk.outbox.ledger.take_totals()
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
    assert len(desk.outbox.router.shards.open_shards) == 4
    assert desk.outbox.router.shards.ranges.keys() == desk.puts.shards.keys()
    assert desk.outbox.ledger.take_totals().misplaced == 0
    assert kcl(desk) == payloads(0, 210)


def test_plain_records_are_not_in_doubt() -> None:
    """Each is in the shard of its own key, in whatever stream it was written to."""
    desk = opened(enabled=False)
    write(desk, rows(0, 100))
    desk.puts.recreate(7)
    desk.clock.sleep(20)
    desk.put(rows(100, 200))
    desk.flush()
    assert desk.puts.listings == 2
    assert desk.outbox.failure is None
    assert kcl(desk) == payloads(100, 200)


def test_plain_records_need_no_look() -> None:
    """Kinesis routes each by its own key: after a flush nothing is listed again."""
    desk = opened(enabled=False)
    for _ in range(3):
        desk.put(rows(0, 50))
        desk.flush()
        desk.clock.sleep(SILENCE_S)
    assert desk.puts.listings == 1


@pytest.mark.parametrize(
    ("error", "silence_s", "patience_s"),
    [
        (ThrottledError("Rate exceeded.", "LimitExceededException"), SILENCE_S, 30),
        (AccessDeniedError("No.", "AccessDeniedException"), SILENCE_S, 0),
        (AccessDeniedError("No.", "AccessDeniedException"), 0, 0),
    ],
)
def test_shards_that_cannot_be_listed_are_a_failure(
    error: ServiceError, silence_s: float, patience_s: int
) -> None:
    """Rows wait while that may pass, until their time is up; nothing is written by shards that may be others by now."""
    desk = flushed()
    desk.clock.sleep(silence_s)

    def refuse() -> None:
        raise error

    desk.puts.before_listing = refuse
    written, began_s = len(desk.puts.stored), desk.clock.now
    desk.put(rows(100, 107))
    desk.flush()
    assert failure_of(desk).counts == {error.code: 7}
    assert patience_s <= desk.clock.now - began_s < patience_s + 5
    assert len(desk.puts.stored) == written
