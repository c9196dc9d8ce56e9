"""Many writers and readers at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kinesis_emulator import Emulator

WRITERS, BATCHES, BATCH = 4, 10, 50


def test_concurrent_writers_lose_nothing_and_readers_see_order(
    emulator: Emulator, client: Any, read_all: Any
) -> None:
    """While shards are split, every acknowledged record is there once, in its acknowledged shard, in order."""

    def write(writer: int) -> list[tuple[str, str, bytes]]:
        acknowledged = []
        for batch in range(BATCHES):
            data = [f"{writer}-{batch}-{i}".encode() for i in range(BATCH)]
            entries = [{"Data": item, "PartitionKey": item.decode()} for item in data]
            results = client.put_records(StreamName="orders", Records=entries)["Records"]
            acknowledged += [
                (result["ShardId"], result["SequenceNumber"], item)
                for result, item in zip(results, data, strict=True)
            ]
        return acknowledged

    with ThreadPoolExecutor(WRITERS) as pool:
        futures = [pool.submit(write, writer) for writer in range(WRITERS)]
        for _ in range(3):
            emulator.split("orders", emulator.shard_ids("orders")[0])
        acknowledged = [entry for future in futures for entry in future.result()]

    seen = []
    for shard in client.list_shards(StreamName="orders")["Shards"]:
        records = read_all(client, shard_id=shard["ShardId"])
        numbers = [int(record["SequenceNumber"]) for record in records]
        assert numbers == sorted(numbers)
        seen += [(shard["ShardId"], record["SequenceNumber"], record["Data"]) for record in records]
    assert sorted(seen) == sorted(acknowledged)
    assert len(seen) == WRITERS * BATCHES * BATCH
