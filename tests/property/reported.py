"""The losses that a query reports while it continues."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


class _Losses(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage().startswith("data.lost "):
            facts = record.__dict__["context"]
            self.found.append((facts["shard"], facts.get("cut", "")))


@contextmanager
def reported_losses() -> Iterator[list[tuple[str, str]]]:
    """Collect the losses that are logged meanwhile: shard of each, and the cut if the planner found it."""
    handler, log = _Losses(), logging.getLogger("kinesis_core")
    log.addHandler(handler)
    try:
        yield handler.found
    finally:
        log.removeHandler(handler)
