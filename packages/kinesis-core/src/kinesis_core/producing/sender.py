"""The threads of a producer: they take requests out of its outbox, send them, and note what became of them."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Sequence
from itertools import chain

from attrs import define, field

from kinesis_core.aws import PutApi
from kinesis_core.clock import Clock
from kinesis_core.errors import KinesisError, PutError, ServiceError
from kinesis_core.logs import get_logger
from kinesis_core.model import MAX_PUT_RECORDS
from kinesis_core.producing.accumulator import RecordAccumulator
from kinesis_core.producing.reshards import Reshards
from kinesis_core.producing.responses import Misrouted, ResponseHandler
from kinesis_core.producing.router import Groups
from kinesis_core.producing.rows import Rows
from kinesis_core.producing.shard_batch import ShardBatch
from kinesis_core.producing.shard_queue import REQUEST_BYTES
from kinesis_core.producing.stream_watch import StreamWatch
from kinesis_core.producing.totals import Totals

log = get_logger("kinesis_core")

_CLOSED = "The producer is closed."


@define(eq=False)
class Sender:
    """Guards an outbox: callers put into it, threads of its own empty it."""

    api: PutApi
    accumulator: RecordAccumulator
    clock: Clock
    responses: ResponseHandler = field(init=False)
    _reshards: Reshards = field(init=False)
    _watch: StreamWatch = field(init=False)
    _lock: threading.RLock = field(factory=threading.RLock, init=False)
    """Re-entrant, because a forgotten producer is collected, and cancels, wherever Python happens to be."""
    _work: threading.Condition = field(init=False)
    """Something is to be sent, or will be due sooner than the threads think."""
    _news: threading.Condition = field(init=False)
    """Something that callers wait for was written, or will never be."""
    _wants_room: int = field(default=0, init=False)
    """How many callers wait for room."""
    _flushing: list[int] = field(factory=list, init=False)
    """The generations that callers wait for."""
    _threads: list[threading.Thread] = field(factory=list, init=False)
    _is_closing: bool = field(default=False, init=False)
    """Whether no more rows are taken in."""
    _is_stopped: bool = field(default=False, init=False)
    _is_failure_reported: bool = field(default=False, init=False)
    _alarm_s: float = field(default=math.inf, init=False)
    """When the first of the waiting threads will wake up by itself."""
    _process: int = field(factory=os.getpid, init=False)

    def __attrs_post_init__(self) -> None:
        self.responses = ResponseHandler(self.accumulator)
        self._reshards = Reshards(self.api, self.responses, self.clock, self._lock, lambda: self._is_stopped)
        self._watch = StreamWatch(self._reshards, self.clock, self._lock)
        self._work = threading.Condition(self._lock)
        self._news = threading.Condition(self._lock)

    # Called by those who put

    def put(self, rows: Rows) -> None:
        """Take in *rows*; wait for room where there is none."""
        with self._lock:
            groups = self.accumulator.group(rows)
            left = self._offer(groups)
            self._wake_threads()
            if left:
                self._wait_for_room(left)

    def _offer(self, groups: Groups) -> Groups:
        self._check()
        if self._is_closing:
            raise KinesisError(_CLOSED)
        return self.accumulator.offer(groups, self.clock.now_s())

    def _wait_for_room(self, left: Groups) -> None:
        self.accumulator.hurry += 1
        self._wants_room += 1
        try:
            while left:
                self._work.notify()
                self._news.wait()
                left = self._offer(left)
            self._work.notify()
        finally:
            self.accumulator.hurry -= 1
            self._wants_room -= 1

    def flush(self) -> Totals:
        """Return when everything put so far is in the stream: what happened since this was last called."""
        with self._lock:
            self._check()
            generation = self.accumulator.begin_generation()
            self.accumulator.hurry += 1
            self._flushing.append(generation)
            try:
                self._work.notify()  # a thread that takes a request wakes another one for the rest
                while not self.accumulator.counts.is_written(generation):
                    self._news.wait()
                    self._check()
            finally:
                self.accumulator.hurry -= 1
                self._flushing.remove(generation)
            self._watch.note_flush()
            return self.accumulator.counts.take_totals()

    def finish(self) -> Totals:
        """Take in no more, and flush; but if there is a failure that a caller was told of, that is enough."""
        with self._lock:
            self._is_closing = True
            self._news.notify_all()  # whoever waits for room waits for nothing
            if self._is_failure_reported:
                return self.accumulator.counts.take_totals()
        return self.flush()

    def cancel(self) -> None:
        """Let the threads end when the answers that they wait for have come."""
        with self._lock:
            self._is_stopped = True
            self._work.notify_all()
            self._news.notify_all()

    def stop(self) -> None:
        """Send no more, and return when the last answer has come."""
        self.cancel()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()

    def _check(self) -> None:
        if self._process != os.getpid():
            raise KinesisError("This producer belongs to another process; open one in each process.")
        if self.accumulator.failure is not None:
            self._is_failure_reported = True
            raise PutError(*self.accumulator.failure.args)
        if self._is_stopped:
            raise KinesisError(_CLOSED)

    def _wake_threads(self) -> None:
        """Wake a thread when there may be a request's worth, or when all would sleep too long."""
        if not self._threads:
            self._start()
        counts = self.accumulator.counts
        due_s = self.clock.now_s() + self.accumulator.settings.record_max_buffered_time_s
        is_much = counts.fresh_records >= MAX_PUT_RECORDS or counts.fresh_bytes >= REQUEST_BYTES
        if is_much or due_s < self._alarm_s:
            counts.fresh_records = counts.fresh_bytes = 0
            self._work.notify()

    def _start(self) -> None:
        for number in range(self.accumulator.settings.max_connections):
            thread = threading.Thread(target=self._run, name=f"kinesis-put-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    # The threads

    def _run(self) -> None:
        try:
            while request := self._wait_for_request():
                self._send(request)
                del request  # else a thread that waits would keep what it sent last
        except BaseException as error:
            failure = PutError(
                f"The producer broke: {type(error).__name__}: {error}", {type(error).__name__: 0}
            )
            with self._lock:
                self.accumulator.give_up(failure)
                self._news.notify_all()
            raise

    def _wait_for_request(self) -> Sequence[ShardBatch]:
        """Return the next request when there is one; nothing when the producer is stopped."""
        with self._lock:
            while not self._is_stopped:
                now_s = self.clock.now_s()
                request = self.accumulator.take(now_s)
                wait_s = self.accumulator.wait_s(now_s)
                if self.accumulator.failure is not None:
                    self._news.notify_all()
                if request:
                    if wait_s is not None and now_s + wait_s < self._alarm_s:
                        self._work.notify()  # another thread is to look after the rest
                    return request
                self._sleep(now_s, wait_s)
        return []

    def _sleep(self, now_s: float, wait_s: float | None) -> None:
        """Wait for work; the thread that is to wake first minds the time for all."""
        wakes_s = math.inf if wait_s is None else now_s + wait_s
        if wakes_s >= self._alarm_s:
            self._work.wait()
            return
        self._alarm_s = wakes_s
        self._work.wait(wait_s)
        if self._alarm_s == wakes_s:
            self._alarm_s = math.inf

    def _send(self, request: Sequence[ShardBatch]) -> None:
        if self._watch.is_current(request):
            misrouted = self._put(request)
            self._look_into([misroute for misroute in misrouted if misroute[0].is_aggregate], misrouted)
        with self._lock:
            self._wake_callers()

    def _put(self, request: Sequence[ShardBatch]) -> list[Misrouted]:
        """Make the call, and return what came to another shard than it was made for."""
        entries = list(chain.from_iterable(batch.entries for batch in request))
        try:
            response = self.api.put_records(entries, with_results=self._watch.needs_shards(request))
        except ServiceError as error:
            may_pass = self._watch.explains(request, error)
            with self._lock:
                self.responses.on_request_failed(request, error, self.clock.now_s(), may_pass=may_pass)
            return []
        with self._lock:
            misrouted = self.responses.on_response(request, response, self.clock.now_s())
        self._watch.note_response(entries, response.results)
        return misrouted

    def _look_into(self, aggregates: Sequence[Misrouted], misrouted: Sequence[Misrouted]) -> None:
        """See why records came to other shards than they were made for."""
        if aggregates:
            self._reshards.settle_misrouted(aggregates)
        elif misrouted:
            self._reshards.refresh(misrouted)

    def _wake_callers(self) -> None:
        """Wake those who put or flush when what happened may be what one of them waits for."""
        is_over = self.accumulator.failure is not None or any(
            map(self.accumulator.counts.is_written, self._flushing)
        )
        if is_over or self._wants_room:
            self._news.notify_all()
