"""What lives as long as a Python worker of Spark does."""

from __future__ import annotations

import gc

FREEZING_READS = 2
"""The first read imports most of what is ever imported, and leaves the rest to the second."""

_reads = 0


def freeze_heap() -> None:
    """
    Take what is loaded by now out of the garbage collector's sight, in the first reads of a worker.

    Spark collects garbage between two tasks of a worker, and a collection looks at every object of every
    imported module: pandas, pyarrow and botocore make that 45 ms a task, against 2 ms afterwards. The price: what
    is alive now is freed by reference counting only, should it ever become garbage.
    """
    global _reads
    if _reads < FREEZING_READS:
        _reads += 1
        gc.collect()
        gc.freeze()
