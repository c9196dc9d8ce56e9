"""A table of items that fails as a table may: before a write, or after it was made."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from attrs import define, field

from kinesis_core import UnavailableError
from support.shared_leases import InterceptedTable

T = TypeVar("T")
Hook = Callable[[], str]
"""Called before each call. Returns "" to let it pass, "fail" to refuse it, "lose" to lose its response."""


@define
class FaultyTable(InterceptedTable):
    """A table in memory with a hook before each call."""

    hook: Hook = str
    calls: list[tuple[str, str]] = field(factory=list)

    def _call(self, call: str, key: str, run: Callable[[], T]) -> T:
        self.calls.append((call, key))
        fault = self.hook()
        if fault == "fail":
            raise UnavailableError("The table fails.", "InternalServerError")
        result = run()
        if fault == "lose":
            raise UnavailableError("The response is lost.", "ConnectionClosedError")
        return result
