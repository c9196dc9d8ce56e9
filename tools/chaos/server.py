"""
A Kinesis with its data on disk, in a process that can be killed.

    python -m tools.chaos.server PORT FOLDER

Lines `SHARE SEED` on its standard input change the faults. It ends with that input, and so with its parent. A file beside
the data grows by a byte with each fault, so that their count survives too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from kinesis_emulator import Emulator, Fault, Limits, RandomFaults, Request, Settings

READY = "ready"
COUNT = "faults"


def main(port: int, folder: Path) -> None:
    limits = replace(Limits.unlimited(), scalings_per_day=None)  # a run is a day in an hour
    settings = Settings(limits=limits, keep_trimmed=False)
    with Emulator(port, settings=settings, data=folder), (folder / COUNT).open("ab", buffering=0) as count:
        sys.stdout.write(f"{READY}\n")
        sys.stdout.flush()
        for line in sys.stdin:
            share, seed = line.split()
            settings.fault = _counted(RandomFaults(int(seed), float(share)), count)


def _counted(plan: Callable[[Request], Fault | None], count: BinaryIO) -> Callable[[Request], Fault | None]:
    def next_fault(request: Request) -> Fault | None:
        fault = plan(request)
        if fault is not None:
            count.write(b".")
        return fault

    return next_fault


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
