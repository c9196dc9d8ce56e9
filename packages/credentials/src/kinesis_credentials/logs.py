"""
Events: log lines with a name, a level and facts.

    log = get_logger("kinesis_credentials")
    log.warning("credentials.kept", source="profile 'ingest'", reason="...")

The standard library's logging carries them. So the application decides which levels are shown, and where. A text handler
shows the facts in the message. A handler for structured logs, such as that of Spark's workers, finds them under `context`.

The environment variable KINESIS_LOG_LEVEL shows events on the standard error as well. Spark runs most of our code in
processes of its own, where no application configures logging.

An error among the facts is shown without its advice. The advice is shown where the error is raised, in the words of its interface.

Each package declares its events in its module `events`.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping

from kinesis_credentials.base import KinesisError

VARIABLE = "KINESIS_LOG_LEVEL"
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"


class EventLogger:
    """A logger of events. The text of an event that is not shown is not made."""

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
    """Return the logger of a package. Logging is not configured, unless the environment asks for it."""
    show_if_asked(name)
    return EventLogger(name)


def show_if_asked(name: str) -> None:
    """Show the events of the logger *name* on the standard error, from the level in KINESIS_LOG_LEVEL on."""
    asked, logger = os.environ.get(VARIABLE, "").strip().upper(), logging.getLogger(name)
    if not asked or any(isinstance(handler, _Shown) for handler in logger.handlers):
        return
    if asked not in LEVELS:
        if stream := sys.__stderr__ or sys.stderr:  # a program without a console has none
            stream.write(f"{VARIABLE} is {asked!r}, which has no effect. Use {', '.join(LEVELS)}.\n")
        return
    logger.addHandler(_Shown(asked))
    # Never a higher level than the application has set: its handlers see what they have always seen.
    if logger.getEffectiveLevel() > logging.getLevelName(asked):
        logger.setLevel(asked)


class _Shown(logging.StreamHandler):  # type: ignore[type-arg] # it cannot be subscripted before Python 3.11
    """
    Writes to the standard error of the process.

    Not to `sys.stderr`: Spark may replace that while a task runs, to collect what the task prints.
    """

    def __init__(self, level: str) -> None:
        super().__init__(sys.__stderr__)
        self.setLevel(level)
        self.setFormatter(logging.Formatter(FORMAT))


def render(event: str, facts: Mapping[str, object]) -> tuple[str, dict[str, str]]:
    """Return the message of *event* for text handlers, and the facts for structured ones, which take text only."""
    context = {key: _show(value) for key, value in facts.items()}
    return " ".join([event, *(f"{key}={value}" for key, value in context.items())]), context


def _show(value: object) -> str:
    return value.without_advice() if isinstance(value, KinesisError) else str(value)
