"""The event `shard.read`: one line for each range that was read to its end."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import closing

from kinesis_core.clock import Clock
from kinesis_core.model import Page, data_bytes
from kinesis_core.reading.progress import RangeProgress
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")


def logged(
    pages: Generator[Page, None, None], progress: RangeProgress, clock: Clock
) -> Generator[Page, None, None]:
    """Return *pages*, and log the range of *progress* after them. Where that line is not shown, this costs nothing."""
    return _count(pages, progress, clock) if log.is_enabled_for(logging.DEBUG) else pages


def _count(
    pages: Generator[Page, None, None], progress: RangeProgress, clock: Clock
) -> Generator[Page, None, None]:
    started_s = clock.now_s()
    count = records = size_bytes = 0
    with closing(pages):
        for page in pages:
            count += 1
            records += len(page.records)
            size_bytes += data_bytes(page.records)
            yield page
            del page  # it would stay in memory while the next page is read
    log.debug(
        "shard.read",
        stream=progress.range.stream,
        shard=progress.range.shard_id,
        records=records,
        bytes=size_bytes,
        pages=count,
        duration_s=round(clock.now_s() - started_s, 3),
        calls=progress.counts.calls,
        throttles=progress.counts.throttles,
    )
