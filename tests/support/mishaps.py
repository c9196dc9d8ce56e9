"""Failures of PutRecords calls, and the number of copies that they explain."""

from __future__ import annotations

import base64
import random
import threading
from itertools import cycle

from kinesis_core.aggregation import unpack
from kinesis_emulator import Fault
from kinesis_emulator.requests import Request
from support.checks import is_check

THROTTLED = "ProvisionedThroughputExceededException"
UNDONE = (
    Fault("InternalFailure", status=500),
    Fault(drop_request=True),
    Fault(drop_request=True, reset=True),
)
"""The request fails before its work. The caller cannot know that."""
LOST = (
    Fault(drop_response=True),
    Fault(drop_response=True, reset=True),
    Fault(cut_response=True),
    Fault(fail_every=3, drop_response=True),
)
"""The work is done, but the response is lost, in whole or in part."""
PARTIAL = (Fault(fail_every=2), Fault(fail_every=3), Fault(fail_every=4))
"""A part of the records is refused, and the response says which."""


class Mishaps:
    """
    A `Settings.fault`: eleven of twenty PutRecords calls fail, in an order that *seed* decides.

    Three are of `UNDONE`, four of `LOST`, one is throttled as a whole, and three are of `PARTIAL`.

    Attributes:
        lost: User records that were written although the response was lost. The stream has exactly as many copies.
        unsure: User records of calls without a response, written or not. As many are sent again.
    """

    def __init__(self, seed: int) -> None:
        order: list[Fault | None] = [*UNDONE, *LOST, *PARTIAL, Fault(THROTTLED), *[None] * 9]
        random.Random(seed).shuffle(order)
        self._order = cycle(order)
        self._lock = threading.Lock()
        self.lost = 0
        self.unsure = 0

    def __call__(self, request: Request) -> Fault | None:
        if request.action != "PutRecords" or is_check(request):
            return None
        with self._lock:
            fault = next(self._order)
            if fault in LOST:
                self.lost += sum(map(_user_records, _written(request, fault)))
            if fault in LOST + UNDONE:
                self.unsure += sum(map(_user_records, request.params["Records"]))
        return fault


def _written(request: Request, fault: Fault) -> list[dict[str, str]]:
    every = fault.fail_every
    entries = request.params["Records"]
    return [entry for index, entry in enumerate(entries, 1) if not every or index % every]


def _user_records(entry: dict[str, str]) -> int:
    aggregate = unpack(base64.b64decode(entry["Data"]))
    return 1 if aggregate is None else len(aggregate.data)
