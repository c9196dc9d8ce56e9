"""The calls of a producer, with any number of them out at once, and results in any order: what always holds."""

from __future__ import annotations

import random

from attrs import define, field
from hypothesis import given, settings, strategies as st

from kinesis_core.errors import ThrottledError, UnavailableError
from kinesis_core.model import MAX_PUT_RECORDS
from kinesis_core.producing import ProducerSettings
from kinesis_core.producing.dispatcher import CallResult, Describe, ListShards, Put, StreamCall, make
from kinesis_core.producing.rows import Rows
from kinesis_core.producing.shard_queue import REQUEST_BYTES
from support.examples import examples
from support.fake_puts import Desk, FakePuts, FaultRates

ROWS = 20
BUFFER_BYTES = 4_000
EVENTS = ["put", "put", "take", "take", "take", "carry out", "respond", "respond", "lose", "throttle"]
events = st.lists(
    st.tuples(
        st.sampled_from([*EVENTS, "flush", "pause", "silence", "split", "merge", "hide", "distribute"]),
        st.integers(0, 7),
    ),
    max_size=60,
)
fault_rates = st.builds(
    FaultRates, refused_records=st.sampled_from([0, 20]), failed_records=st.sampled_from([0, 10])
)


@define(eq=False)
class Sent:
    """A call that is out. The stream carries it out at any time before its response."""

    call: StreamCall
    result: CallResult | None = None


@define(eq=False)
class History:
    """A producer, its stream, and the calls that are out."""

    desk: Desk
    sent: list[Sent] = field(factory=list)
    put: int = 0
    lost: int = 0
    """User records of requests that were carried out, and whose responses were lost."""

    def happen(self, event: str, index: int) -> None:
        one = self.sent[index % len(self.sent)] if self.sent else None
        match event:
            case "put":
                self._offer()
            case "take":
                self._take()
            case "flush":
                self.desk.accumulator.begin_generation()
            case "pause":
                self.desk.clock.sleep(0.1 * index)
            case "silence":
                self.desk.clock.sleep(6.0)
            case "carry out" | "respond" | "lose" | "throttle":
                if one is not None:
                    self._go_on(event, one)
            case _:
                self._change_stream(event, index)
        self._check()

    def _go_on(self, event: str, one: Sent) -> None:
        """Let a call that is out be carried out, or have a response, or lose it."""
        stored = sum(self.desk.puts.copies().values())
        if event == "throttle" and one.result is None:
            self._respond(one, ThrottledError("Rate exceeded.", "LimitExceededException"))
            return
        is_new = one.result is None
        one.result = one.result or self._carry_out(one.call)
        if event == "respond":
            self._respond(one, one.result)
        elif event == "lose" and is_new and isinstance(one.call, Put):
            self.lost += sum(self.desk.puts.copies().values()) - stored
            self._respond(one, UnavailableError("Read timed out.", "ReadTimeoutError"))

    def _change_stream(self, event: str, index: int) -> None:
        puts, opened = self.desk.puts, self.desk.puts.open_shards()
        if event == "split":
            puts.split(opened[index % len(opened)])
        elif event == "hide":
            puts.holes = index
        elif event == "distribute":
            puts.is_auto = not puts.is_auto
        elif len(opened) > 1:
            puts.merge(*opened[index % (len(opened) - 1) :][:2])

    def finish(self) -> None:
        """Let everything be carried out and responded to."""
        self.desk.puts.fault_rates = FaultRates()
        while self.sent:
            self.happen("respond", 0)
        self.desk.flush()
        self._check()

    def _offer(self) -> None:
        accumulator = self.desk.accumulator
        numbers = range(self.put, self.put + ROWS)
        rows = Rows([b"%d" % n for n in numbers], [f"key-{n % 37}" for n in numbers])
        groups = accumulator.group(rows)
        left = accumulator.offer(groups, self.desk.clock.now)
        self.put += ROWS
        while left:  # a caller that waits for room
            accumulator.waiting_callers += 1
            self.desk.clock.sleep(0.5)
            self._take()
            if self.sent:
                self._go_on("respond", self.sent[0])
            left = accumulator.offer(left, self.desk.clock.now)
            accumulator.waiting_callers -= 1

    def _take(self) -> None:
        call = self.desk.dispatcher.take(self.desk.clock.now)
        if call is not None:
            self.sent.append(Sent(call))
        if isinstance(call, Put):
            self._check_request(call)

    def _carry_out(self, call: StreamCall) -> CallResult:
        return make(self.desk.puts, "orders", call)

    def _respond(self, sent: Sent, result: CallResult) -> None:
        self.sent.remove(sent)
        self.desk.dispatcher.on_result(sent.call, result, self.desk.clock.now)

    def _check_request(self, call: Put) -> None:
        """A request is within its limits, and sends nothing to a shard that does not own it by the map."""
        router = self.desk.accumulator.router
        assert sum(len(batch.entries) for batch in call.batches) <= MAX_PUT_RECORDS
        assert sum(batch.size_bytes for batch in call.batches) <= REQUEST_BYTES
        for batch in call.batches:
            queue = batch.queue
            assert not queue.is_gone
            assert queue.shard_id in router.shards.open_shards
            assert router.is_auto or not router.misplaced(batch.rows(), queue.shard_id)
            assert queue._in_flight_records == 1 or queue._in_flight_bytes <= queue.window.request_bytes
            assert queue._in_flight_records == 1 or queue._in_flight_records <= queue.window.request_records

    def _check(self) -> None:
        """Each user record is written or held, and once. One call finds out about the stream at a time."""
        accumulator = self.desk.accumulator
        assert accumulator.failure is None
        totals = accumulator.counts.totals
        assert totals["user_records"] + accumulator.held_records == self.put
        assert (
            accumulator.counts.buffer.held_bytes == accumulator.counts.held_bytes < BUFFER_BYTES + ROWS * 20
        )
        assert sum(isinstance(one.call, (ListShards, Describe)) for one in self.sent) <= 1


@settings(deadline=None, max_examples=examples(200))
@given(events, fault_rates, st.booleans(), st.booleans(), st.integers(1, 4), st.integers(0, 2**32))
def test_any_order_of_events(
    history: list[tuple[str, int]],
    rates: FaultRates,
    aggregated: bool,
    is_auto: bool,
    shards: int,
    seed: int,
) -> None:
    """
    Requests are within their limits and by the newest map, each user record counts once, and in the end all are written.
    Every copy is explained by a lost response or a misplaced aggregate, and the KCL delivers each at least once.
    """
    puts = FakePuts(random.Random(seed), rates, is_auto=is_auto).create(shards)
    settings_ = ProducerSettings(
        aggregation_enabled=aggregated,
        aggregation_max_size=200,
        buffer_bytes=BUFFER_BYTES,
        record_ttl_s=10**6,
    )
    played = History(Desk.open(puts, settings_, seed))
    for event, index in history:
        played.happen(event, index)
    played.finish()
    totals = played.desk.accumulator.counts.take_totals()
    numbers = {b"%d" % number for number in range(played.put)}
    assert totals.user_records == played.put
    assert set(puts.copies()) == {record.data for record in puts.kcl_user_records()} == numbers
    assert sum(puts.copies().values()) - played.put == played.lost + totals.misplaced
    assert played.desk.accumulator.counts.held_bytes == 0
