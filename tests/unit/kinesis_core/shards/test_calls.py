"""`ShardCalls`: one shard, page after page, however unkind the service is."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise

import pytest
from attrs import define, field
from hypothesis import given, strategies as st

from kinesis_core.aws import ReadRateLimiter
from kinesis_core.budget import IN_FLIGHT, ByteBudget, receiving
from kinesis_core.errors import InvalidRequestError, IteratorExpiredError, StreamNotFoundError, ThrottledError
from kinesis_core.model import After, At, AtTimestamp, Cut, Page, Record, TrimHorizon
from kinesis_core.shards import NO_GAP, STALLED_PAGES, VISIT_PAGES, Cursor, Look, ShardCalls, is_tip
from support.fake_stream import FakeClock, Mood
from support.heavy_stream import heavy_stream
from support.scripted_stream import ITERATOR_LIFE_S, ScriptedStream, scripted_stream, throttle

A = "shardId-000000000000"
EXPIRED = IteratorExpiredError("Iterator expired", "ExpiredIteratorException")
OLDEST = Cursor(TrimHorizon())


@define
class Shard:
    """A shard of ten records, and the calls on it."""

    stream: ScriptedStream = field(factory=scripted_stream)
    put: list[Record] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.put = self.stream.put_many(A, 10, 1.0)

    def calls(self, max_throttles: float = float("inf"), **more: object) -> ShardCalls:
        limiter = ReadRateLimiter(0.2)
        calls = ShardCalls(
            self.stream, A, self.stream.clock, limiter, random.Random(0), "orders", max_throttles
        )
        for name, value in more.items():
            setattr(calls, name, value)
        return calls

    def actions(self) -> list[str]:
        return [call.action for call in self.stream.log]


@pytest.fixture
def shard() -> Shard:
    return Shard()


def read_all(calls: ShardCalls, cursor: Cursor, limit: int) -> list[Look]:
    """Return the pages up to the tip, or the end of the shard."""
    looks = [calls.read(cursor, limit)]
    while not looks[-1].at_tip and looks[-1].rest is not None:
        looks.append(calls.read(looks[-1].rest, limit))
    return looks


def records_of(looks: list[Look]) -> list[Record]:
    return [record for look in looks for record in look.records]


# Iterators


@pytest.mark.parametrize("pause_s", [0.0, ITERATOR_LIFE_S + 1])
def test_an_expired_iterator_is_renewed_inside(shard: Shard, pause_s: float) -> None:
    """However slow the caller is, the pages follow each other without a gap and without a repetition."""
    calls, cursor, found = shard.calls(), OLDEST, list[Record]()
    for _ in range(5):
        look = calls.read(cursor, 2)
        assert look.rest is not None
        found, cursor = [*found, *look.records], look.rest
        shard.stream.clock.sleep(pause_s)
    assert found == shard.put


def test_an_iterator_that_expires_in_a_gap(shard: Shard) -> None:
    """The gap begins anew: its iterators are past nothing that was seen."""
    shard.stream.gaps[A, 3] = 4
    calls = shard.calls()
    look = calls.first(Cursor(After(shard.put[2].number)), 2, 3)
    assert look.rest is not None
    shard.stream.clock.sleep(ITERATOR_LIFE_S + 1)
    assert calls.first(look.rest, 2).records == shard.put[3:5]


@pytest.mark.parametrize("allowed", [0, 2, float("inf")])
def test_a_new_iterator_that_has_expired(shard: Shard, allowed: float) -> None:
    """It is as a throttle: whoever is impatient comes back later, and nobody asks in a loop without a wait."""
    calls, started_s = shard.calls(allowed), shard.stream.clock.now
    shard.stream.fail("GetRecords", A, [EXPIRED] * 5)
    if allowed < 4:
        with pytest.raises(ThrottledError, match="Iterator expired") as raised:
            calls.read(OLDEST, 1)
        assert raised.value.code == "ExpiredIteratorException"
        assert shard.actions() == ["GetShardIterator", "GetRecords"] * (int(allowed) + 2)
    else:
        assert calls.read(OLDEST, 1).records == shard.put[:1]
        assert shard.stream.clock.now - started_s > 2


def test_whoever_renews_is_told_first(shard: Shard) -> None:
    """The stream may be another one since. So an iterator is not renewed before that is looked at."""

    def look_at_stream() -> None:
        raise InvalidRequestError("another stream")

    calls = shard.calls(on_expired=look_at_stream)
    shard.stream.fail("GetRecords", A, [EXPIRED])
    with pytest.raises(InvalidRequestError, match="another stream"):
        calls.read(OLDEST, 1)
    assert shard.actions() == ["GetShardIterator", "GetRecords"]


def test_a_cursor_reads_the_same_again(shard: Shard) -> None:
    """A cursor is a value: whoever keeps it reads the same page once more, without another iterator."""
    calls = shard.calls()
    first = calls.read(OLDEST, 3)
    assert first.rest is not None
    assert calls.read(first.rest, 3).records == calls.read(first.rest, 3).records == shard.put[3:6]
    assert calls.read(first.at, 3).records == shard.put[:3]
    assert shard.actions().count("GetShardIterator") == 1


# The quota


def test_calls_keep_the_rate(shard: Shard) -> None:
    """There is one call of GetRecords a period."""
    read_all(shard.calls(), OLDEST, 1)
    times = [call.at_s for call in shard.stream.calls_of("GetRecords")]
    assert [after - before for before, after in pairwise(times)] == pytest.approx([0.2] * 10, abs=0.002)


@pytest.mark.parametrize("with_data", [True, False])
def test_bytes_keep_the_rate(shard: Shard, with_data: bool) -> None:
    """After a page one waits for as long as its data takes at the rate, decoded or not."""
    shard.stream.put_many(A, 1, data=b"x" * 3000)
    calls, started_s = shard.calls(max_rate_bytes=1000), shard.stream.clock.now
    calls.read(Cursor(After(shard.put[-1].number)), 1, with_data=with_data)
    assert shard.stream.clock.now == started_s
    assert calls.wait_s() == pytest.approx(3.0, abs=0.01)


@pytest.mark.parametrize("action", ["GetShardIterator", "GetRecords"])
@pytest.mark.parametrize(("allowed", "throttles"), [(0, 4), (3, 4), (float("inf"), 4), (float("inf"), 3000)])
def test_throttles_are_waited_out(
    shard: Shard, action: str, allowed: float, throttles: int, caplog: pytest.LogCaptureFixture
) -> None:
    """So many in a row, for hours if wanted. Then the next one is raised. Each waits longer, up to a bound, and is logged."""
    caplog.set_level("INFO")
    calls, started_s = shard.calls(allowed), shard.stream.clock.now
    shard.stream.fail(action, A, [throttle()] * throttles)
    if allowed < throttles:
        with pytest.raises(ThrottledError):
            calls.read(OLDEST, 1)
    else:
        assert calls.read(OLDEST, 1).records == shard.put[:1]
        assert 2 < shard.stream.clock.now - started_s < 5 * throttles
    assert calls.counts.throttles == min(throttles, allowed + 1)
    assert (
        caplog.text.count(f"call.retried call={action} reason=ProvisionedThroughput")
        == calls.counts.throttles
    )
    assert calls.counts.calls == len(shard.actions())


def test_throttles_between_pages_are_not_in_a_row(shard: Shard) -> None:
    """A page ends the row."""
    calls, cursor = shard.calls(1), OLDEST
    for _ in range(5):
        shard.stream.fail("GetRecords", A, [throttle()])
        look = calls.read(cursor, 1)
        assert look.rest is not None
        cursor = look.rest


def test_patience(shard: Shard) -> None:
    """An impatient caller may be patient for a while."""
    calls = shard.calls(0)
    shard.stream.fail("GetRecords", A, [throttle()] * 5)
    with calls.patiently():
        assert calls.is_thorough
        calls.read(OLDEST, 1)
    assert not calls.is_thorough
    shard.stream.fail("GetRecords", A, [throttle()])
    with pytest.raises(ThrottledError):
        calls.read(OLDEST, 1)


@pytest.mark.parametrize("crosses", [True, False])
def test_throttles_in_a_gap(shard: Shard, crosses: bool) -> None:
    """Whoever has to cross a gap waits throttles out in it, and only there. Otherwise the gap would begin anew each time."""
    shard.stream.gaps[A, 0] = 3
    calls = shard.calls(0, crosses_gaps=crosses)
    shard.stream.fail("GetRecords", A, [throttle()])
    with pytest.raises(ThrottledError):
        calls.read(OLDEST, 1)
    look = calls.read(OLDEST, 1)
    assert look.rest is not None
    shard.stream.fail("GetRecords", A, [throttle()] * 3)
    if crosses:
        assert calls.first(look.rest, 1).records == shard.put[:1]
    else:
        with pytest.raises(ThrottledError):
            calls.first(look.rest, 1)


# Gaps and the tip


def test_a_gap_is_followed_while_it_comes_closer(shard: Shard) -> None:
    """However long it is."""
    shard.stream.gaps[A, 0] = 3 * STALLED_PAGES
    assert shard.calls().first(OLDEST, 1).records == shard.put[:1]


@pytest.mark.parametrize("pages", [1, VISIT_PAGES])
def test_a_visit_follows_a_gap_for_some_pages(shard: Shard, pages: int) -> None:
    """The next visit continues there."""
    shard.stream.gaps[A, 0] = pages + 2
    calls = shard.calls()
    look = calls.first(OLDEST, 1, pages)
    assert (look.is_in_gap, shard.actions().count("GetRecords")) == (True, pages)
    assert look.rest is not None
    assert calls.first(look.rest, 1, 3).records == shard.put[:1]
    assert shard.actions().count("GetShardIterator") == 1


def test_a_gap_without_progress_is_stuck(shard: Shard) -> None:
    """After so many pages one looks elsewhere."""
    shard.stream.stall(A, 3600)
    look = shard.calls().first(OLDEST, 1)
    assert look.is_in_gap
    assert look.rest is not None
    assert look.rest.gap.is_stuck
    assert shard.actions().count("GetRecords") == STALLED_PAGES


def test_records_end_a_gap(shard: Shard) -> None:
    """Empty pages on both sides of a record are not in a row."""
    for index in range(10):
        shard.stream.gaps[A, index] = 2
    for look in read_all(shard.calls(), OLDEST, 1):
        assert look.rest is not None
        assert look.rest.gap.stalled_pages <= 1
        assert (look.rest.gap != NO_GAP) == look.is_in_gap


def test_an_idle_shard_is_no_gap(shard: Shard) -> None:
    """However often nothing has come, a gap that follows is not stuck."""
    calls, rest = shard.calls(), Cursor(After(shard.put[-1].number))
    for _ in range(2 * STALLED_PAGES):
        look = calls.read(rest, 1)
        assert look.rest is not None
        rest = look.rest
    shard.stream.gaps[A, 10] = 3
    new = shard.stream.put_many(A, 1)
    shard.stream.clock.sleep(1)
    assert calls.first(rest, 1).records == new


@pytest.mark.parametrize(("limit", "at_tip"), [(10, False), (11, True)])
def test_a_full_page_is_not_the_tip(shard: Shard, limit: int, at_tip: bool) -> None:
    """A page with records may be at the tip. A full one may have a successor, though it reports no lag."""
    look = shard.calls().read(OLDEST, limit)
    assert look.page.millis_behind == 0
    assert look.at_tip == look.is_last == at_tip
    assert not look.is_in_gap


@given(st.integers(0, 3), st.integers(1, 3), st.integers(0, 2))
def test_the_tip(records: int, limit: int, behind_ms: int) -> None:
    """Nothing follows a page without lag that has room left."""
    page = Page([Record(str(number + 1)) for number in range(records)], behind_ms, "next")
    assert is_tip(page, limit) == (behind_ms == 0 and records < limit)


@pytest.mark.parametrize("alone", [True, False])
def test_the_end_of_a_shard(alone: bool) -> None:
    """A closed shard ends with its last records, or on a page of its own."""
    shard = Shard()
    shard.stream.mood = Mood(end_page_of_its_own=alone)
    shard.stream.split(A)
    looks = read_all(shard.calls(), OLDEST, 100) if not alone else [shard.calls().read(OLDEST, 100)]
    assert looks[-1].is_shard_end != alone
    assert records_of(looks) == shard.put
    assert shard.calls().read(OLDEST, len(shard.put)).is_last != alone


# The service


@pytest.mark.parametrize(("kind", "first"), [(At, 4), (After, 5)])
def test_records_before_the_cut_are_dropped(shard: Shard, kind: type[At | After], first: int) -> None:
    """A server that is not exact may return some. The page is no less full for it."""
    cut, calls = kind(shard.put[4].number), shard.calls()
    rest = calls.read(OLDEST, 2).rest
    assert rest is not None
    look = calls.read(Cursor(cut, iterator=rest.iterator), 8)
    assert look.records == shard.put[first:]
    assert not look.at_tip
    assert look.rest is not None
    assert look.rest.cut == After(shard.put[-1].number)


@pytest.mark.parametrize(
    "mood",
    [
        *(Mood(empty_pages=40), Mood(short_pages=60), Mood(throttles=30), Mood(expiries=30)),
        *(Mood(boasts=100), Mood(early=2), Mood(20, 20, 20, 20, boasts=20, early=1)),
    ],
)
@pytest.mark.parametrize("cut", [TrimHorizon(), AtTimestamp(1_790_000_003_000), "record"])
def test_an_unkind_service(shard: Shard, mood: Mood, cut: Cut | str) -> None:
    """Each record comes once and in order, whatever the service does in between."""
    shard.stream.mood = mood
    start = At(shard.put[3].number) if isinstance(cut, str) else cut
    first = 0 if isinstance(start, TrimHorizon) else 3
    assert records_of(read_all(shard.calls(), Cursor(start), 3)) == shard.put[first:]


def test_whether_a_shard_is_known(shard: Shard) -> None:
    """A throttle says nothing about it, and is waited out. No record is read."""
    calls = shard.calls(0)
    shard.stream.fail("GetShardIterator", A, [throttle()] * 3)
    assert calls.is_known()
    assert set(shard.actions()) == {"GetShardIterator"}
    del shard.stream.shards[A]
    assert not calls.is_known()
    with pytest.raises(StreamNotFoundError):
        calls.read(OLDEST, 1)


def test_a_number_of_another_stream(shard: Shard) -> None:
    """A cut is checked without reading. A throttle is waited out, and a refusal passed on."""
    calls, number = shard.calls(), shard.put[0].number
    shard.stream.fail("GetShardIterator", A, [throttle()] * 2)
    calls.verify(At(number))
    shard.stream.recreate(1)
    with pytest.raises(InvalidRequestError):
        calls.verify(At(number))


def test_a_call_reserves_what_the_last_one_took() -> None:
    """The first call of a shard has the first bytes of its share, and each later one twice the body before."""
    shard = Shard(heavy_stream(1))
    shard.stream.put_many(A, 10, data=bytes(50))
    calls, cursor, share = shard.calls(), OLDEST, ByteBudget(10_000).share(first_bytes=7)
    with receiving(share):
        for expected in (7, 5, 250, 250):
            look = calls.read(cursor, 5)
            assert look.rest is not None
            assert share.size_bytes == IN_FLIGHT * expected
            share.hand_over(0).release()
            cursor = look.rest


@define
class Sleepless(FakeClock):
    """A clock that does something during each sleep."""

    asleep: Callable[[], object] = lambda: None

    def sleep(self, seconds: float) -> None:
        FakeClock.sleep(self, seconds)
        self.asleep()


def test_a_body_without_room_is_asked_for_again() -> None:
    """A response for which there is no room is given up, and the call is made again once there is."""
    clock = Sleepless()
    shard, budget = Shard(heavy_stream(1, clock=clock)), ByteBudget(30)
    other, share = budget.share(), budget.share(patience_s=0)
    other.reserve(10)
    calls = shard.calls()

    def give_back() -> None:
        if len(shard.actions()) > 1:
            other.release()

    clock.asleep = give_back
    with receiving(share):
        look = calls.read(OLDEST, 10)
    assert look.records == shard.put
    assert shard.actions() == ["GetShardIterator", "GetRecords", "GetRecords"]
    assert share.size_bytes == IN_FLIGHT * 10


@pytest.mark.parametrize("trouble", ["throttle", "expired", "empty"])
def test_a_call_that_brings_nothing_holds_nothing(trouble: str) -> None:
    """While a call waits for its next attempt, others may use its bytes."""
    clock = Sleepless()
    shard, share = Shard(heavy_stream(1, clock=clock)), ByteBudget(1000).share(first_bytes=20)
    held: list[int] = []
    clock.asleep = lambda: held.append(share.size_bytes)
    if trouble == "empty":
        shard.stream.gaps[A, 0] = 1
    else:
        shard.stream.fail("GetRecords", A, [throttle() if trouble == "throttle" else EXPIRED])
    with receiving(share):
        shard.calls().first(OLDEST, 10)
    assert held == [0, 0]
    assert share.size_bytes == IN_FLIGHT * (10 if trouble == "empty" else 20)
