"""Times as messages show them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

HOUR_MS = 3_600_000
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def show_time(epoch_ms: int) -> str:
    """
    Return a time as people read it: `2026-01-31 09:00:00 UTC`, with milliseconds if it has any.

    A time that no calendar holds, as a damaged offset may have, is shown in milliseconds since the epoch.
    """
    try:
        moment = _EPOCH + timedelta(milliseconds=epoch_ms)
    except OverflowError:
        return f"{epoch_ms} ms since the epoch"
    precision = "milliseconds" if epoch_ms % 1000 else "seconds"
    return f"{moment.replace(tzinfo=None).isoformat(' ', precision)} UTC"
