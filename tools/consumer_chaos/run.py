"""One run: a stream, workers that share it, and what happens to them."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

from attrs import define

from kinesis_emulator import EmulatorProcess
from support.paths import python_path
from tools.consumer_chaos.load import Load
from tools.consumer_chaos.outcome import Outcome
from tools.consumer_chaos.script import Plan
from tools.consumer_chaos.verdict import StoredRecord, judge, uncommitted
from tools.consumer_chaos.workers import Workers

TURN_S = 0.1
PATIENCE_S = 300.0
"""Workers that commit nothing for so long hang."""


def run(plan: Plan, folder: Path, say: Callable[[str], None]) -> Outcome:
    """Play *plan*, and judge what the workers did. No process survives it."""
    with ExitStack() as stack:
        emulator = stack.enter_context(EmulatorProcess())
        load = stack.enter_context(closing(Load(emulator.endpoint_url)))
        workers = Workers(plan.workers, emulator.endpoint_url, folder, _environment(folder))
        stack.callback(workers.kill_all)
        play = _Play(plan, load, workers, say)
        play.play()
        stored = list(load.read())
        play.drain(stored)
        workers.stop_all()
        return play.outcome(stored)


def _environment(folder: Path) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {
        **inherited,
        "PYTHONPATH": python_path(),
        "PYTHONPYCACHEPREFIX": str(folder / "pycache"),
        "AWS_EC2_METADATA_DISABLED": "true",
        "KINESIS_LOG_LEVEL": "INFO",
    }


@define
class _Play:
    plan: Plan
    load: Load
    workers: Workers
    say: Callable[[str], None]
    started_s: float = 0.0

    def play(self) -> None:
        """Write, strike and reshard until all that was planned is done."""
        rng = random.Random(self.plan.seed)
        self.started_s = time.monotonic()
        while not self.workers.are_reading():
            self.workers.fill()
            time.sleep(TURN_S)
        strikes, turns = self.plan.strikes(), self.plan.turns()
        done = 0
        for turn in range(turns):
            turn_ends_s = time.monotonic() + TURN_S
            self.workers.fill()
            self.load.write((self.plan.records - self.load.written) // (turns - turn) or 1)
            for strike in [each for each in strikes[done:] if each.turn <= turn]:
                done += 1
                self._do(strike.kind, rng)
                if done % 20 == 0:
                    self.say(f"{done} of {len(strikes)}, {self.load.written} records")
            time.sleep(max(0.0, turn_ends_s - time.monotonic()))
        while self.load.written < self.plan.records:
            self.load.write(self.plan.records - self.load.written)

    def drain(self, stored: list[StoredRecord]) -> None:
        """Wait until the workers have committed everything that is in the stream."""
        left, deadline_s = len(stored), time.monotonic() + PATIENCE_S
        while found := uncommitted(stored, self.workers.deliveries(), self.workers.written()):
            if len(found) < left:
                left, deadline_s = len(found), time.monotonic() + PATIENCE_S
            if time.monotonic() > deadline_s:
                self.workers.problems.append(
                    f"{left} records are not committed, and none was for {PATIENCE_S:.0f} s"
                )
                return
            self.workers.fill()
            time.sleep(TURN_S)

    def outcome(self, stored: list[StoredRecord]) -> Outcome:
        deliveries, written = self.workers.deliveries(), self.workers.written()
        problems = [*self.workers.problems, *judge(stored, self.plan.records, deliveries, written)]
        return Outcome.of(
            deliveries,
            self.workers.incidents,
            records=len(stored),
            reshards=self.load.reshards,
            seconds=time.monotonic() - self.started_s,
            problems=tuple(problems),
            evidence=tuple(self.workers.evidence()) if problems else (),
        )

    def _do(self, kind: str, rng: random.Random) -> None:
        if kind == "reshard":
            self.load.reshard(rng)
        else:
            self.workers.strike(kind, rng)
