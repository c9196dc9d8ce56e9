"""
The threads that make the calls of producers, and what callers do meanwhile.

Callers add to the accumulator of a sender, and the threads of its group make the calls of its dispatcher. All of it is under
the lock of the group, except the calls.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from enum import IntEnum

from attrs import define, field

from kinesis_core.aws import PutApi, ReadRateLimiter
from kinesis_core.clock import Clock
from kinesis_core.errors import ProducerClosedError, PutError
from kinesis_core.model import StreamSummary
from kinesis_core.producing.accumulator import MAY_BE_MISSING, RecordAccumulator
from kinesis_core.producing.counts import Buffer, Totals
from kinesis_core.producing.dispatcher import CallResult, Dispatcher, StreamCall, make
from kinesis_core.producing.router import Groups
from kinesis_core.producing.rows import Rows
from kinesis_core.termination import TERMINATION
from kinesis_core.threads import OUT_OF_MEMORY, start_threads
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")

THREAD_BYTES = 8 * 1024 * 1024
"""What a thread needs for its request, which has 2 MiB of records: the request itself, and what it is made of."""
_DESCRIBE_EVERY_S, _DESCRIBES_AT_ONCE = 0.1, 10
"""All programs of an account together may call DescribeStreamSummary 20 times a second."""
_LONGEST_SLEEP_S = 5.0
"""After that, a thread checks whether the producer ends. `end_soon` cannot wake it if another thread has the lock."""


class Stage(IntEnum):
    """How far the life of a producer is. It only goes on, and may skip stages."""

    OPEN = 0
    """Rows are accepted."""
    CLOSING = 1
    """No more rows are accepted. A caller waits until all are written, and gets the failure."""
    ENDING = 2
    """The same, but nobody waits: the producer was collected, or its process ends. The log gets the failure."""
    REPORTED = 3
    """A caller or the log has got the failure. Nothing is left to be written."""
    STOPPED = 4
    """Nothing is sent any more."""


@define(eq=False)
class SenderGroup:
    """
    What senders share: threads, a lock over all that they hold, and a buffer.

    The senders take turns. A stream whose server responds late takes a half of the threads at most, if there are others.
    """

    connections: int
    """Number of threads, and so of requests in flight."""
    clock: Clock
    buffer: Buffer = field(factory=Buffer, init=False)
    lock: threading.RLock = field(factory=threading.RLock, init=False)
    """Re-entrant: garbage collection or a signal may end a producer, in any thread and at any instruction."""
    work: threading.Condition = field(init=False)
    """Notified when a request may be ready, or will be earlier than the threads wake up."""
    progress: threading.Condition = field(init=False)
    """Notified when records that callers wait for are written, or never will be."""
    waiting_for_room: int = field(default=0, init=False)
    """Number of callers that wait for room."""
    next_wake_s: float = field(default=math.inf, init=False)
    """When the first of the waiting threads wakes up by itself."""
    _senders: deque[Sender] = field(factory=deque, init=False)
    _threads: list[threading.Thread] = field(factory=list, init=False)
    _describe_limiter: ReadRateLimiter = field(
        factory=lambda: ReadRateLimiter(_DESCRIBE_EVERY_S, _DESCRIBES_AT_ONCE), init=False
    )

    def __attrs_post_init__(self) -> None:
        self.work = threading.Condition(self.lock)
        self.progress = threading.Condition(self.lock)

    # Called by callers' threads

    def describe(self, api: PutApi) -> StreamSummary:
        """Describe a stream, in its turn: the producers of a group leave calls to other programs of the account."""
        with self.lock:
            now_s = self.clock.now_s()
            wait_s = self._describe_limiter.wait_s(now_s)
            self._describe_limiter.spend(now_s)
        self.clock.sleep(wait_s)
        return api.describe()

    def add(self, sender: Sender) -> None:
        """Let the threads send for *sender* too, until it is stopped."""
        with self.lock:
            self._senders.append(sender)
            self.buffer.producers = len(self._senders)

    def start(self) -> None:
        """
        Start the threads, if they do not run. The caller holds the lock.

        Raises:
            ProcessLimitError: The system refuses the first thread.
        """
        if not self._threads:
            self._threads = start_threads(self._run, "kinesis-put", self.connections, THREAD_BYTES)

    @property
    def has_threads(self) -> bool:
        """Whether threads run. Without them nothing is held, or everything has failed."""
        return bool(self._threads)

    @contextmanager
    def hurrying(self) -> Iterator[None]:
        """Let all senders send what they have: a caller waits. It holds the lock."""
        senders = list(self._senders)
        for sender in senders:
            sender.hurry(1)
        self.work.notify()
        try:
            yield
        finally:
            for sender in senders:
                sender.hurry(-1)

    def stop(self, sender: Sender) -> None:
        """Wait until no call of *sender*, which is stopped, is in flight. The last one of a group ends the threads."""
        with self.lock:
            if threading.current_thread() in self._threads:
                return  # it cannot wait for itself
            while sender.in_flight:
                self.progress.wait()
            self._drop_stopped()
            ending = [] if self._senders else list(self._threads)
        for thread in ending:
            thread.join()

    # Called by the threads

    def _run(self) -> None:
        """Make calls until all senders are stopped. A thread has the lock, except while it makes a call or waits for one."""
        with self.lock:
            try:
                while taken := self._wait_for_call():
                    self._make(*taken)
                    del taken  # else a waiting thread keeps the records that it sent last
            except BaseException as error:
                self._break_down(self._senders, error)
                raise
            finally:
                self._threads.remove(threading.current_thread())

    def _make(self, sender: Sender, call: StreamCall) -> None:
        """Make *call*. An error that no code handles is that of its stream; the thread continues with other calls."""
        try:
            with self._unlocked():
                result = sender.make(call)
            sender.on_result(call, result)
        except BaseException as error:  # noqa: BLE001 # the callers of the producer get it
            self._break_down([sender], error)
            with self._unlocked():
                threading.excepthook(
                    threading.ExceptHookArgs(
                        (type(error), error, error.__traceback__, threading.current_thread())
                    )
                )
        finally:
            sender.in_flight -= 1
            sender.looks_at_s = -math.inf
            if sender.is_stopped:
                self.progress.notify_all()

    @contextmanager
    def _unlocked(self) -> Iterator[None]:
        """Let others have the lock during the call."""
        self.lock.release()
        try:
            yield
        finally:
            self.lock.acquire()

    def _wait_for_call(self) -> tuple[Sender, StreamCall] | None:
        """Wait for the next call and return it. Returns None when all senders are stopped."""
        while True:
            self._drop_stopped()
            if not self._senders:
                return None
            now_s = self.clock.now_s()
            taken = self._take(now_s)
            if taken is None and any(sender.is_stopped for sender in self._senders):
                continue  # one of them has nothing left to send
            wakes_s = min(map(self._looks_at_s, self._senders))
            if taken is None:
                self._sleep(now_s, wakes_s)
                continue
            if wakes_s < self.next_wake_s:
                self.work.notify()  # another thread handles the rest
            return taken

    def _take(self, now_s: float) -> tuple[Sender, StreamCall] | None:
        """Ask the senders in their turns, and return the first call."""
        for _ in range(len(self._senders)):
            sender = self._senders[0]
            self._senders.rotate(-1)
            if self._looks_at_s(sender) > now_s:
                continue
            call = sender.take(now_s)
            if call is not None:
                sender.in_flight += 1
                return sender, call
        return None

    def _looks_at_s(self, sender: Sender) -> float:
        """Return when *sender* must be asked. One with its share of threads is asked when a call of it is over."""
        share = self.connections if len(self._senders) == 1 else max(1, self.connections // 2)
        return sender.looks_at_s if sender.in_flight < share and not sender.is_stopped else math.inf

    def _sleep(self, now_s: float, wakes_s: float) -> None:
        """Wait for work. Only the thread that wakes up first waits with a timeout."""
        if wakes_s >= self.next_wake_s:
            self.work.wait()
            return
        self.next_wake_s = wakes_s
        self.work.wait(max(0.0, wakes_s - now_s))
        if self.next_wake_s == wakes_s:
            self.next_wake_s = math.inf

    def _break_down(self, senders: Iterable[Sender], error: BaseException) -> None:
        for sender in senders:
            sender.break_down(error)
        self.progress.notify_all()

    def _drop_stopped(self) -> None:
        if any(sender.is_stopped for sender in self._senders):
            self._senders = deque(sender for sender in self._senders if not sender.is_stopped)
            self.buffer.producers = len(self._senders)


@define(eq=False)
class Sender:
    """Lets callers and the threads of a group use one producer's records and calls in turns, under the lock of the group."""

    api: PutApi
    accumulator: RecordAccumulator
    clock: Clock
    group: SenderGroup
    dispatcher: Dispatcher = field(init=False)
    in_flight: int = field(default=0, init=False)
    """Number of calls that threads are making."""
    looks_at_s: float = field(default=-math.inf, init=False)
    """When the group must ask for a call next."""
    _flushing: list[int] = field(factory=list, init=False)
    """The generations that callers wait for."""
    _reached: list[Stage] = field(factory=lambda: [Stage.OPEN], init=False)
    _process: int = field(factory=os.getpid, init=False)

    def __attrs_post_init__(self) -> None:
        self.dispatcher = Dispatcher(self.accumulator, self.clock)
        self.group.add(self)

    @property
    def stage(self) -> Stage:
        return max(self._reached)

    @property
    def is_stopped(self) -> bool:
        return Stage.STOPPED in self._reached

    def reach(self, stage: Stage) -> None:
        """Note that *stage* is reached. A signal may do the same between any two instructions: neither undoes the other."""
        if stage > self.stage:
            self._reached.append(stage)

    # Called by callers' threads

    def put(self, rows: Rows) -> None:
        """
        Add *rows*. Waits while the buffer is full.

        Raises:
            ProcessLimitError: The system refuses the first thread. Nothing is put.
        """
        self._check_threads()
        with self.group.lock:
            self._check()
            self.group.start()
            groups = self.accumulator.group(rows)
            left = self._offer(groups)
            self._wake_threads()
            if left:
                self._wait_for_room(left)

    def _offer(self, groups: Groups) -> Groups:
        """Add the groups that there is room for, and return the others. While a signal ends the process, there is none."""
        is_open = self.stage is Stage.OPEN
        if not is_open and TERMINATION.is_ending:
            return groups
        self._check_failure()
        if not is_open:
            raise self._closed_error()
        return self.accumulator.offer(groups, self.clock.now_s())

    def _wait_for_room(self, left: Groups) -> None:
        self.group.waiting_for_room += 1
        try:
            with self.group.hurrying():
                while left:
                    self.group.progress.wait()
                    left = self._offer(left)
                    self.looks_at_s = -math.inf
                    self.group.work.notify()
        finally:
            self.group.waiting_for_room -= 1

    def seal(self) -> None:
        """Close the open aggregates, so that a flush of another sender of the group sends them too."""
        self._check_threads()
        with self.group.lock:
            self.accumulator.seal()
            self.looks_at_s = -math.inf

    def flush(self) -> Totals:
        """Wait until all records put so far are written. Returns the counts since the last flush."""
        self._check_threads()
        with self.group.lock:
            self._check()
            generation = self.accumulator.begin_generation()
            self._flushing.append(generation)
            try:
                with self.group.hurrying():  # a thread that takes a request wakes another one for the rest
                    while not self.accumulator.counts.is_written(generation):
                        self._check()
                        self.group.progress.wait()
                    self._check_failure()  # after it, nothing is left to be written
            finally:
                self._flushing.remove(generation)
            self.dispatcher.was_flushed = True
            return self.accumulator.counts.take_totals()

    def finish(self) -> Totals:
        """Accept no more rows, and flush. A failure that a caller or the log has got already is not raised again."""
        self._check_process()
        if self.stage >= Stage.ENDING:  # the threads write what is held, or it is lost
            if self.is_here:
                self.join()
            return self.accumulator.counts.take_totals()
        self._check_threads()
        with self.group.lock:
            self.reach(Stage.CLOSING)
            self.group.progress.notify_all()  # callers that wait for room get an error
            return self.flush()

    def end_soon(self) -> None:
        """
        Let the threads write what is held, and then stop. Errors are logged. Returns at once.

        Garbage collection and signals may call it at any instruction, so it waits for no lock. A thread that has the lock
        sees the request later.
        """
        if not self.is_here:
            return
        self.reach(Stage.ENDING)
        self.looks_at_s = -math.inf
        if not self.group.has_threads:
            self._settle()
        elif self.group.lock.acquire(blocking=False):
            try:
                self.group.work.notify_all()
            finally:
                self.group.lock.release()

    def join(self) -> None:
        """Wait until everything is written, or never will be."""
        with self.group.lock:
            self.looks_at_s = -math.inf
            self.group.work.notify_all()
            while not self.is_stopped and self.group.has_threads:
                self.group.progress.wait()
            self._settle()

    def log_unwritten(self) -> None:
        """Log what is not written, because the wait for the threads is interrupted."""
        with self.group.lock:
            held = self.accumulator.held_records
        if held:
            self._log_lost(held, "the program was interrupted while it waited for Kinesis")

    def cancel(self) -> None:
        """Let the threads send no more, after the responses that they wait for."""
        self.reach(Stage.STOPPED)
        if not self.is_here:
            return
        with self.group.lock:
            self.group.work.notify_all()
            self.group.progress.notify_all()

    def stop(self) -> None:
        """Send no more, and wait for the last response."""
        self.cancel()
        if self.is_here:
            self.group.stop(self)
            TERMINATION.remove_writer(self)

    @property
    def is_here(self) -> bool:
        """
        Whether the threads can run.

        They are not in a forked process, and end at any instruction when the interpreter ends. Who held the lock then holds it
        forever.
        """
        return self._process == os.getpid() and not sys.is_finalizing()

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise ProducerClosedError(
                f"The producer of stream {self.accumulator.stream} belongs to another process. Open a producer in each "
                "process."
            )

    def _check_threads(self) -> None:
        self._check_process()
        if sys.is_finalizing():
            raise ProducerClosedError(
                f"Python has ended, and the threads of the producer of stream {self.accumulator.stream} with it. Close "
                "producers before the program ends."
            )

    def _check(self) -> None:
        self._check_failure()
        if self.is_stopped:
            raise self._closed_error()

    def _check_failure(self) -> None:
        if self.accumulator.failure is not None:
            self.reach(Stage.REPORTED)
            raise copy(self.accumulator.failure) from self.accumulator.failure.__cause__

    def _closed_error(self) -> ProducerClosedError:
        return ProducerClosedError(
            f"The producer of stream {self.accumulator.stream} is closed. Open a new one."
        )

    def _wake_threads(self) -> None:
        """Wake a thread if a request may be full, or if all threads would sleep too long."""
        self.looks_at_s = -math.inf
        due_s = self.clock.now_s() + self.accumulator.settings.record_max_buffered_time_s
        if self.accumulator.counts.is_request_full or due_s < self.group.next_wake_s:
            self.accumulator.counts.on_woken()
            self.group.work.notify()

    # Called by the group

    def take(self, now_s: float) -> StreamCall | None:
        """Return the next call, or None if there is none yet, or if this is the end."""
        if self.stage >= Stage.ENDING:
            self.accumulator.seal()
            self.accumulator.waiting_callers = math.inf
            if self.accumulator.counts.is_empty and not self.in_flight:
                self._settle()
                self.cancel()  # wakes all threads and callers
                return None
        call = self.dispatcher.take(now_s)
        wait_s = self.dispatcher.wait_s(now_s)
        self.looks_at_s = now_s + (_LONGEST_SLEEP_S if wait_s is None else min(_LONGEST_SLEEP_S, wait_s))
        if self.accumulator.failure is not None:
            self.group.progress.notify_all()
        return call

    def make(self, call: StreamCall) -> CallResult:
        """Make *call*. Returns its result or error, which is for `on_result`."""
        return make(self.api, self.accumulator.stream, call)

    def on_result(self, call: StreamCall, result: CallResult) -> None:
        """Handle the *result* of a call, and wake the callers that may continue."""
        self.dispatcher.on_result(call, result, self.clock.now_s())
        self._wake_callers()

    def hurry(self, callers: int) -> None:
        """Count *callers* that wait: while there are some, batches are sent before they are due."""
        self.accumulator.waiting_callers += callers
        self.looks_at_s = -math.inf

    def break_down(self, error: BaseException) -> None:
        """Fail because of *error*, which no code handles."""
        held = self.accumulator.held_records
        self.accumulator.fail(internal_error(self.accumulator.stream, error, held))

    def _settle(self) -> None:
        """Stop after the last response: the end of the process need not wait any more. A failure that no caller has got is logged."""
        if self.accumulator.failure is not None and self.stage < Stage.REPORTED:
            self._log_lost(self.accumulator.lost_records, str(self.accumulator.failure))
        self.reach(Stage.STOPPED)
        TERMINATION.remove_writer(self)

    def _log_lost(self, user_records: int, reason: object) -> None:
        self.reach(Stage.REPORTED)
        log.warning("records.lost", stream=self.accumulator.stream, user_records=user_records, reason=reason)

    def _wake_callers(self) -> None:
        """Wake the callers that put or flush, if one of them may continue."""
        is_over = self.accumulator.failure is not None or any(
            map(self.accumulator.counts.is_written, self._flushing)
        )
        if is_over or self.group.waiting_for_room:
            self.group.progress.notify_all()


def internal_error(stream: str, error: BaseException, held: int) -> PutError:
    """Return the error for an exception that no code of the producer handles, while *held* user records are not written."""
    code = type(error).__name__
    if isinstance(error, MemoryError):
        why, report = f": {OUT_OF_MEMORY.lower()}", ""
    else:
        what = f"{code}: {error}" if str(error) else code
        why, report = f" on an internal error ({what}).", "Please report this with the log."
    failure = PutError(
        f"Writing to stream {stream} stopped{why}",
        {code: held},
        advice=(*MAY_BE_MISSING, report),
        stream=stream,
    )
    failure.__cause__ = error
    return failure
