"""Bells: a consumer of enhanced fan-out tells the planner of new records, whatever becomes of its subscriptions."""

from __future__ import annotations

import logging
import queue
import random
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

import pytest
from attrs import define, evolve, field

from kinesis_core.errors import (
    ProcessLimitError,
    ResourceInUseError,
    ServiceError,
    StreamNotFoundError,
    UnavailableError,
)
from kinesis_core.model import Cut, Latest, Page, Record, SubscribedPage
from kinesis_core.planning import Limits, PlanSettings
from kinesis_core.planning.bells import Bells
from support.fake_stream import FakeClock, FakeStream
from support.planned import Planned
from support.waiting import PATIENCE_S, wait_until

RARELY = PlanSettings(min_fetch_period_s=1000, quota_share=1, first_plan_crosses_gaps=False)
"""A shard rests for 1,000 s. So what comes sooner has come by a bell. Three looks may follow each other at once."""
RECORD = Record("1", b"x", "k")
Event = SubscribedPage | ServiceError | None
"""An event, what ends a subscription, or None for the end of its 5 minutes."""


def event(records: int = 1) -> SubscribedPage:
    return SubscribedPage([RECORD] * records, 0, continuation="1")


END = SubscribedPage([], 0, child_shards=[{"ShardId": "shardId-000000000099"}])
IN_USE, REMOVED = (
    ResourceInUseError("Another subscribes", "ResourceInUseException"),
    StreamNotFoundError("Gone", "ResourceNotFoundException"),
)
BROKEN = UnavailableError("It broke off", "ProtocolError")


@define
class Scripted:
    """The subscriptions of one consumer, with the events that a test sends."""

    consumer: str = "arn:aws:kinesis:eu-west-1:000000000000:stream/orders/consumer/me:1"
    sent: dict[str, queue.Queue[Event]] = field(factory=dict)
    asked: list[tuple[str, Cut | Latest, bool]] = field(factory=list)
    closed: list[str] = field(factory=list)

    def send(self, shard_id: str, what: Event) -> None:
        self._of(shard_id).put(what)

    def _of(self, shard_id: str) -> queue.Queue[Event]:
        return self.sent.setdefault(shard_id, queue.Queue())

    def subscribe(
        self, shard_id: str, cut: Cut | Latest, with_data: bool = True
    ) -> Generator[SubscribedPage, None, None]:
        self.asked.append((shard_id, cut, with_data))
        return self._events(shard_id)

    def _events(self, shard_id: str) -> Generator[SubscribedPage, None, None]:
        try:
            while (what := self._of(shard_id).get(timeout=PATIENCE_S)) is not None:
                if isinstance(what, ServiceError):
                    raise what
                yield what
        finally:
            self.closed.append(shard_id)


@define
class Signal(threading.Event):
    """What a planner waits for. *while_waiting* happens as soon as it does. Time is the clock's."""

    clock: FakeClock
    while_waiting: list[Callable[[], object]] = field(factory=list)

    def __attrs_pre_init__(self) -> None:
        super().__init__()

    def wait(self, timeout: float | None = None) -> bool:
        if self.is_set():
            return True
        if not self.while_waiting:
            self.clock.sleep(timeout or 0)
            return False
        self.while_waiting.pop(0)()
        return self.wait_for_ring()

    def wait_for_ring(self) -> bool:
        return super().wait(PATIENCE_S)


@contextmanager
def followed(
    stream: FakeStream, settings: PlanSettings = RARELY
) -> Iterator[tuple[Planned, Scripted, Signal]]:
    """Yield a query that has found nothing new in *stream*, and has bells."""
    query, api, rang = Planned([stream], Latest(), settings), Scripted(), Signal(stream.clock)
    query.planner.listen({stream.name: api}, rang)
    try:
        assert not query.batch()
        wait_until(lambda: len(api.asked) == len(stream.shards), lambda: api.asked)
        stream.clock.sleep(10_000)
        assert not query.batch()
        yield query, api, rang
    finally:
        query.planner.close()
        for shard_id in list(api.sent):
            api.send(shard_id, None)


def test_a_record_is_found_by_its_bell() -> None:
    """The plan does not wait for the end of the shard's rest. The subscription begins at its tip, and no data is decoded."""
    stream = FakeStream(FakeClock()).create(2)
    with followed(stream) as (query, api, rang):
        assert sorted(api.asked) == [(s, Latest(), False) for s in sorted(stream.shards)]
        fresh, began_s = [], stream.clock.now_s()
        shard_id = list(stream.shards)[1]

        def put() -> None:
            fresh.append(stream.put(shard_id, b"x"))
            api.send(shard_id, event())

        rang.while_waiting.append(put)
        assert query.batch() == [(shard_id, fresh[0].sequence_number)]
        assert stream.clock.now_s() - began_s < 1
        assert not query.batch()
        assert stream.clock.now_s() - began_s > 900  # the next look is as late as without a bell


def test_a_false_alarm_costs_one_look() -> None:
    stream = FakeStream(FakeClock()).create(1)
    with followed(stream) as (query, api, rang):
        (shard_id,) = stream.shards
        looks = stream.calls["GetRecords"]
        rang.while_waiting.append(lambda: api.send(shard_id, event()))
        assert not query.batch()
        assert stream.calls["GetRecords"] == looks + 1


@pytest.mark.parametrize("share", [0.25, 0.5, 1.0])
def test_bells_leave_others_their_part_of_the_calls(share: float) -> None:
    """A shard whose bell never rests is looked at as often as `quota_share` allows, after a few looks at once."""
    stream = FakeStream(FakeClock()).create(1)
    (shard_id,) = stream.shards
    with followed(stream, PlanSettings(quota_share=share)) as (query, api, rang):
        looks, began_s = stream.calls["GetRecords"], stream.clock.now_s()
        for _ in range(100):
            rang.while_waiting.append(lambda: api.send(shard_id, event()))
            query.batch()
        passed_s = stream.clock.now_s() - began_s
        assert stream.calls["GetRecords"] - looks <= 3 + 5 * share * passed_s


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_an_idle_shard_is_looked_at_as_soon_as_its_bell_rings(share: float) -> None:
    """However many looks have found nothing before, and however many bells have rung."""
    stream, fresh = FakeStream(FakeClock()).create(1), list[Record]()
    (shard_id,) = stream.shards
    with followed(stream, PlanSettings(quota_share=share)) as (query, api, rang):

        def put() -> None:
            stream.clock.sleep(0.01)  # soon after the last look
            fresh.append(stream.put(shard_id, b"x"))
            api.send(shard_id, event())

        for _ in range(20):
            for _ in range(3):
                assert not query.batch()
            rang.while_waiting.append(put)
            began_s = stream.clock.now_s()
            assert query.batch() == [(shard_id, fresh[-1].sequence_number)]
            assert stream.clock.now_s() - began_s < 0.02


def test_a_shard_that_is_behind_has_no_bell() -> None:
    """It is read as fast as the limits allow, and a subscription would bring all of that as well."""
    stream = FakeStream(FakeClock()).create(1)
    (shard_id,) = stream.shards
    settings = evolve(RARELY, limits=Limits(max_records=1))
    query, api = Planned([stream], settings=settings), Scripted()
    query.planner.listen({stream.name: api}, Signal(stream.clock))
    for _ in range(4):
        stream.clock.sleep(60)
        stream.put(shard_id, b"x")
    while query.batch():
        assert not api.asked or query.planner.lag_ms()["orders"] == dict.fromkeys(stream.shards, 0)
    wait_until(lambda: api.asked)
    query.planner.close()
    api.send(shard_id, None)


@define
class LateStream(FakeStream):
    """A record comes just after a look."""

    after_look: Callable[[], None] | None = None

    def get_records(self, iterator: str, limit: int, with_data: bool = True, shard_id: str = "") -> Page:
        page = super().get_records(iterator, limit, with_data, shard_id)
        after, self.after_look = self.after_look, None
        if after is not None:
            after()
        return page


def test_a_bell_that_rings_while_its_shard_is_looked_at_is_not_lost() -> None:
    """The look may have come before the record. So the shard is looked at once more."""
    stream = LateStream(FakeClock())
    stream.create(1)
    with followed(stream) as (query, api, rang):
        (shard_id,) = stream.shards
        fresh: list[Record] = []

        def put() -> None:
            fresh.append(stream.put(shard_id, b"x"))
            api.send(shard_id, event())
            assert rang.wait_for_ring()

        stream.after_look = put
        rang.while_waiting.append(lambda: api.send(shard_id, event()))
        began_s = stream.clock.now_s()
        assert not query.batch()
        assert query.batch() == [(shard_id, fresh[0].sequence_number)]
        assert stream.clock.now_s() - began_s < 1


def test_bells_follow_a_split() -> None:
    """A closed shard rings, its children have bells once they have nothing new, and its own bell ends."""
    stream = FakeStream(FakeClock()).create(1)
    with followed(stream) as (query, api, rang):
        (parent,) = stream.shards

        def split() -> None:
            stream.split(parent)
            api.send(parent, END)

        rang.while_waiting.append(split)
        children: set[str] = set()
        while not children:
            query.batch()
            children = {s for s, _, _ in api.asked} - {parent}
        wait_until(lambda: {s for s, _, _ in api.asked} == set(stream.shards))
        wait_until(lambda: api.closed == [parent])
        child = max(stream.shards)
        fresh: list[Record] = []

        def put() -> None:
            fresh.append(stream.put(child, b"x"))
            api.send(child, event())

        rang.while_waiting.append(put)
        assert query.batch() == [(child, fresh[0].sequence_number)]


@pytest.mark.parametrize("bounded", [True, False], ids=["availableNow", "once"])
def test_a_run_that_ends_has_no_bells(bounded: bool) -> None:
    """It waits for no record."""
    stream = FakeStream(FakeClock()).create(1)
    query, api = Planned([stream], settings=RARELY), Scripted()
    query.planner.listen({stream.name: api}, Signal(stream.clock))
    if bounded:
        query.planner.fix_targets()
    stream.put(next(iter(stream.shards)), b"x")
    assert len(query.batch(bounded=bounded)) == 1
    assert not query.batch(bounded=bounded)
    assert not api.asked


def test_the_end_of_a_planner_ends_its_bells() -> None:
    """With the next event, their connections are closed."""
    stream = FakeStream(FakeClock()).create(3)
    with followed(stream) as (query, api, _):
        query.planner.close()
        for shard_id in stream.shards:
            api.send(shard_id, event(0))
        wait_until(lambda: sorted(api.closed) == sorted(stream.shards), lambda: api.closed)
        assert len(api.asked) == 3


@define
class End(threading.Event):
    """Ends a bell, and notes how long it waits. Time is the clock's."""

    clock: FakeClock
    waits_s: list[float]
    most: int

    def __attrs_pre_init__(self) -> None:
        super().__init__()

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.waits_s.append(timeout)
        self.clock.sleep(timeout)
        if len(self.waits_s) == self.most:
            self.set()
        return self.is_set()


def listen(*what: Event, waits: int) -> tuple[Scripted, list[float], Bells]:
    """Let a bell receive each of *what*, and end after so many waits. Return its calls, for how long it waited, and the bells."""
    api, clock, waits_s = Scripted(), FakeClock(), list[float]()
    for each in what:
        api.send("shard", each)
    bells = Bells(
        "orders",
        api,
        clock,
        random.Random(0),
        threading.Event(),
        start=lambda run, _: run(),
        make_end=lambda: End(clock, waits_s, waits),
    )
    bells.watch(["shard"], ["shard"])
    return api, waits_s, bells


def test_a_subscription_follows_the_one_that_ended() -> None:
    """AWS ends each after 5 minutes, and refuses another one within 5 seconds."""
    api, waits_s, _ = listen(event(), None, event(), None, waits=2)
    assert len(api.asked) == 2
    assert waits_s == [5.0, 5.0]


@pytest.mark.parametrize(("what", "rings"), [(event(0), False), (event(1), True), (END, True)])
def test_what_rings_a_bell(what: Event, rings: bool) -> None:
    """An event without records, which comes every 5 seconds, does not. The end of a shard does: its children are to be read."""
    _, _, bells = listen(what, None, waits=1)
    assert bells.take() == ({"shard"} if rings else set())
    assert bells.rang.is_set() is rings
    assert not bells.take()


def hung(ends: list[threading.Event], most: int = 9) -> Bells:
    """Return bells without threads. *ends* gets what ends each of them."""

    def make_end() -> threading.Event:
        ends.append(threading.Event())
        return ends[-1]

    return Bells(
        "orders",
        Scripted(),
        FakeClock(),
        random.Random(0),
        threading.Event(),
        lambda *_: None,
        make_end,
        most,
    )


def test_a_bell_ends_with_its_shard() -> None:
    """It need not have rung: another query may have finished the shard before."""
    ends: list[threading.Event] = []
    bells = hung(ends)
    bells.watch(["a", "b"], ["a", "b"])
    bells.watch(["b", "c"], ["c"])
    assert [end.is_set() for end in ends] == [True, False, False]


def test_pauses_grow_while_subscriptions_fail() -> None:
    """Another reader has the shard's subscription, or the connection breaks. An event ends the growth: the next break is the first one."""
    api, waits_s, _ = listen(IN_USE, IN_USE, BROKEN, IN_USE, IN_USE, IN_USE, event(0), BROKEN, waits=7)
    assert len(api.asked) == 7
    assert [5 * 2**n <= wait_s <= 10 * 2**n for n, wait_s in enumerate(waits_s[:4])] == [True] * 4
    assert all(60 <= wait_s <= 120 for wait_s in waits_s[4:6])
    assert 5 <= waits_s[6] <= 10


def test_failures_in_a_row_are_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """Another reason is another line. The line names the consumer, the shard and the reason."""
    with caplog.at_level(logging.WARNING, "kinesis_core"):
        listen(IN_USE, IN_USE, BROKEN, BROKEN, None, BROKEN, waits=6)
    lines = [record.getMessage() for record in caplog.records]
    codes = ["ResourceInUseException", "ProtocolError", "ProtocolError"]
    assert len(lines) == 3
    for line, code in zip(lines, codes, strict=True):
        assert line.startswith("bell.failed")
        assert all(part in line for part in (f"code={code}", "shard=shard", "stream=orders", "consumer/me"))


def test_a_consumer_that_is_removed_rings_no_more() -> None:
    """The bell ends. The shard is looked at as without it."""
    api, waits_s, _ = listen(REMOVED, waits=1)
    assert len(api.asked) == 1
    assert not waits_s


def test_only_so_many_shards_have_bells() -> None:
    """A bell that ends makes room for another one."""
    ends: list[threading.Event] = []
    bells = hung(ends, most=2)
    bells.watch(["a", "b", "c"], ["a", "b", "c"])
    assert len(ends) == 2
    bells.watch(["b", "c"], ["b", "c"])
    assert [end.is_set() for end in ends] == [True, False, False]


@pytest.mark.parametrize("late", [True, False], ids=["after its thread began", "before"])
def test_a_stop_while_bells_are_hung(late: bool) -> None:
    """A plan may be made ahead in that moment. None of its bells stays."""
    ends: list[threading.Event] = []
    bells = hung(ends)
    make_end = bells.make_end

    def stop() -> threading.Event:
        if ends and not late:
            bells.close()
        return make_end()

    bells.make_end = stop
    bells.start = lambda *_: bells.close() if late and len(ends) == 2 else None
    bells.watch("abc", "abc")
    assert [end.is_set() for end in ends] == [True, True]
    bells.watch("abcd", "abcd")
    assert len(ends) == 2


def test_what_comes_after_the_end_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    """The consumer is removed just after the bells end, which ends the subscriptions that are still open."""
    ends: list[threading.Event] = []

    @define
    class Removed(Scripted):
        def subscribe(
            self, shard_id: str, cut: Cut | Latest, with_data: bool = True
        ) -> Generator[SubscribedPage, None, None]:
            ends[0].set()
            self.send(shard_id, REMOVED)
            return super().subscribe(shard_id, cut, with_data)

    bells = hung(ends)
    bells.api, bells.start = Removed(), lambda run, _: run()
    bells.watch(["shard"], ["shard"])
    assert len(bells.api.asked) == 1
    assert not caplog.records


def test_no_thread_for_a_bell(caplog: pytest.LogCaptureFixture) -> None:
    """A process that may have no further thread hangs no more bells, and says so once."""

    def refuse(_run: Callable[[], object], _name: str) -> None:
        raise ProcessLimitError("No thread.")

    bells = Bells("orders", Scripted(), FakeClock(), random.Random(0), threading.Event(), refuse)
    with caplog.at_level(logging.WARNING, "kinesis_core"):
        bells.watch(["a", "b"], ["a", "b"])
    assert len(caplog.records) == 1
    assert "No thread." in caplog.text
