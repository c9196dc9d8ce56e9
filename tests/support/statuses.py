"""Streams whose status passes as calls are made: each call takes a second by the emulator's clock, and no test waits for one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

from kinesis_emulator import Emulator, Limits, ManualClock, Settings

STREAM = "orders"
RECORDS = [b"%d" % number for number in range(6)]
PASSING: Mapping[str, tuple[Literal["CREATING", "UPDATING"], float, float]] = {
    "CREATING": ("CREATING", 3, 0),
    "ACTIVE, but refusing": ("CREATING", 0, 5),
    "CREATING, then refusing": ("CREATING", 2, 4),
    "UPDATING": ("UPDATING", 5, 0),
}
"""Statuses that pass by themselves, with their lengths in calls or in seconds."""


@contextmanager
def emulator_in(status: str, *, is_filled: bool = True, by_calls: bool = True) -> Iterator[Emulator]:
    """
    Yield an emulator whose stream `orders` is in *status*. If it *is_filled* it has `RECORDS` in its two shards.

    Without *by_calls* the status passes with time, for programs that make calls whose refusal they ignore.
    """
    manual = ManualClock(time.time())
    clock = manual if by_calls else time.time
    settings = Settings(limits=Limits.unlimited(), resubscribe_after_s=0.0)
    with Emulator(settings=settings, clock=clock) as emulator:
        emulator.create_stream(STREAM, 1)
        if is_filled:
            for data in RECORDS[:3]:
                emulator.put(STREAM, data, data.decode())
        emulator.split(STREAM, emulator.shard_ids(STREAM)[0])
        if is_filled:
            for data in RECORDS[3:]:
                emulator.put(STREAM, data, data.decode())
        if status == "DELETING":
            emulator.set_status(STREAM, "DELETING", 1e9)
        else:
            emulator.set_status(STREAM, *PASSING[status])
        settings.fault = lambda _: manual.advance(1)
        yield emulator
