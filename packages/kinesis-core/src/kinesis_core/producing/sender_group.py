"""The threads of one producer, or of several that share them: they make the calls that the producers have to make."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from attrs import define, field

from kinesis_core.aws import PutApi, ReadRateLimiter
from kinesis_core.clock import Clock
from kinesis_core.model import StreamSummary
from kinesis_core.producing.counts import Buffer
from kinesis_core.threads import start_threads

THREAD_BYTES = 8 * 1024 * 1024
"""What a thread needs for its request, which has 2 MiB of records: the request itself, and what it is made of."""
_DESCRIBE_EVERY_S, _DESCRIBES_AT_ONCE = 0.1, 10
"""All programs of an account together may call DescribeStreamSummary 20 times a second."""


class Member(Protocol):
    """A sender of a group: it has the calls of one stream. All but `make` is called under the lock of the group."""

    is_stopped: bool
    """Whether nothing is sent any more. It may become true at any instruction, without the lock."""
    in_flight: int
    """Number of calls that threads are making."""
    looks_at_s: float
    """When it must be asked for a call next."""

    def take(self, now_s: float) -> Any:
        """Return the next call; None if there is none yet. Sets `looks_at_s`."""
        ...

    def make(self, call: Any) -> Any:
        """Make *call*, and return its result."""
        ...

    def on_result(self, call: Any, result: Any) -> None:
        """Handle the *result* of *call*."""
        ...

    def hurry(self, callers: int) -> None:
        """Count *callers* that wait: while there are some, batches are sent before they are due."""
        ...

    def break_down(self, error: BaseException) -> None:
        """Fail because of *error*, which no code handles."""
        ...


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
    _senders: deque[Member] = field(factory=deque, init=False)
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

    def add(self, sender: Member) -> None:
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

    def stop(self, sender: Member) -> None:
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

    def _make(self, sender: Member, call: Any) -> None:
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

    def _wait_for_call(self) -> tuple[Member, Any] | None:
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

    def _take(self, now_s: float) -> tuple[Member, Any] | None:
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

    def _looks_at_s(self, sender: Member) -> float:
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

    def _break_down(self, senders: Iterable[Member], error: BaseException) -> None:
        for sender in senders:
            sender.break_down(error)
        self.progress.notify_all()

    def _drop_stopped(self) -> None:
        if any(sender.is_stopped for sender in self._senders):
            self._senders = deque(sender for sender in self._senders if not sender.is_stopped)
            self.buffer.producers = len(self._senders)
