"""Many writers and readers at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from botocore.exceptions import ClientError

from kinesis_emulator import Emulator, ManualClock
from support.waiting import wait_until

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


class CountingClock(ManualClock):
    """A clock that counts how often it is read."""

    reads = 0

    def __call__(self) -> float:
        self.reads += 1
        return super().__call__()


def test_of_two_changes_at_once_one_is_accepted(new_client: Any) -> None:
    """Two splits that have both seen an ACTIVE stream: the one that comes second to the stream's lock is refused."""
    clock = CountingClock()
    with Emulator(clock=clock) as emulator, ThreadPoolExecutor(2) as pool:
        arn = emulator.create_stream("orders", shards=2)
        client = new_client(emulator.endpoint_url)

        def split(number: int) -> str:
            start = str(number * 2**127 + 9)
            shard_id = f"shardId-{number:012d}"
            try:
                client.split_shard(StreamName="orders", ShardToSplit=shard_id, NewStartingHashKey=start)
            except ClientError as error:
                return str(error.response["Error"]["Code"])
            return "accepted"

        before = clock.reads
        with emulator._service.store.get(arn).lock:
            results = [pool.submit(split, number) for number in range(2)]
            wait_until(lambda: clock.reads >= before + 2)  # each has looked up the stream
        assert sorted(one.result() for one in results) == ["ResourceInUseException", "accepted"]
        emulator.advance(1)
        assert len(emulator.shard_ids("orders")) == 3
        client.close()
