"""
Loggers for events with facts: `log.info("shards.discovered", stream="orders", count=4)`.

They go through the standard library's logging, so that whoever runs this decides where they go and from which
level on. Text handlers get the facts in the message; handlers for structured logs, as Spark's workers have them,
get them under `context`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import structlog
from structlog.typing import EventDict, WrappedLogger


def get_logger(name: str) -> Any:
    """Return the logger of a package. It configures neither structlog nor logging."""
    return structlog.wrap_logger(
        logging.getLogger(name),
        processors=[structlog.stdlib.filter_by_level, _to_logging],
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def _to_logging(
    _logger: WrappedLogger, _method: str, event: EventDict
) -> tuple[tuple[str], dict[str, Mapping[str, object]]]:
    name = event.pop("event")
    facts = {key: str(value) for key, value in event.items()}
    text = " ".join([name, *(f"{key}={value}" for key, value in facts.items())])
    return (text,), {"extra": {"context": facts}}
