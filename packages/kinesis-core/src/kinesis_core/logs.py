"""
Loggers for events with facts: `log.info("shards.discovered", stream="orders", count=4)`.

Events go through structlog to the standard library's logging. So the application decides which levels are shown, and where.
A text handler shows the facts in the message. A handler for structured logs, such as that of Spark's workers, finds them
under `context`. `kinesis_core.events` declares all events of this package.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kinesis_credentials import logs

if TYPE_CHECKING:
    from structlog.typing import EventDict, WrappedLogger


class EventLogger(logs.EventLogger):
    """
    A logger of events.

    structlog is imported for the first event that is shown. A task's worker shows an event only rarely, and importing
    structlog takes a fourth of the time that importing this package takes.
    """

    def _write(self, level: int, event: str, facts: Mapping[str, object]) -> None:
        self._events.log(level, event, **facts)

    @cached_property
    def _events(self) -> Any:
        import structlog

        return structlog.wrap_logger(
            self._logger,
            processors=[_to_logging],
            wrapper_class=structlog.stdlib.BoundLogger,
            cache_logger_on_first_use=True,
        )


def get_logger(name: str) -> EventLogger:
    """Return the logger of a package. Neither structlog nor logging is configured, unless KINESIS_LOG_LEVEL asks for it."""
    logs.show_if_asked(name)
    return EventLogger(name)


def _to_logging(
    _logger: WrappedLogger, _method: str, event: EventDict
) -> tuple[tuple[str], dict[str, Mapping[str, object]]]:
    text, context = logs.render(event.pop("event"), event)
    return (text,), {"extra": {"context": context}}
