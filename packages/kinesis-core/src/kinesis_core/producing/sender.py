"""The sender of a producer: callers add to its accumulator, and the threads of a group make the calls of its dispatcher."""

from __future__ import annotations

import math
import os
import sys
from copy import copy

from attrs import define, field

from kinesis_core.aws import PutApi
from kinesis_core.clock import Clock
from kinesis_core.errors import KinesisError, PutError
from kinesis_core.producing.accumulator import MAY_BE_MISSING, RecordAccumulator
from kinesis_core.producing.counts import Totals
from kinesis_core.producing.dispatcher import CallResult, Dispatcher, StreamCall, make
from kinesis_core.producing.router import Groups
from kinesis_core.producing.rows import Rows
from kinesis_core.producing.sender_group import SenderGroup
from kinesis_core.termination import TERMINATION
from kinesis_core.threads import OUT_OF_MEMORY
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")

_LONGEST_SLEEP_S = 5.0
"""After that, a thread checks whether the producer ends. `end_soon` cannot wake it if another thread has the lock."""


@define(eq=False)
class Sender:
    """Lets callers and the threads of a group use one producer's records and calls in turns, under the lock of the group."""

    api: PutApi
    accumulator: RecordAccumulator
    clock: Clock
    group: SenderGroup
    dispatcher: Dispatcher = field(init=False)
    is_stopped: bool = field(default=False, init=False)
    in_flight: int = field(default=0, init=False)
    looks_at_s: float = field(default=-math.inf, init=False)
    """These three are for the group."""
    _flushing: list[int] = field(factory=list, init=False)
    """The generations that callers wait for."""
    _is_closing: bool = field(default=False, init=False)
    """Whether no more rows are accepted."""
    _is_ending: bool = field(default=False, init=False)
    """Whether to stop once everything is written: the producer was collected, or its process ends."""
    _is_killed: bool = field(default=False, init=False)
    """Whether the process is killed after that. Callers then wait for the end."""
    _last_generation: int | None = field(default=None, init=False)
    """The flush of the end, once it has begun."""
    _is_failure_reported: bool = field(default=False, init=False)
    _process: int = field(factory=os.getpid, init=False)

    def __attrs_post_init__(self) -> None:
        self.dispatcher = Dispatcher(self.accumulator, self.clock)
        self.group.add(self)

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
        if self._is_killed:
            return groups
        self._check()
        if self._is_closing or self._is_ending:
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
        """Wait until everything put so far is written. Returns what happened since the last flush."""
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
        if self._is_ending:  # the process ends, and the threads write what is held
            if self.is_here:
                self.join()
            return self.accumulator.counts.take_totals()
        self._check_threads()
        with self.group.lock:
            self._is_closing = True
            self.group.progress.notify_all()  # callers that wait for room get an error
            if self._is_failure_reported:
                return self.accumulator.counts.take_totals()
        return self.flush()

    def end_soon(self, *, is_killed: bool = False) -> None:
        """
        Let the threads write what is held, and then stop. Errors are logged. Returns at once.

        Garbage collection and signals may call it at any instruction, so it waits for no lock. A thread that has the lock
        sees the request later.
        """
        if not self.is_here:
            return
        self._is_killed = self._is_killed or is_killed
        self._is_ending = True
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
        self.is_stopped = True
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
            raise KinesisError(
                f"The producer of stream {self.accumulator.stream} belongs to another process. Open a producer in each "
                "process."
            )

    def _check_threads(self) -> None:
        self._check_process()
        if sys.is_finalizing():
            raise KinesisError(
                f"Python has ended, and the threads of the producer of stream {self.accumulator.stream} with it. Close "
                "producers before the program ends."
            )

    def _check(self) -> None:
        self._check_failure()
        if self.is_stopped:
            raise self._closed_error()

    def _check_failure(self) -> None:
        if self.accumulator.failure is not None:
            self._is_failure_reported = True
            raise copy(self.accumulator.failure) from self.accumulator.failure.__cause__

    def _closed_error(self) -> KinesisError:
        return KinesisError(f"The producer of stream {self.accumulator.stream} is closed. Open a new one.")

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
        if self._is_ending and self._is_all_written() and not self.in_flight:
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

    def _is_all_written(self) -> bool:
        """Begin the last flush, if it has not begun, and return whether it is over."""
        if self._last_generation is None:
            self._last_generation = self.accumulator.begin_generation()
            self.accumulator.waiting_callers += 1
        return self.accumulator.counts.is_written(self._last_generation)

    def _settle(self) -> None:
        """Stop after the last response: the end of the process need not wait any more. A failure that no caller has got is logged."""
        self.is_stopped = True
        if self.accumulator.failure is not None and not self._is_failure_reported:
            self._log_lost(self.accumulator.lost_records, self.accumulator.failure)
        TERMINATION.remove_writer(self)

    def _log_lost(self, user_records: int, reason: object) -> None:
        self._is_failure_reported = True
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
