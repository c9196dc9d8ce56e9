"""
Loggers for events with facts: `log.info("shards.discovered", stream="orders", count=4)`.

They go through the standard library's logging, so that whoever runs this decides where they go and from which
level on. Text handlers get the facts in the message; handlers for structured logs, as Spark's workers have them,
get them under `context`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from structlog.typing import EventDict, WrappedLogger


class EventLogger:
    """
    A logger of events.

    structlog is imported for the first event that somebody wants to see: in a task's worker that is mostly none, and
    importing it takes a fourth of the time that all of this package takes with what it needs.
    """

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def debug(self, event: str, **facts: object) -> None:
        if self._logger.isEnabledFor(logging.DEBUG):
            self._events.debug(event, **facts)

    def info(self, event: str, **facts: object) -> None:
        if self._logger.isEnabledFor(logging.INFO):
            self._events.info(event, **facts)

    def warning(self, event: str, **facts: object) -> None:
        if self._logger.isEnabledFor(logging.WARNING):
            self._events.warning(event, **facts)

    @cached_property
    def _events(self) -> Any:
        import structlog

        return structlog.wrap_logger(
            self._logger,
            processors=[structlog.stdlib.filter_by_level, _to_logging],
            wrapper_class=structlog.stdlib.BoundLogger,
            cache_logger_on_first_use=True,
        )


def get_logger(name: str) -> EventLogger:
    """Return the logger of a package. It configures neither structlog nor logging."""
    return EventLogger(name)


def _to_logging(
    _logger: WrappedLogger, _method: str, event: EventDict
) -> tuple[tuple[str], dict[str, Mapping[str, object]]]:
    name = event.pop("event")
    facts = {key: str(value) for key, value in event.items()}
    text = " ".join([name, *(f"{key}={value}" for key, value in facts.items())])
    return (text,), {"extra": {"context": facts}}
