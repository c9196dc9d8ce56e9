"""When a batch is held back, and for how long."""

from __future__ import annotations

import pytest
from attrs import define, evolve, field

from kinesis_core.errors import DataLossError
from kinesis_core.model import After, Cut, Estimate, Offset, ShardEnd, ShardOffset, StreamOffset
from kinesis_core.planning import BatchGate
from kinesis_core.planning.pacing import PLAN_PERIOD_S
from kinesis_core.planning.schedule import LastPlan
from kinesis_core.planning.settings import FULL_MS
from support.fake_stream import FakeClock
from support.planned import Planned
from support.scripted_stream import scripted_stream, throttle

A, B, C = (f"shardId-{i:012d}" for i in range(3))
DELAY_S = 10.0
MINIMUM = 100


def part(records: int, age_ms: int | None = 0, cut: Cut | None = None) -> ShardOffset:
    """Return what a batch takes of a shard."""
    return ShardOffset(cut or After(records), 1, first=1, estimate=Estimate(records, age_ms))


def offset(*shards: ShardOffset, stream: str = "orders") -> Offset:
    return Offset({stream: StreamOffset(1, dict(zip((A, C), shards, strict=False)))})


START = offset(ShardOffset(After(0), 1), ShardOffset(After(0), 1))


@define
class ScriptedPlanner:
    """Plans what the test says; nothing is new until then."""

    clock: FakeClock = field(factory=FakeClock)
    end: Offset | None = None
    error: Exception | None = None
    last_plan: LastPlan = field(factory=lambda: LastPlan(0.5, 1, 4))
    is_awaited: bool = True
    lag: int = 0
    asked: list[tuple[float, Offset, bool]] = field(factory=list)

    def set_awaited(self, is_awaited: bool) -> None:
        self.is_awaited = is_awaited

    def next_offset(self, start: Offset, *, bounded: bool = True) -> Offset:
        self.asked.append((self.clock.now, start, bounded))
        if self.error is not None:
            raise self.error
        return self.end or start

    def lag_ms(self) -> dict[str, dict[str, int]]:
        return {"orders": {A: self.lag, B: 3_600_000}}


@pytest.fixture
def planner() -> ScriptedPlanner:
    return ScriptedPlanner()


@pytest.fixture
def gate(planner: ScriptedPlanner) -> BatchGate:
    """A gate that has let a batch through just now."""
    gate = BatchGate(planner, MINIMUM, DELAY_S, planner.clock)
    planner.end = offset(part(1))
    assert gate.next_offset(START) is planner.end
    planner.end = None
    return gate


def waited_s(gate: BatchGate, planner: ScriptedPlanner) -> float:
    """Return how long it takes until a batch is let through that begins at START."""
    started_s = planner.clock.now
    while gate.next_offset(START) is START:
        assert planner.clock.now - started_s < 100 * DELAY_S
    return planner.clock.now - started_s


def test_the_first_batch_of_a_run_does_not_wait(planner: ScriptedPlanner) -> None:
    """A run may be a single batch, as with Trigger.Once, and records may have waited while the query was down."""
    gate = BatchGate(planner, MINIMUM, DELAY_S, planner.clock)
    assert gate.next_offset(START) is START
    planner.end = offset(part(1))
    assert gate.next_offset(START, bounded=False) is planner.end


def test_enough_records_do_not_wait(gate: BatchGate, planner: ScriptedPlanner) -> None:
    """The minimum counts over all shards."""
    planner.end = offset(part(60), part(39))
    assert gate.next_offset(START) is START
    planner.end = offset(part(60), part(40))
    assert waited_s(gate, planner) == PLAN_PERIOD_S


def test_streams_are_counted_together(gate: BatchGate, planner: ScriptedPlanner) -> None:
    """The minimum counts over all streams."""
    orders, returns = offset(part(50)), offset(part(50), stream="returns")
    planner.end = Offset({**orders.streams, **returns.streams})
    assert gate.next_offset(START) is planner.end


def test_a_stream_without_news_lets_nothing_through(gate: BatchGate, planner: ScriptedPlanner) -> None:
    """Its positions still say where an earlier batch began, and are no part of this one."""
    idle = Offset({"returns": StreamOffset(1, {A: ShardOffset(After(9), 1, first=3)})})
    start = Offset({**START.streams, **idle.streams})
    planner.end = Offset({**offset(part(1)).streams, **idle.streams})
    assert gate.next_offset(start) is start


def test_what_the_batch_does_not_take_does_not_count(gate: BatchGate, planner: ScriptedPlanner) -> None:
    """A shard that stays where an earlier batch ended adds nothing."""
    planner.end = offset(part(60), part(40).carried_over())
    assert gate.next_offset(START) is START


def test_few_records_wait_for_the_delay(gate: BatchGate, planner: ScriptedPlanner) -> None:
    """Two batches of a trickle are as far apart as the delay, to the moment."""
    planner.end = offset(part(1))
    assert waited_s(gate, planner) == DELAY_S
    assert waited_s(gate, planner) == DELAY_S


def test_a_record_after_a_long_silence_does_not_wait(gate: BatchGate, planner: ScriptedPlanner) -> None:
    """The last batch is longer ago than the delay, so another one costs no more than the user allows."""
    planner.clock.sleep(DELAY_S)
    gate.next_offset(START)
    planner.end = offset(part(1))
    assert gate.next_offset(START) is planner.end


@pytest.mark.parametrize("age_s", [0.0, 4.0, 9.5])
def test_a_record_that_has_waited_elsewhere_waits_less(
    age_s: float, gate: BatchGate, planner: ScriptedPlanner
) -> None:
    """What a batch could not take, for a throttle or for its size, has the time counted that it waited already."""
    started_s = planner.clock.now
    while True:
        age_ms = round(1000 * (planner.clock.now - started_s + age_s))
        planner.end = offset(part(1), part(1, age_ms))
        if gate.next_offset(START) is planner.end:
            break
        assert planner.clock.now < started_s + DELAY_S
    assert planner.clock.now - started_s <= DELAY_S - age_s + PLAN_PERIOD_S


def test_a_throttled_shard_waits_no_second_time() -> None:
    """A record that is left out when the delay is over comes as soon as its shard can be read, and waits for no new delay."""
    stream = scripted_stream(2)
    query = Planned([stream])
    gate = BatchGate(query.planner, MINIMUM, 60.0, stream.clock)
    stream.put(A, b"x")
    query.start = gate.next_offset(query.start)
    put_s = stream.clock.now
    stream.put(A, b"x")
    left_out = stream.put(B, b"x")
    while (end := gate.next_offset(query.start)) is query.start:
        if stream.clock.now > put_s + 58:
            stream.fail("GetRecords", B, [throttle()])
    assert stream.clock.now == pytest.approx(put_s + 60, abs=1)
    assert left_out.sequence_number not in str(query.read(query.start, end))
    while (later := gate.next_offset(end)) is end:
        pass
    assert query.read(end, later) == [(B, left_out.sequence_number)]
    assert stream.clock.now < put_s + 70


def test_a_backlog_does_not_wait(gate: BatchGate, planner: ScriptedPlanner) -> None:
    """Records that are older than the delay pass, however few of them the limits let into a batch."""
    planner.end = offset(part(1, age_ms=10_000))
    assert gate.next_offset(START) is planner.end


def test_a_batch_that_cannot_grow_does_not_wait(gate: BatchGate, planner: ScriptedPlanner) -> None:
    """A limit ends it before the tip, so that more records would be in the next one; other shards do not count."""
    planner.end = offset(part(1))
    planner.lag = FULL_MS - 1
    assert gate.next_offset(START) is START
    planner.lag = FULL_MS
    assert gate.next_offset(START) is planner.end


def test_records_without_an_arrival_time_do_not_wait(gate: BatchGate, planner: ScriptedPlanner) -> None:
    """Where Kinesis does not say when they came, no promise could be kept."""
    planner.end = offset(part(1, age_ms=None))
    assert gate.next_offset(START) is planner.end


def test_an_unknown_number_of_records_does_not_wait(gate: BatchGate, planner: ScriptedPlanner) -> None:
    """A part of a batch without an estimate lets it through."""
    planner.end = offset(part(1), evolve(part(1), estimate=None))
    assert gate.next_offset(START) is planner.end


@pytest.mark.parametrize("finished", [part(1, cut=ShardEnd()), ShardOffset(ShardEnd())])
def test_the_end_of_a_shard_does_not_wait(
    finished: ShardOffset, gate: BatchGate, planner: ScriptedPlanner
) -> None:
    """With or without records in it: the children are read after it, and their records wait meanwhile."""
    planner.end = offset(part(1), finished)
    assert gate.next_offset(START) is planner.end


def test_shards_that_ended_long_ago_are_no_reason(gate: BatchGate, planner: ScriptedPlanner) -> None:
    """A finished shard stays in the offset for a while."""
    start = offset(ShardOffset(After(0), 1), ShardOffset(ShardEnd()))
    planner.end = offset(part(1), ShardOffset(ShardEnd()))
    assert gate.next_offset(start) is start


def test_a_batch_without_records_does_not_wait(gate: BatchGate, planner: ScriptedPlanner) -> None:
    """An idle query writes down now and then that nothing came."""
    planner.end = offset(ShardOffset(After(0), 2))
    assert gate.next_offset(START) is planner.end


def test_an_error_does_not_wait(gate: BatchGate, planner: ScriptedPlanner) -> None:
    """Lost records stop the query at the next look."""
    planner.end = offset(part(1))
    assert gate.next_offset(START) is START
    planner.error, started_s = DataLossError("gone"), planner.clock.now
    with pytest.raises(DataLossError):
        gate.next_offset(START)
    assert planner.clock.now == started_s + PLAN_PERIOD_S


def test_looks_are_gentle(gate: BatchGate, planner: ScriptedPlanner) -> None:
    """While a batch is held back it is planned once a second, from the same start."""
    planner.end = offset(part(1))
    planner.asked.clear()
    waited_s(gate, planner)
    assert len(planner.asked) == 1 + DELAY_S / PLAN_PERIOD_S
    assert all((start, bounded) == (START, True) for _, start, bounded in planner.asked)


def test_an_open_gate_holds_nothing_back(gate: BatchGate, planner: ScriptedPlanner) -> None:
    """AvailableNow ends when it has read what is there, so none of its batches waits for more."""
    gate.open()
    planner.end = offset(part(1))
    for _ in range(3):
        assert waited_s(gate, planner) == 0


def test_a_minimum_of_one_is_no_gate(planner: ScriptedPlanner) -> None:
    """The default changes nothing."""
    gate = BatchGate(planner, 1, DELAY_S, planner.clock)
    for _ in range(3):
        planner.end = offset(part(1))
        assert waited_s(gate, planner) == 0
        planner.end = None
        assert gate.next_offset(START) is START


def test_a_plan_that_nobody_took_is_let_through_again(gate: BatchGate, planner: ScriptedPlanner) -> None:
    """A batch that is planned ahead and thrown away passes again: its records have still waited for long enough."""
    planner.end = offset(part(1, age_ms=10_000))
    for _ in range(2):
        assert gate.next_offset(START) is planner.end


def test_its_planner_speaks_through_it(gate: BatchGate, planner: ScriptedPlanner) -> None:
    """How long planning takes, what it leaves out and the lag are what the planner returns; who waits is what it is told."""
    assert gate.last_plan == planner.last_plan
    for is_awaited in (False, True):
        gate.set_awaited(is_awaited)
        assert planner.is_awaited == is_awaited
    assert gate.lag_ms() == planner.lag_ms()
