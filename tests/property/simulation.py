"""
Programs with several threads over one simulated time, of which one runs at a time: their histories can be repeated exactly.

A thread runs until it sleeps, or waits for its turn. Then the one that is due first runs. So threads meet where they
make calls, which take simulated time, and each meeting that calls allow can be produced.
"""

from __future__ import annotations

import heapq
import threading
from collections import deque
from collections.abc import Callable
from types import TracebackType

from attrs import define, field

from support.fake_stream import FakeClock


class Killed(BaseException):
    """The process of this thread was killed."""


@define(eq=False)
class Process:
    """Several threads with a clock that was started at a time of its own."""

    name: str
    simulation: Simulation
    offset_s: float = 0.0
    is_dead: bool = False
    paused_until_s: float = 0.0
    tasks: list[Task] = field(factory=list)

    def now_s(self) -> float:
        return self.simulation.clock.now + self.offset_s

    def sleep(self, seconds: float) -> None:
        self.simulation.sleep(seconds)

    def start(self, name: str, run: Callable[[], None]) -> None:
        """Start a thread of this process."""
        task = Task(f"{self.name} {name}", self, self.simulation, run)
        self.tasks.append(task)
        self.simulation.begin(task)

    def kill(self) -> None:
        """Let all threads end where they are: no further call is made."""
        self.is_dead = True
        for task in self.tasks:
            if not task.has_ended and task is not self.simulation.running:
                self.simulation.schedule(task, 0)

    def wake(self) -> None:
        """Let all threads run that `wait`."""
        for task in self.tasks:
            if task.is_waiting:
                self.simulation.schedule(task, 0)


@define(eq=False)
class Task:
    """One thread."""

    name: str
    process: Process | None
    simulation: Simulation
    run: Callable[[], None] = field(default=lambda: None)
    is_waiting: bool = False
    """Whether it sleeps only until something changes."""
    has_ended: bool = False
    version: int = 0
    """Counts the times for which it was scheduled; only the last one counts."""
    baton: threading.Lock = field(factory=threading.Lock)
    """It is released when the task is to run."""
    thread: threading.Thread = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.baton.acquire()
        self.thread = threading.Thread(target=self._run, name=self.name, daemon=True)

    @property
    def is_killed(self) -> bool:
        return self.process is not None and self.process.is_dead

    def _run(self) -> None:
        self.baton.acquire()
        try:
            if not self.is_killed:
                self.run()
        except Killed:
            pass
        except BaseException as error:  # noqa: BLE001 - it surfaces in the test
            self.simulation.fail(error)
        finally:
            self.has_ended = True
            self.simulation.hand_on()


@define(eq=False)
class Simulation:
    """Runs threads, one at a time, in the order of the times at which they are due."""

    clock: FakeClock = field(factory=FakeClock)
    failure: BaseException | None = None
    main: Task = field(init=False)
    running: Task = field(init=False)
    processes: list[Process] = field(factory=list)
    _due: list[tuple[float, int, int, Task]] = field(factory=list)
    _count: int = 0

    def __attrs_post_init__(self) -> None:
        self.main = self.running = Task("test", None, self)

    def process(self, name: str, offset_s: float = 0.0) -> Process:
        """Return a new process without threads."""
        self.processes.append(Process(name, self, offset_s))
        return self.processes[-1]

    def begin(self, task: Task) -> None:
        task.thread.start()
        self.schedule(task, 0)

    def schedule(self, task: Task, seconds: float) -> None:
        """Let *task* run after a time, and not at another one."""
        task.version += 1
        self._count += 1
        heapq.heappush(self._due, (self.clock.now + seconds, self._count, task.version, task))

    def sleep(self, seconds: float) -> None:
        """Let the running thread sleep. In the test's own thread: let time pass, and raise what failed in another one."""
        if self.running.is_killed:  # it cleans up: no time passes for that after `end`
            raise Killed
        self.schedule(self.running, max(0.0, seconds))
        self.pause()

    def wait(self, seconds: float) -> None:
        """Sleep, at most until the process is woken."""
        task = self.running
        task.is_waiting = True
        try:
            self.sleep(seconds)
        finally:
            task.is_waiting = False

    def pause(self) -> None:
        """Run others until the running thread is due."""
        task = self.running
        following = self._next()
        if following is not task:
            self.running = following
            following.baton.release()
            task.baton.acquire()
        if task is self.main and self.failure is not None:
            raise self.failure
        if task.is_killed:
            raise Killed

    def hand_on(self) -> None:
        """Run the next thread: the running one has ended."""
        self.running = self._next()
        self.running.baton.release()

    def fail(self, error: BaseException) -> None:
        """Let the test fail with *error*."""
        self.failure = self.failure or error
        self.schedule(self.main, 0)

    def end(self) -> None:
        """Kill everything that still runs."""
        for process in self.processes:
            process.kill()
        tasks = [task for process in self.processes for task in process.tasks]
        while not all(task.has_ended for task in tasks):
            self.failure = None  # only what failed first counts
            self.sleep(0)
        for task in tasks:
            task.thread.join()

    def _next(self) -> Task:
        while True:
            at_s, count, version, task = heapq.heappop(self._due)
            if version != task.version or task.has_ended:
                continue
            process = task.process
            if process is not None and not process.is_dead and process.paused_until_s > at_s:
                heapq.heappush(self._due, (process.paused_until_s, count, version, task))
                continue
            self.clock.now = max(self.clock.now, at_s)
            return task


@define(eq=False)
class SimulatedLock:
    """A lock for threads of a simulation. Unless it *may_wait*, no thread makes a call that has it, so no other thread meets it."""

    simulation: Simulation
    may_wait: bool
    _owner: Task | None = None
    _count: int = 0
    _waiting: deque[Task] = field(factory=deque)

    def __enter__(self) -> None:
        task = self.simulation.running
        while self._owner not in (None, task):
            assert self.may_wait, "a call was made with a lock"
            self._waiting.append(task)
            self.simulation.pause()
        self._owner = task
        self._count += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._count -= 1
        if not self._count:
            self._owner = None
            if self._waiting:
                self.simulation.schedule(self._waiting.popleft(), 0)
