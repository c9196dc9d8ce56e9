"""The stream of a run: numbered records, aggregated and plain, and splits and merges."""

from __future__ import annotations

import random
from collections.abc import Iterator
from hashlib import md5

from attrs import define, field

from kinesis_core import Producer, ProducerSettings, Stream
from support.streams import StreamUnderTest, connection_to
from tools.consumer_chaos.journal import position_of
from tools.consumer_chaos.verdict import StoredRecord
from tools.consumer_chaos.worker import STREAM

KEYS = 200
SHARDS, MOST_SHARDS = 4, 8
PLAIN_SHARE = 4
"""Of so many turns one writes plain records."""
_AGGREGATED = ProducerSettings(record_max_buffered_time_s=0.02, aggregation_max_size=600)
_PLAIN = ProducerSettings(record_max_buffered_time_s=0.02, aggregation_enabled=False)


def hash_of(key: str) -> int:
    return int.from_bytes(md5(key.encode(), usedforsecurity=False).digest(), "big")


def key_of(number: int) -> str:
    return f"key-{number % KEYS}"


@define
class Load:
    """Writes numbers in their order, so that those of one key are in order."""

    endpoint_url: str
    written: int = field(default=0, init=False)
    reshards: int = field(default=0, init=False)
    _stream: StreamUnderTest = field(init=False)
    _producers: list[Producer] = field(init=False)
    _turn: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self._stream = StreamUnderTest(self.endpoint_url, STREAM, SHARDS)
        connection = connection_to(self.endpoint_url)
        self._producers = [
            Producer.open(STREAM, **connection, settings=settings) for settings in (_AGGREGATED, _PLAIN)
        ]

    def write(self, count: int) -> None:
        """Write further records, and wait until they are in the stream."""
        self._turn += 1
        is_plain = self._turn % PLAIN_SHARE == 0
        numbers = range(self.written, self.written + (count // 10 if is_plain else count))
        producer = self._producers[is_plain]
        producer.put_columns(
            [str(number).encode() for number in numbers], [key_of(number) for number in numbers]
        )
        producer.flush()
        self.written = numbers.stop

    def reshard(self, rng: random.Random) -> None:
        """Split or merge some shard."""
        shards = len(self._stream.open_shards())
        if shards < MOST_SHARDS and (shards <= SHARDS // 2 or rng.random() < 0.5):
            self._stream.split(rng.randrange(shards))
        else:
            self._stream.merge(rng.randrange(shards - 1))
        self.reshards += 1

    def read(self) -> Iterator[StoredRecord]:
        """Yield all user records in the stream."""
        stream = Stream.open(STREAM, **connection_to(self.endpoint_url))
        ranges = self._stream.hash_ranges()
        for record in stream.read("TRIM_HORIZON").records():
            key = str(record.partition_key)
            low, high = ranges[record.shard_id]
            is_misrouted = not low <= hash_of(key) <= high
            yield StoredRecord(record.shard_id, position_of(record), key, int(record.data), is_misrouted)

    def close(self) -> None:
        for producer in self._producers:
            producer.close()
        self._stream.client.close()
