"""When faults happen: step by step, or at random from a seed. Each plan fits `Settings.fault`."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from kinesis_emulator.faults import Fault
from kinesis_emulator.requests import Request

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
"""What `RandomFaults` does to any call unless told otherwise; each is worth a retry."""
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
"""What it does to calls of one action besides."""


class RandomFaults:
    """
    A share of all calls suffers a fault chosen at random.

    The same seed makes the same choices for the same sequence of calls. Calls that run at the same time may change
    places from run to run, and so may their faults.

    Args:
        seed: Of the choices.
        share: How many of all calls suffer, from 0 to 1.
        faults: What to choose from; by default `ANY_CALL`, and what `OF_ACTIONS` has for the action.
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
    A fault for the calls that fit: of this action, stream and shard, where they are given.

    It lets `after_calls` of them pass, then befalls the next `times`; None: all that come.
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
    Faults in the order of calls, such as `AccessDeniedException` from the tenth GetRecords on.

    Each step counts the calls that fit it; the first step that is due decides.
    """

    def __init__(self, *steps: Step) -> None:
        self._steps = steps
        self._seen = [0] * len(steps)
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> Fault | None:
        due = [step.fault for i, step in enumerate(self._steps) if step.fits(request) and self._count(i)]
        return due[0] if due else None

    def _count(self, i: int) -> bool:
        """Count a call for step *i* and return whether the step is due."""
        step = self._steps[i]
        with self._lock:
            self._seen[i] += 1
            place = self._seen[i] - step.after_calls
        return place > 0 and (step.times is None or place <= step.times)
