"""The life of a producer: whatever ends it, in whatever order and at whatever instruction, it only goes on."""

from __future__ import annotations

import logging
import random
import sys
import threading
from collections.abc import Callable
from itertools import count
from types import FrameType
from typing import Any

from attrs import define, field
from hypothesis import given, settings, strategies as st

from kinesis_core import Producer, ProducerClosedError, ProducerSettings, PutError
from kinesis_core.producing import SenderGroup
from kinesis_core.producing.sender import Sender, Stage
from kinesis_core.termination import TERMINATION
from support.examples import examples
from support.fake_puts import FakePuts
from support.fake_stream import FakeClock
from unit.kinesis_core.producing.numbered import deny


class Alone(SenderGroup):
    """A group without threads: a caller that waits makes the calls. At one of its waits, *signal* is called."""

    has_threads = True
    signals_after = -1
    signal: Callable[[], object]

    def start(self) -> None:
        self.progress = _Waiting(self)


class _Waiting(threading.Condition):
    def __init__(self, group: Alone) -> None:
        super().__init__(group.lock)
        self.group = group

    def wait(self, timeout: float | None = None) -> bool:  # noqa: ARG002 # the condition's
        if not self.group.signals_after:
            self.group.signal()
        self.group.signals_after -= 1
        assert self.group.signals_after > -1_000, "the caller waits for ever"
        taken = self.group._take(self.group.clock.now_s())
        if taken is None:
            self.group.clock.sleep(0.5)
        else:
            self.group._make(*taken)
        return True


@define
class Life:
    puts: FakePuts = field(factory=FakePuts)
    group: Alone = field(factory=lambda: Alone(1, FakeClock()))
    writing: Producer = field(init=False)
    stages: list[Stage] = field(factory=list)
    accepted: set[bytes] = field(factory=set)
    told: list[str] = field(factory=list)
    """Who got the failure, one after the other."""

    def __attrs_post_init__(self) -> None:
        self.puts.create(1)
        self.group.start()
        held = ProducerSettings(record_max_buffered_time_s=3_600, record_ttl_s=14_400)
        self.writing = Producer(
            self.puts, held, clock=self.group.clock, rng=random.Random(0), group=self.group
        )
        self.group.signal = self.end

    @property
    def stage(self) -> Stage:
        return self.writing._sender.stage

    def run(self, event: str) -> None:
        was = self.stage
        try:
            getattr(self, event)()
        except PutError:
            self.told.append(event)
        except ProducerClosedError:
            assert was > Stage.OPEN
        self.stages.append(self.stage)

    def put(self) -> None:
        data = b"%d" % len(self.accepted)
        was = self.stage
        self.writing.put(data)
        assert was is Stage.OPEN
        self.accepted.add(data)

    def flush(self) -> None:
        self.writing.flush()
        assert set(self.puts.copies()) == self.accepted

    def deny(self) -> None:
        self.puts.before_put = deny

    def close(self) -> None:
        self.writing.close()

    def abort(self) -> None:
        self.writing.abort()

    def end(self) -> None:
        """A signal, or the garbage collector."""
        self.writing._sender.end_soon()

    def exit(self) -> None:
        self.writing._sender.end_soon()
        self.writing._sender.join()


EVENTS = ["put", "flush", "deny", "close", "abort", "end", "exit"]


@settings(deadline=None, max_examples=examples(300))
@given(st.lists(st.sampled_from(EVENTS), max_size=8), st.integers(-1, 6))
def test_a_life_goes_on(events: list[str], signals_after: int) -> None:
    """No stage comes back, what is accepted is written or its loss is told, and only the log or a caller tells it."""
    life = Life()
    messages = _Messages(life.told)
    life.group.signals_after = signals_after
    log = logging.getLogger("kinesis_core")
    log.addHandler(messages)
    try:
        for event in [*events, "exit"]:
            life.run(event)
    finally:
        log.removeHandler(messages)
    assert life.stages == sorted(life.stages)
    assert life.stage is Stage.STOPPED
    assert life.writing._sender not in TERMINATION._writers
    failure = life.writing._sender.accumulator.failure
    assert "log" not in life.told[1:]
    assert "close" not in life.told[1:]
    assert bool(life.told) == (failure is not None) or "abort" in events
    if failure is None and "abort" not in events:
        assert set(life.puts.copies()) == life.accepted


class _Messages(logging.Handler):
    def __init__(self, told: list[str]) -> None:
        super().__init__()
        self.told = told

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage().startswith("records.lost"):
            self.told.append("log")


def test_a_signal_at_any_instruction() -> None:
    """Wherever a signal interrupts a caller that closes, its request is not lost."""
    for instruction in count(1):
        sender = Life().writing._sender
        has_more = _interrupt(sender, Stage.CLOSING, instruction, Stage.ENDING)
        if not has_more:
            return
        assert sender.stage is Stage.ENDING


def _interrupt(sender: Sender, stage: Stage, instruction: int, by: Stage) -> bool:
    """Reach *stage*. Before an *instruction* of that, another call reaches *by*. Returns False if there are fewer."""
    left = instruction

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        frame.f_trace_opcodes = True
        left -= event == "opcode"
        if event == "opcode" and not left:
            sender.reach(by)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        sender.reach(stage)
    finally:
        sys.settrace(before)
    return left <= 0
