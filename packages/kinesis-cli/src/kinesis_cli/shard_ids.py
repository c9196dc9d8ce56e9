"""Shard ids as people type them."""

from __future__ import annotations

_DIGITS = 12
"""Minimum length of the number in a shard id."""


def full_shard_id(text: str) -> str:
    """Return the id that *text* names: a whole id, or the number in it."""
    return f"shardId-{int(text):0{_DIGITS}d}" if text.isdecimal() else text
