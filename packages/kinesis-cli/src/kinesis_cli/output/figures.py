"""Numbers and times as people read them."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from functools import lru_cache

_LONG_NUMBER = re.compile(r"\d{9,}(\d{12})")
_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000))


def show_duration(ms: float) -> str:
    """Return *ms* milliseconds in one or two units, such as `850 ms`, `3.2 s` or `1 h 4 min`."""
    if ms < 999.5:
        return f"{ms:.0f} ms"
    if ms < 59_950:
        return f"{ms / 1000:.1f} s"
    rest = round(ms / 1000) * 1000
    parts: list[tuple[int, str]] = []
    for unit, size in _UNITS:
        count, rest = divmod(rest, size)
        if count or parts:
            parts.append((count, unit))
    return " ".join(f"{count} {unit}" for count, unit in parts[:2] if count)


def show_ago(ms: float) -> str:
    """Return how long ago something was, such as `3 min ago`. A time that is ahead by another clock was just now."""
    return f"{show_duration(max(0, ms))} ago"


def show_bytes(count: float) -> str:
    """Return a number of bytes in a binary unit, such as `1.5 MiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1023.95 or unit == "GiB":
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError


def show_count(count: float) -> str:
    """Return a number with commas between thousands, and one decimal if it is below 10 and not whole."""
    return f"{count:.1f}" if count < 10 and count != int(count) else f"{count:,.0f}"


def show_number(count: int, thing: str) -> str:
    """Return how many there are of a thing, such as `1 shard` or `2,000 shards`."""
    return f"{show_count(count)} {thing}{'s' * (count != 1)}"


def show_position(position: str | None) -> str:
    """Return *position* with the last digits of a sequence number only: the first ones hardly differ. `-` for None."""
    return "-" if position is None else _LONG_NUMBER.sub(r"…\1", position)


def show_time(ms: int | None) -> str:
    """Return a time as ISO 8601 in UTC with milliseconds; `-` for None."""
    if ms is None:
        return "-"
    return f"{_show_second(ms // 1000)}.{ms % 1000:03d}Z"


@lru_cache(maxsize=256)  # records of one second follow each other
def _show_second(s: int) -> str:
    return f"{datetime.fromtimestamp(s, timezone.utc):%Y-%m-%dT%H:%M:%S}"
