"""
Put records until a stop file exists, and write a line to another file for each acknowledged record.

    python -m tools.chaos.producing ENDPOINT_URL STREAM FOLDER

The numbers of a key increase record by record: the next one is put once the one before is acknowledged.
"""

from __future__ import annotations

import itertools
import sys
import time
import uuid
from pathlib import Path

from kinesis_core import KinesisError, Producer, ProducerSettings
from support.streams import connection_to

KEYS = [f"key-{number:02}" for number in range(48)]
PERIOD_S = 0.4
STOP, ACKNOWLEDGED = "stop-producing", "acknowledged"
_SETTINGS = ProducerSettings(aggregation_enabled=False, record_max_buffered_time_s=0.01)


def main(endpoint_url: str, stream: str, folder: Path) -> None:
    producer: Producer | None = None
    with (folder / ACKNOWLEDGED).open("wb") as acknowledged:
        for number in itertools.count():
            data = [f"{key} {number} {uuid.uuid4()}".encode() for key in KEYS]
            while (producer := _put(producer, endpoint_url, stream, data)) is None:
                time.sleep(PERIOD_S)
            acknowledged.writelines(line + b"\n" for line in data)
            acknowledged.flush()
            if (folder / STOP).exists():
                break
            time.sleep(PERIOD_S)
    if producer is not None:
        producer.close()


def _put(producer: Producer | None, endpoint_url: str, stream: str, data: list[bytes]) -> Producer | None:
    """Return the producer when all of *data* is in the stream; None when a new producer must try again."""
    try:
        producer = producer or _open(endpoint_url, stream)
        producer.put_columns(data, KEYS)
        producer.flush()
    except KinesisError as error:
        sys.stderr.write(f"put again: {error}\n")
        if producer is not None:
            producer.abort()
        return None
    return producer


def _open(endpoint_url: str, stream: str) -> Producer:
    return Producer.open(stream, **connection_to(endpoint_url), settings=_SETTINGS)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
