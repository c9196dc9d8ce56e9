"""Plays a script: waits for the right moment, kills, and keeps the driver running."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from attrs import define, field

from support.processes import Process, executors, marked, python_workers
from tools.chaos.driver import Driver, End, Progress
from tools.chaos.job import DRAIN, HOLD, RESTING, RUNS, SOURCE
from tools.chaos.kinesis import DEADLINE_S, Kinesis
from tools.chaos.producing import ACKNOWLEDGED, STOP
from tools.chaos.script import KINDS, Faults, Kill, Kind, Merge, Round, Scale, Split


@define
class Play:
    """A run in progress."""

    folder: Path
    mark: str
    kinesis: Kinesis
    driver: Driver
    producer: subprocess.Popen[bytes]
    say: Callable[[str], None]
    kills: Counter[Kind] = field(factory=lambda: Counter(dict.fromkeys(KINDS, 0)))
    reshards: int = 0
    """The number of splits and merges that were played."""
    ends: list[End] = field(factory=list)
    """How the driver ended by itself, each time."""

    # Phases of a run -----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the driver, and wait until each query has finished a batch."""
        self.driver.start()
        self._wait_progress()

    def round(self, played: Round) -> None:
        """Take all steps. Then wait until each query has finished a batch, because both must make progress."""
        if played.available_now:
            (self.folder / RUNS).touch()
        else:
            (self.folder / RUNS).unlink(missing_ok=True)
        for step in played.steps:
            self._pause(step.pause_s)
            match step.action:
                case Kill(kind, pick):
                    self._kill(kind, pick)
                case Split(pick):
                    self._reshard(pick, splits=True)
                case Merge(pick):
                    self._reshard(pick, splits=False)
                case Scale(targets):
                    self._scale(targets)
                case Faults(share, seed):
                    self.kinesis.set_faults(share, seed)
        self._wait_progress()

    def drain(self) -> None:
        """Stop faults and records. Wait until everything is processed and the driver has ended."""
        self.kinesis.set_faults(0, 0)
        (self.folder / STOP).touch()
        assert self.producer.wait(DEADLINE_S) == 0, (self.folder / "producer.log").read_text()
        (self.folder / DRAIN).touch()
        self._wait(lambda: self.driver.exit_code() == 0, "end of the driver")

    def left_behind(self) -> list[str]:
        """Return a line for each process that survives the driver for long. Executors and their Python workers must not."""
        deadline = time.monotonic() + DEADLINE_S
        while found := _of_executors(self.mark):
            if time.monotonic() > deadline:
                return [f"left behind: {process.command}" for process in found]
            time.sleep(0.1)
        return []

    def progress(self) -> Progress:
        return Progress.of(self.folder)

    def describe(self) -> str:
        killed = ", ".join(f"{kind} {self.kills[kind]}" for kind in KINDS)
        facts = f"{self.kinesis.faults} faults, {len(self.ends)} restarts, {self.progress().batches} batches"
        return f"killed {killed}; {facts}"

    def _reshard(self, pick: float, *, splits: bool) -> None:
        self.kinesis.reshard(SOURCE, pick, splits=splits)
        self.reshards += 1

    def _scale(self, targets: Iterable[int]) -> None:
        """Change the number of shards after the end of a run, and let the next one begin when all generations have records."""
        hold, resting = self.folder / HOLD, self.folder / RESTING
        hold.touch()
        self._wait(resting.exists, "end of a run")
        for target in targets:
            self.reshards += self.kinesis.scale(SOURCE, target)
            self._wait_records()
        hold.unlink()
        self._wait(lambda: not resting.exists(), "next run")

    # Killing ---------------------------------------------------------------------------------------------------

    def _kill(self, kind: Kind, pick: float) -> None:
        """Kill one of *kind* once there is one and a batch runs, so that it dies in the middle of the batch."""
        self._wait(lambda: self._is_busy() and self._try_kill(kind, pick), f"{kind} to kill in a batch")
        self.kills[kind] += 1

    def _try_kill(self, kind: Kind, pick: float) -> bool:
        if kind == "driver":
            return self.driver.restart()
        if kind == "emulator":
            return self.kinesis.restart()
        find = executors if kind == "executor" else python_workers
        victims = find(marked(self.mark))
        return bool(victims) and victims[int(pick * len(victims))].kill()

    def _is_busy(self) -> bool:
        """Whether the queries have started and run a batch, a new or a repeated one."""
        return self.driver.has_started and self.progress().is_busy

    # Waiting ---------------------------------------------------------------------------------------------------

    def _wait_progress(self) -> None:
        before = self.progress().finished
        self._wait(lambda: all(map(int.__gt__, self.progress().finished, before)), "batch of each query")

    def _wait_records(self) -> None:
        """Wait until the producer has put a record of each key twice: the first ones may have been under way."""
        sizes: set[int] = set()

        def has_grown_twice() -> bool:
            sizes.add((self.folder / ACKNOWLEDGED).stat().st_size)
            return len(sizes) > 2

        self._wait(has_grown_twice, "records")

    def _pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        self._wait(lambda: time.monotonic() >= until, "end of a pause")

    def _wait(self, is_so: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not is_so():
            self._keep_driver()
            assert time.monotonic() < deadline, f"no {what} in {DEADLINE_S:.0f} s:\n{self.driver.end().words}"
            time.sleep(0.02)

    def _keep_driver(self) -> None:
        """Restart the driver when it ended by itself, as its operators do. The verdict says whether it had to."""
        if not self.driver.exit_code():
            return
        self.ends.append(self.driver.end())
        self.say(f"the driver ended by itself: {self.ends[-1].words}")
        self.driver.start()


def _of_executors(mark: str) -> list[Process]:
    """Return executors, and Python processes that Spark started."""
    found = marked(mark)
    return [*executors(found), *(process for process in found if " -m pyspark." in process.command)]
