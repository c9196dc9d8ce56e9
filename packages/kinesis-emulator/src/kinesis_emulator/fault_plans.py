"""Plans of faults, for `Settings.fault`: step by step, or at random from a seed."""

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
