"""The journal is rewritten when much of it is about records that are gone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kinesis_emulator import Emulator, Limits, ManualClock, Settings
from kinesis_emulator.journal import FILE, Journal
from kinesis_emulator.replay import replay

SHARD = "shardId-000000000000"
DAY_S = 24 * 3600
NewClient = Callable[..., Any]


def open_emulator(folder: Path, clock: ManualClock, **settings: Any) -> Emulator:
    return Emulator(
        settings=Settings(limits=Limits.unlimited(), keep_trimmed=False, **settings), clock=clock, data=folder
    )


def rewrite(folder: Path) -> None:
    """Rewrite the journal as a running emulator does once its file has grown, however small it is."""
    store = replay(Journal(folder, least_bytes=0), keep_trimmed=False)
    store.tidy_journal()
    store.close()


def facts_of(emulator: Emulator, client: Any, arn: str) -> tuple[Any, ...]:
    shards = client.list_shards(StreamARN=arn)["Shards"]
    numbers = [shard["SequenceNumberRange"]["StartingSequenceNumber"] for shard in shards]
    summary = client.describe_stream_summary(StreamARN=arn)["StreamDescriptionSummary"]
    consumers = client.list_stream_consumers(StreamARN=arn)["Consumers"]
    return shards, numbers, summary, consumers, emulator.records("orders"), emulator.shard_ids("orders")


@pytest.fixture
def eventful(tmp_path: Path, clock: ManualClock, new_client: NewClient) -> tuple[Any, ...]:
    """Keep a stream with every kind of change in the folder, and return its visible facts."""
    with (
        open_emulator(tmp_path, clock) as emulator,
        closing(new_client(emulator.endpoint_url)) as client,
    ):
        emulator.create_stream("gone")
        emulator.put("gone", b"gone")
        emulator.delete_stream("gone")
        arn = emulator.create_stream("orders", shards=3)
        for number in range(30):
            emulator.put("orders", b"%d" % number, partition_key=str(number))
        emulator.split("orders", SHARD)
        clock.advance(DAY_S - 10)
        emulator.merge("orders", "shardId-000000000001", "shardId-000000000002")
        emulator.scale("orders", 4)
        for number in range(30, 60):
            emulator.put("orders", b"%d" % number, partition_key=str(number), omit=["PartitionKey"])
        client.update_max_record_size(StreamARN=arn, MaxRecordSizeInKiB=2048)
        for name in ("stays", "goes"):
            emulator.register_consumer("orders", name)
        emulator.deregister_consumer("orders", "goes")
        clock.advance(20)
        client.put_record(StreamName="orders", Data=b"last", PartitionKey="a")
        client.increase_stream_retention_period(StreamName="orders", RetentionPeriodHours=48)
        emulator.trim("orders", emulator.shard_ids("orders")[0], 1)
        return facts_of(emulator, client, arn)


def test_everything_is_there_again(
    tmp_path: Path, clock: ManualClock, new_client: NewClient, eventful: tuple[Any, ...]
) -> None:
    """Streams restored from the rewritten file, which is smaller, have the same visible facts."""
    before = (tmp_path / FILE).stat().st_size
    rewrite(tmp_path)
    assert (tmp_path / FILE).stat().st_size < before
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    with (
        open_emulator(tmp_path, clock) as emulator,
        closing(new_client(emulator.endpoint_url)) as client,
    ):
        arn = eventful[2]["StreamARN"]
        assert facts_of(emulator, client, arn) == eventful
        assert client.list_streams()["StreamNames"] == ["orders"]


def test_rewriting_twice_changes_nothing(tmp_path: Path, eventful: tuple[Any, ...]) -> None:
    """Rewriting a rewritten file gives the same file."""
    assert eventful
    rewrite(tmp_path)
    once = (tmp_path / FILE).read_bytes()
    rewrite(tmp_path)
    assert (tmp_path / FILE).read_bytes() == once


def test_numbers_continue(tmp_path: Path, clock: ManualClock, new_client: NewClient) -> None:
    """Old positions are valid, new numbers are higher, and a recreated stream has no number of the deleted one."""
    with open_emulator(tmp_path, clock) as emulator:
        emulator.create_stream("orders")
        numbers = [int(emulator.put("orders", b"%d" % n).sequence_number) for n in range(3)]
        emulator.trim("orders", SHARD, 3)
        emulator.create_stream("gone")
        gone = emulator.put("gone", b"gone").sequence_number
        emulator.delete_stream("gone")
    rewrite(tmp_path)
    with (
        open_emulator(tmp_path, clock) as emulator,
        closing(new_client(emulator.endpoint_url)) as client,
    ):
        last = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": str(numbers[-1])}
        iterator = client.get_shard_iterator(StreamName="orders", ShardId=SHARD, **last)["ShardIterator"]
        new = emulator.put("orders", b"new")
        assert int(new.sequence_number) > numbers[-1]
        [record] = client.get_records(ShardIterator=iterator)["Records"]
        assert record["SequenceNumber"] == new.sequence_number
        emulator.create_stream("gone")
        assert int(emulator.put("gone", b"recreated").sequence_number) > int(gone)


@pytest.mark.tests
def test_the_file_is_bounded(tmp_path: Path, clock: ManualClock, new_client: NewClient) -> None:
    """While old records expire, the file of a running emulator stays within bounds, with concurrent writers."""
    sizes: list[int] = []
    with open_emulator(tmp_path, clock, shard_capacity_records=2) as emulator:
        emulator.create_stream("orders")
        emulator.create_stream("audit")
        writers = [
            threading.Thread(target=put_many, args=(new_client, emulator, stream, tmp_path / FILE, sizes))
            for stream in ("orders", "audit")
        ]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        last = {stream: emulator.records(stream) for stream in ("orders", "audit")}
    assert len(sizes) == 60
    assert max(sizes) < 40 * 1024 * 1024
    with open_emulator(tmp_path, clock) as emulator:
        assert {stream: emulator.records(stream) for stream in last} == last


def put_many(new_client: NewClient, emulator: Emulator, stream: str, file: Path, sizes: list[int]) -> None:
    with closing(new_client(emulator.endpoint_url)) as client:
        for _ in range(30):
            client.put_record(StreamName=stream, Data=b"x" * 1_000_000, PartitionKey="a")
            sizes.append(file.stat().st_size)
