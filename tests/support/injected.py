"""Faults in a share of all calls, and how many of them callers notice."""

from __future__ import annotations

import threading
from collections import Counter

from kinesis_emulator import Fault, RandomFaults
from kinesis_emulator.requests import Request
from support.checks import is_check


class InjectedFaults:
    """
    A `Settings.fault`: a share of all calls fails, in all the ways that a retry can repair, chosen by a seed.

    Attributes:
        felt: How many calls of each action failed, or were executed in part: each is retried. The permission checks before
            a query do not count.
        calls: How many calls came in all.
    """

    def __init__(self, seed: int, share: float = 0.2) -> None:
        self._plan = RandomFaults(seed, share)
        self._lock = threading.Lock()
        self.felt: Counter[str] = Counter()
        self.calls = 0

    def __call__(self, request: Request) -> Fault | None:
        fault = self._plan(request)
        with self._lock:
            self.calls += 1
            if fault is not None and _is_felt(fault, request):
                self.felt[request.action] += 1
        return fault


def _is_felt(fault: Fault, request: Request) -> bool:
    """Return whether *fault* fails *request*. An empty page is no failure, and only a long request can fail in part."""
    if fault.empty_page or is_check(request):
        return False
    return not fault.fail_every or len(request.params["Records"]) >= fault.fail_every
