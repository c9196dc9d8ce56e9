"""Streams that are kept in a folder and restored from it."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from kinesis_emulator import Emulator, EmulatorProcess, Limits, ManualClock, Settings
from kinesis_emulator.journal import FILE

GOLDEN = Path(__file__).parents[2] / "golden" / "emulator" / "version-1.journal"
SHARD = "shardId-000000000000"
NewClient = Callable[..., Any]


@contextmanager
def kept_in(folder: Path, clock: ManualClock) -> Iterator[Emulator]:
    with Emulator(settings=Settings(limits=Limits.unlimited()), clock=clock, data=folder) as emulator:
        yield emulator


def listed(client: Any) -> list[dict[str, Any]]:
    shards: list[dict[str, Any]] = client.list_shards(StreamName="orders")["Shards"]
    return shards


def test_everything_is_there_again(tmp_path: Path, clock: ManualClock, new_client: NewClient) -> None:
    """Records, shards with their lineage, consumers and settings of a stream are the same after a restart."""
    with kept_in(tmp_path, clock) as emulator, closing(new_client(emulator.endpoint_url)) as client:
        arn = emulator.create_stream("orders", shards=2)
        emulator.put("orders", b"before", explicit_hash_key=0)
        children = emulator.split("orders", SHARD)
        emulator.merge("orders", children[1], "shardId-000000000001")
        emulator.put("orders", b"after", partition_key="ü", omit=["PartitionKey"])
        client.increase_stream_retention_period(StreamName="orders", RetentionPeriodHours=48)
        client.update_max_record_size(StreamARN=arn, MaxRecordSizeInKiB=2048)
        for name in ("stays", "goes"):
            emulator.register_consumer("orders", name)
        emulator.deregister_consumer("orders", "goes")
        emulator.create_stream("gone")
        emulator.delete_stream("gone")
        before = facts_of(emulator, client, arn)
    with kept_in(tmp_path, clock) as emulator, closing(new_client(emulator.endpoint_url)) as client:
        assert facts_of(emulator, client, arn) == before
        assert client.list_streams()["StreamNames"] == ["orders"]


def facts_of(emulator: Emulator, client: Any, arn: str) -> tuple[Any, ...]:
    summary = client.describe_stream_summary(StreamARN=arn)["StreamDescriptionSummary"]
    consumers = client.list_stream_consumers(StreamARN=arn)["Consumers"]
    return summary, listed(client), consumers, emulator.records("orders"), emulator.shard_ids("orders")


def test_a_folder_of_version_1_is_read(tmp_path: Path, clock: ManualClock, new_client: NewClient) -> None:
    """The golden file has every kind of line of version 1, and restores the streams that wrote it."""
    shutil.copy(GOLDEN, tmp_path / FILE)
    clock.advance(25 * 3600)
    with kept_in(tmp_path, clock) as emulator, closing(new_client(emulator.endpoint_url)) as client:
        summary = client.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]
        consumers = client.list_stream_consumers(StreamARN=summary["StreamARN"])["Consumers"]
        records = emulator.records("orders")
        assert client.list_streams()["StreamNames"] == ["orders", "teas"]
        assert emulator.shard_ids("orders") == ["shardId-000000000002", "shardId-000000000004"]
    assert (summary["RetentionPeriodHours"], summary["MaxRecordSizeInKiB"]) == (48, 2048)
    assert [consumer["ConsumerName"] for consumer in consumers] == ["stays"]
    assert [(record.data.decode(), record.partition_key) for record in records] == [
        ("before", "a"),
        ("first", "b"),
        ("last", "d"),
        ("größer", "ü"),
        ("third", None),
    ]
    assert records[-1].sequence_number == "49646467121581730334257026775178629247232639260273147970"


def test_reading_and_writing_continue(tmp_path: Path, clock: ManualClock, new_client: NewClient) -> None:
    """Iterators survive a restart, sequence numbers keep increasing, and a second restart has everything."""
    with kept_in(tmp_path, clock) as emulator, closing(new_client(emulator.endpoint_url)) as client:
        emulator.create_stream("orders")
        emulator.put("orders", b"1")
        start = {"StreamName": "orders", "ShardId": SHARD, "ShardIteratorType": "TRIM_HORIZON"}
        iterator = client.get_shard_iterator(**start)["ShardIterator"]
    with kept_in(tmp_path, clock) as emulator:
        emulator.put("orders", b"2")
        emulator.split("orders", SHARD)
    with kept_in(tmp_path, clock) as emulator, closing(new_client(emulator.endpoint_url)) as client:
        page = client.get_records(ShardIterator=iterator)
        assert [record["Data"] for record in page["Records"]] == [b"1", b"2"]
        assert len(page["ChildShards"]) == 2
        numbers = [int(record["SequenceNumber"]) for record in page["Records"]]
        assert numbers == sorted(set(numbers))


def test_what_left_retention_does_not_come_back(tmp_path: Path, clock: ManualClock) -> None:
    """Trimmed records stay away after a restart, also when the retention was raised meanwhile."""
    with kept_in(tmp_path, clock) as emulator:
        emulator.create_stream("orders")
        for data in (b"1", b"2"):
            emulator.put("orders", data)
        emulator.trim("orders", SHARD, 1)
    settings = Settings(limits=Limits.unlimited(), keep_trimmed=False)
    with Emulator(settings=settings, clock=clock, data=tmp_path) as emulator:
        assert [record.data for record in emulator.records("orders")] == [b"2"]


def test_a_recreated_stream_is_another_one(tmp_path: Path, clock: ManualClock) -> None:
    """After a restart a stream that was deleted and created again has only its own records."""
    with kept_in(tmp_path, clock) as emulator:
        for data in (b"old", b"new"):
            emulator.create_stream("orders")
            number = emulator.put("orders", data).sequence_number
            if data == b"old":
                emulator.delete_stream("orders")
    with kept_in(tmp_path, clock) as emulator:
        assert [record.sequence_number for record in emulator.records("orders")] == [number]


def test_a_line_that_was_cut_short_is_dropped(tmp_path: Path, clock: ManualClock) -> None:
    """A line that a kill cut short was never acknowledged. The file continues without it."""
    with kept_in(tmp_path, clock) as emulator:
        emulator.create_stream("orders")
        emulator.put("orders", b"1")
    file = tmp_path / FILE
    file.write_bytes(file.read_bytes() + b'P 1 0 1 1700000000000 {"Seq')
    with kept_in(tmp_path, clock) as emulator:
        emulator.put("orders", b"2")
    with kept_in(tmp_path, clock) as emulator:
        assert [record.data for record in emulator.records("orders")] == [b"1", b"2"]


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    """A file that is not a journal is not changed, and the error names it."""
    (tmp_path / FILE).write_text("something else\n")
    with pytest.raises(ValueError, match=f"{FILE} is not a journal"):
        Emulator(data=tmp_path)
    assert (tmp_path / FILE).read_text() == "something else\n"


@pytest.mark.tests
def test_acknowledged_records_outlive_a_kill(tmp_path: Path, new_client: NewClient) -> None:
    """After `kill -9` another emulator on the same port and folder has every acknowledged record."""
    with EmulatorProcess({"orders": 2}, data=tmp_path) as emulator:
        port = emulator.port
        with closing(new_client(emulator.endpoint_url)) as client:
            records = [{"Data": str(i), "PartitionKey": str(i)} for i in range(100)]
            put = client.put_records(StreamName="orders", Records=records)
        os.kill(emulator.pid, signal.SIGKILL)
    with (
        EmulatorProcess({"orders": 2}, data=tmp_path, port=port) as emulator,
        closing(new_client(emulator.endpoint_url)) as client,
    ):
        found = {record["SequenceNumber"] for shard in listed(client) for record in read(client, shard)}
    assert found == {result["SequenceNumber"] for result in put["Records"]}


def read(client: Any, shard: dict[str, Any]) -> list[dict[str, Any]]:
    start = {"StreamName": "orders", "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    records: list[dict[str, Any]] = client.get_records(**iterator_of(client, start))["Records"]
    return records


def iterator_of(client: Any, start: dict[str, str]) -> dict[str, str]:
    return {"ShardIterator": client.get_shard_iterator(**start)["ShardIterator"]}


@pytest.mark.tests
def test_a_child_process_may_be_ahead_of_our_clock(new_client: NewClient) -> None:
    """The child's clock, and so the Date of its responses, is ahead by the given time."""
    with (
        EmulatorProcess({"orders": 1}, clock_skew_s=7200) as emulator,
        closing(new_client(emulator.endpoint_url)) as client,
    ):
        headers = client.list_streams()["ResponseMetadata"]["HTTPHeaders"]
    ahead_s = parsedate_to_datetime(headers["date"]).timestamp() - time.time()
    assert 7000 < ahead_s < 7400


@pytest.mark.tests
def test_a_child_process_may_fail_by_seed(new_client: NewClient) -> None:
    """With a share of 1 every call of the child fails in some way."""
    with (
        EmulatorProcess({"orders": 1}, fault_share=1.0, fault_seed=7) as emulator,
        closing(new_client(emulator.endpoint_url)) as client,
    ):
        assert [shards_or_none(client) for _ in range(10)] == [None] * 10


def shards_or_none(client: Any) -> Any:
    try:
        return client.list_shards(StreamName="orders").get("Shards")
    except (BotoCoreError, ClientError):
        return None
