"""Much traffic at once, so that a shard is hot however slow the machine is that looks at it."""

from __future__ import annotations

from collections.abc import Sequence

from kinesis_emulator import Emulator

RECORDS = 40_000
"""As many as a shard accepts in 40 seconds. A new stream is judged by the time since it was created, which is less."""


def burst(
    emulator: Emulator, stream: str, keys: Sequence[str] = ("k",), explicit_hash_key: int | None = None
) -> None:
    """Write many small records, with each of *keys* in turn."""
    for number in range(RECORDS):
        emulator.put(stream, b"", keys[number % len(keys)], explicit_hash_key)
