"""
Events: log lines with a name, a level and facts.

    log = get_logger("kinesis_credentials")
    log.warning("credentials.kept", source="profile 'ingest'", reason="...")

The standard library's logging carries them. So the application decides which levels are shown, and where. A text handler
shows the facts in the message. A handler for structured logs, such as that of Spark's workers, finds them under `context`.

`kinesis_core.logs` builds on this module. Each package declares its events in its module `events`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping


class EventLogger:
    """A logger of events."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def debug(self, event: str, /, **facts: object) -> None:
        if self._logger.isEnabledFor(logging.DEBUG):
            self._write(logging.DEBUG, event, facts)

    def info(self, event: str, /, **facts: object) -> None:
        if self._logger.isEnabledFor(logging.INFO):
            self._write(logging.INFO, event, facts)

    def warning(self, event: str, /, **facts: object) -> None:
        if self._logger.isEnabledFor(logging.WARNING):
            self._write(logging.WARNING, event, facts)

    def is_enabled_for(self, level: int) -> bool:
        """Return whether events of *level* are shown. Ask where it takes work to find out an event's facts."""
        return self._logger.isEnabledFor(level)

    def _write(self, level: int, event: str, facts: Mapping[str, object]) -> None:
        text, context = render(event, facts)
        self._logger.log(level, text, extra={"context": context})


def get_logger(name: str) -> EventLogger:
    """Return the logger of a package. Logging is not configured."""
    return EventLogger(name)


def render(event: str, facts: Mapping[str, object]) -> tuple[str, dict[str, str]]:
    """Return the message of *event* for text handlers, and the facts for structured ones, which take text only."""
    context = {key: str(value) for key, value in facts.items()}
    return " ".join([event, *(f"{key}={value}" for key, value in context.items())]), context
