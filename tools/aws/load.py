"""A producer of numbered records that runs while shards are split and merged, and what the stream holds afterwards."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Any

from attrs import define, field

from kinesis_core import Producer, ProducerSettings, Stream
from tools.aws.kit import Kit
from tools.aws.prices import put_units
from tools.consumer_chaos.load import key_of

Place = tuple[str, str, int]
"""Shard, sequence number and sub-sequence number. It names one user record."""
CHUNKS = 60
USAGE = {"shard_hours": 2 + 2 + 1}
"""A stream of two shards, one of which is split, and two of which are merged."""


def usage(records: int) -> dict[str, float]:
    """Return what a stream with such a producer uses, if each record is sent alone and twice."""
    return {**USAGE, "put_units": 2 * records}


@define
class Load:
    """Writes to one stream, in a thread: every other chunk in aggregates. A context manager."""

    kit: Kit
    stream: str
    written: int = 0
    error: BaseException | None = None
    reshards: int = 0
    _thread: threading.Thread = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(60)

    @property
    def is_done(self) -> bool:
        return not self._thread.is_alive()

    def check(self) -> None:
        """Raise the error of the producer, if it has failed."""
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        try:
            self._write()
        except BaseException as error:  # noqa: BLE001 # the step raises it
            self.error = error

    def _write(self) -> None:
        sizes, connection = self.kit.sizes, self.kit.target.connection()
        settings = [ProducerSettings(aggregation_enabled=is_aggregated) for is_aggregated in (True, False)]
        producers = [Producer.open(self.stream, **connection, settings=each) for each in settings]
        self.kit.use(put_units=put_units(100, 2 * sizes.records))
        started_s = time.monotonic()
        for chunk in range(CHUNKS):
            numbers = range(self.written, sizes.records * (chunk + 1) // CHUNKS)
            producers[chunk % 2].put_columns(
                [b"%d" % number for number in numbers], [key_of(number) for number in numbers]
            )
            producers[chunk % 2].flush()
            self.written = numbers.stop
            if chunk == CHUNKS // 3:
                self._reshard(self.kit.split)
            if chunk == 2 * CHUNKS // 3:
                self._reshard(self.kit.merge)
            ends_s = started_s + sizes.load_s * (chunk + 1) / CHUNKS
            time.sleep(max(0.0, ends_s - time.monotonic()))
        for producer in producers:
            producer.close()

    def _reshard(self, change: Any) -> None:
        """Change the shards in another thread, so that records are written meanwhile."""

        def run() -> None:
            try:
                change(self.stream)
                self.reshards += 1
            except BaseException as error:  # noqa: BLE001 # the step raises it
                self.error = error

        threading.Thread(target=run, daemon=True).start()


def contents(kit: Kit, stream: str) -> dict[Place, tuple[str, int]]:
    """Return the key and the number of each user record in the stream."""
    with Stream.open(stream, **kit.target.connection()) as opened:
        records = opened.read("TRIM_HORIZON").records()
        return {
            (record.shard_id, record.sequence_number, record.sub_sequence_number): (
                str(record.partition_key),
                int(record.data),
            )
            for record in records
        }


def check_numbers(kit: Kit, what: str, count: int, numbers: Iterable[int]) -> None:
    """Check that all numbers up to *count* are there."""
    missing = set(range(count)) - set(numbers)
    kit.findings.check(
        f"{what} holds each of the {count} numbers", not missing, f"{len(missing)} are missing"
    )
