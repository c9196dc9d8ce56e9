"""
A worker of a group that reads all shards of a canned stream, whose program is slow, and that prints its largest memory in bytes.

    python -m tests.bench.group_worker URL SHARDS RECORDS MAX_BUFFERED_BYTES

It works on each batch until no further page comes, so its memory is as full as it may be.
"""

from __future__ import annotations

import os
import sys
import time

from kinesis_consumer import ConsumerGroup, GroupSettings, MemoryLeases
from tests.bench.canned import CannedStream
from tests.bench.memory import peak_bytes
from tests.support.streams import KEY_ID, SECRET

STILL_S = 0.05
"""Nothing comes any more if this often nothing has come."""
LOOKS = 4


def command(stream: CannedStream, endpoint_url: str, max_buffered_bytes: int) -> list[str]:
    """Return the command that reads all of *stream*."""
    records = stream.shards * stream.pages * stream.records
    return [
        sys.executable,
        "-m",
        __name__,
        endpoint_url,
        str(stream.shards),
        str(records),
        str(max_buffered_bytes),
    ]


def main(endpoint_url: str, shards: str, records: str, max_buffered_bytes: str) -> None:
    os.environ |= {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET}
    stream = CannedStream()
    group = ConsumerGroup.open(
        stream.name,
        "memory",
        leases=MemoryLeases(),
        region=stream.region,
        endpoint_url=endpoint_url,
        start="TRIM_HORIZON",
        settings=GroupSettings(
            max_buffered_bytes=int(max_buffered_bytes), fetch_threads=int(shards), max_fetch_rate_bytes=1e12
        ),
    )
    left = int(records)
    with group:
        memory = group._threads.worker.leases.memory
        while left:
            batch = next(group)
            used_bytes, looks = memory.used_bytes, LOOKS
            while looks:
                time.sleep(STILL_S)
                before, used_bytes = used_bytes, memory.used_bytes
                looks = looks - 1 if used_bytes == before else LOOKS
            left -= sum(1 for _ in batch.records())
            batch.commit()
    sys.stdout.write(f"{peak_bytes()}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
