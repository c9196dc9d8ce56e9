"""What every test is checked for: an event that is logged is declared so, whether it is shown or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

import pytest

PACKAGES = {
    "kinesis_consumer",
    "kinesis_core",
    "kinesis_credentials",
    "spark_kinesis_sink",
    "spark_kinesis_source",
}
"""Each is the name of a logger as well."""


@contextmanager
def declared_events() -> Iterator[None]:
    """Let an event that its package does not declare, or with another level or other facts, fail the test."""
    from kinesis_credentials.logs import EventLogger

    with pytest.MonkeyPatch.context() as patch:
        for level in ("debug", "info", "warning"):
            patch.setattr(EventLogger, level, _checked(level, getattr(EventLogger, level)))
        yield


def complaint(logger: str, level: str, name: str, facts: set[str]) -> str:
    """Return what is wrong with an event of *logger*; "" when it is declared so, or the logger is a test's own."""
    if logger not in PACKAGES:
        return ""
    event = _declared(logger).get(name)
    if event is None:
        return f"{name} is not declared in {logger}.events"
    if event.level != level.upper():
        return f"{name} is declared as {event.level}, and logged as {level.upper()}"
    missing, unknown = set(event.facts) - facts, facts - {*event.facts, *event.optional}
    return f"{name}: missing facts {missing}, undeclared facts {unknown}" if missing or unknown else ""


def _checked(level: str, log: Callable[..., None]) -> Callable[..., None]:
    def checked(self: Any, event: str, /, **facts: object) -> None:
        found = complaint(self._logger.name, level, event, set(facts))
        assert not found, found
        log(self, event, **facts)

    return checked


@cache
def _declared(package: str) -> dict[str, Any]:
    return {event.name: event for event in import_module(f"{package}.events").EVENTS}
