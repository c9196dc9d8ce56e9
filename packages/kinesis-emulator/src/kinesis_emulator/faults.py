"""Faults on demand: the values that `Settings.fault` may return, and plans that choose them step by step or from a seed."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from kinesis_emulator.requests import Request


class CutConnectionError(Exception):
    """A fault that cuts the connection in the middle of *frame*."""

    def __init__(self, frame: bytes) -> None:
        super().__init__(f"cut within a frame of {len(frame)} bytes")
        self.frame = frame


@dataclass(frozen=True)
class EventFault:
    """
    A fault inside the event stream of a SubscribeToShard call.

    The first `after_events` events come as usual. Then, in this order:

    * no event for `pause_s` seconds of the emulator's clock, counted from the last event
    * `empty_events` events without records, with `millis_behind` and a continuation that does not advance
    * one end: *code* ends the stream with that exception, `cut` breaks the connection in the middle of the next event,
      `silence` keeps it open without further events. Without an end the stream continues as usual.
    """

    after_events: int = 0
    pause_s: float = 0.0
    empty_events: int = 0
    millis_behind: int = 60_000
    code: str | None = None
    message: str = "Injected by the emulator."
    cut: bool = False
    silence: bool = False


@dataclass(frozen=True)
class Fault:
    """
    A fault of one call.

    `delay_s` waits before anything else. These replace the call's work:

    * *code*: respond with this error, with `message` and `status`
    * *body*: respond with these bytes, with `status` and `content_type`
    * `drop_request`: close the connection before the work, with `reset` by a TCP RST

    These change the response after the work:

    * `drop_response`: close the connection without a response, with `reset` by a TCP RST
    * `cut_response`: close the connection in the middle of the response
    * `stall_s`: wait in the middle of the response

    These apply to some actions only, and have no effect on others:

    * `fail_every` (PutRecords): with 3, every third record fails
    * `empty_page` (GetRecords): respond without records, with `millis_behind` and an iterator that does not advance
    * `hide_shards` (ListShards, DescribeStream): leave out these shards
    * `hide_every` (ListShards, DescribeStream): with 3, leave out every third shard of the response
    * `events` (SubscribeToShard): a fault inside the event stream
    """

    code: str | None = None
    message: str = "Injected by the emulator."
    status: int = 400
    body: bytes | None = None
    delay_s: float = 0.0
    drop_request: bool = False
    drop_response: bool = False
    reset: bool = False
    cut_response: bool = False
    stall_s: float = 0.0
    content_type: str | None = None
    fail_every: int = 0
    empty_page: bool = False
    millis_behind: int = 60_000
    hide_shards: tuple[str, ...] = ()
    hide_every: int = 0
    events: EventFault | None = None


_HTML = b"<html><body><h1>503 Service Unavailable</h1></body></html>"

ANY_CALL: tuple[Fault, ...] = (
    Fault("InternalFailure", status=500),
    Fault("ServiceUnavailable", status=503),
    Fault(status=503, body=_HTML, content_type="text/html"),
    Fault(status=200, body=b"<html>", content_type="text/html"),
    Fault(drop_request=True, reset=True),
    Fault(drop_response=True, reset=True),
    Fault(drop_response=True),
    Fault(cut_response=True),
)
"""The faults that `RandomFaults` chooses from by default for any call. Each of them is worth a retry."""
OF_ACTIONS: dict[str, tuple[Fault, ...]] = {
    "GetRecords": (
        Fault("ProvisionedThroughputExceededException"),
        Fault("ExpiredIteratorException"),
        Fault(empty_page=True),
    ),
    "GetShardIterator": (Fault("ProvisionedThroughputExceededException"),),
    "PutRecord": (Fault("ProvisionedThroughputExceededException"),),
    "PutRecords": (Fault("ProvisionedThroughputExceededException"), Fault(fail_every=2)),
    "ListShards": (Fault("LimitExceededException"),),
    "DescribeStreamSummary": (Fault("LimitExceededException"),),
}
"""Further default faults, by action."""


class RandomFaults:
    """
    Applies a random fault to a share of all calls.

    The same seed makes the same choices for the same sequence of calls. The order of overlapping calls may differ from
    run to run, and so may their faults.

    Args:
        seed: The seed of the choices.
        share: The share of calls with a fault, from 0 to 1.
        faults: The faults to choose from. The default is `ANY_CALL` and those of the action in `OF_ACTIONS`.

    Raises:
        ValueError: *share* is not from 0 to 1.
    """

    def __init__(self, seed: int, share: float, faults: Sequence[Fault] = ()) -> None:
        if not 0 <= share <= 1:
            raise ValueError(f"share must be from 0 to 1; got {share}.")
        self._random = random.Random(seed)  # noqa: S311 - reproducible, not secret
        self._share = share
        self._faults = tuple(faults)
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> Fault | None:
        faults = self._faults or ANY_CALL + OF_ACTIONS.get(request.action, ())
        with self._lock:
            return self._random.choice(faults) if self._random.random() < self._share else None


@dataclass(frozen=True)
class Step:
    """
    A fault for calls of this action, stream and shard; None matches any.

    The first `after_calls` matching calls have no fault. The next `times` calls have it; None means all further calls.
    """

    fault: Fault
    action: str | None = None
    stream: str | None = None
    shard_id: str | None = None
    after_calls: int = 0
    times: int | None = 1

    def fits(self, request: Request) -> bool:
        facts = (
            (self.action, request.action),
            (self.stream, request.stream_name),
            (self.shard_id, request.shard_id),
        )
        return all(wanted is None or wanted == given for wanted, given in facts)


class FaultScript:
    """
    Applies faults by the count of calls, such as `AccessDeniedException` from the tenth GetRecords on.

    Each step counts the calls that match it. The first step that is due decides.
    """

    def __init__(self, *steps: Step) -> None:
        self._steps = steps
        self._seen = [0] * len(steps)
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> Fault | None:
        due = [step.fault for i, step in enumerate(self._steps) if step.fits(request) and self._count(i)]
        return due[0] if due else None

    def _count(self, i: int) -> bool:
        """Count a call for step *i*, and return whether the step is due."""
        step = self._steps[i]
        with self._lock:
            self._seen[i] += 1
            nth = self._seen[i] - step.after_calls
        return nth > 0 and (step.times is None or nth <= step.times)
