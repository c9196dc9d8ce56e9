"""Waits until each record is due: as long after the first one as it arrived, divided by the speed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

from kinesis_cli.putting import Rows
from kinesis_cli.replaying.recorded import Recorded
from kinesis_cli.stopping import Stopping

_SOON_S = 0.005
"""Records that are due within this time are written together."""
_LONGEST_SLEEP_S = 3600.0
"""More than some years cannot be slept at once."""


def keep_pace(
    recorded: Iterable[Recorded],
    speed: float,
    stopping: Stopping,
    now_s: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Rows]:
    """
    Yield the rows of *recorded*, each when it is due. A record without a time is due with the one before it.

    Raises:
        StoppedError: A signal has come.
    """
    first_ms, started_s = None, now_s()
    for part in recorded:
        yield part.rows.without_data()
        begin = 0
        for index, time_ms in enumerate(part.times_ms):
            if time_ms is None:
                continue
            if first_ms is None:
                first_ms, started_s = time_ms, now_s()
            due_s = started_s + (time_ms - first_ms) / 1000 / speed
            if due_s - now_s() > _SOON_S:
                yield part.rows.part(begin, index)
                begin = index
                with stopping.waiting():
                    while (wait_s := due_s - now_s()) > 0:
                        sleep(min(wait_s, _LONGEST_SLEEP_S))
        yield part.rows.part(begin, len(part.times_ms))
