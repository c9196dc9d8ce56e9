"""The first task of a new Python process prints whether it froze the heap. Its input is the half, and the options, as JSON."""

from __future__ import annotations

import faulthandler
import gc
import json
import sys

from effects.observed.world import SOURCE, Options
from support.halves import batch_reader, payloads, write

HANGS_S = 600
"""A process that has not ended by then shows where it stands, and fails."""


def run_first_task(half: str, options: Options) -> None:
    if half == SOURCE.name:
        reader = batch_reader(options)
        payloads(reader, reader.partitions())
    else:
        write(options, ["one"])


if __name__ == "__main__":
    faulthandler.dump_traceback_later(HANGS_S, exit=True)
    run_first_task(*json.load(sys.stdin))
    json.dump(gc.get_freeze_count() > 0, sys.stdout)
