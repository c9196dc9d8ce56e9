"""Much traffic at once, so that a shard is hot however slow the machine is that looks at it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from kinesis_emulator import Emulator, Limits, Settings

RECORDS = 40_000
"""As many as a shard accepts in 40 seconds. A new stream is judged by the time since it was created, which is less."""
AT_ONCE = 12_000
"""Enough where the clock stands: only a command that itself stalls for ten seconds counts more than one second."""


def standing_emulator() -> Emulator:
    """Return an emulator whose clock stands: what is written to it comes at once, however long that takes."""
    now_s = time.time()
    return Emulator(settings=Settings(limits=Limits.unlimited()), clock=lambda: now_s)


def burst(
    emulator: Emulator,
    stream: str,
    keys: Sequence[str] = ("k",),
    explicit_hash_key: int | None = None,
    records: int = RECORDS,
) -> None:
    """Write many small records, with each of *keys* in turn."""
    for number in range(records):
        emulator.put(stream, b"", keys[number % len(keys)], explicit_hash_key)
