"""Streams that are kept in a folder and restored from it."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from kinesis_emulator import Emulator, EmulatorProcess, Limits, ManualClock, Settings
from kinesis_emulator.cli import main
from kinesis_emulator.folder import EARLIER_FILE, FILE

GOLDEN = Path(__file__).parents[2] / "golden" / "emulator" / "version-2.sql"
SHARD = "shardId-000000000000"
DAY_S = 24 * 3600
NewClient = Callable[..., Any]


def kept_in(folder: Path, clock: ManualClock, **settings: Any) -> Emulator:
    return Emulator(settings=Settings(limits=Limits.unlimited(), **settings), clock=clock, data=folder)


def data_of(emulator: Emulator, stream: str = "orders") -> list[bytes]:
    return [record.data for record in emulator.records(stream)]


def facts_of(emulator: Emulator, client: Any) -> tuple[Any, ...]:
    summary = client.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]
    shards = client.list_shards(StreamName="orders")["Shards"]
    consumers = client.list_stream_consumers(StreamARN=summary["StreamARN"])["Consumers"]
    records = emulator.records("orders")
    return client.list_streams(), summary, shards, consumers, records, emulator.shard_ids("orders")


def without_metadata(facts: tuple[Any, ...]) -> tuple[Any, ...]:
    return facts[0]["StreamNames"], *facts[1:]


def make_eventful(emulator: Emulator, client: Any, clock: ManualClock) -> None:
    """Make every kind of change to the streams of *emulator*."""
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
        emulator.put("orders", b"%d" % number, partition_key="ü", omit=["PartitionKey"])
    client.update_max_record_size(StreamARN=arn, MaxRecordSizeInKiB=2048)
    for name in ("stays", "goes"):
        emulator.register_consumer("orders", name)
    emulator.deregister_consumer("orders", "goes")
    clock.advance(20)
    client.put_record(StreamName="orders", Data=b"last", PartitionKey="a")
    emulator.settings.stream_updating_s = 10
    client.increase_stream_retention_period(StreamName="orders", RetentionPeriodHours=48)
    emulator.trim("orders", emulator.shard_ids("orders")[0], 1)


@pytest.mark.parametrize("keep_trimmed", [True, False], ids=["kept", "freed"])
def test_everything_is_there_again(
    keep_trimmed: bool, tmp_path: Path, clock: ManualClock, new_client: NewClient
) -> None:
    """Records, shards with their lineage, consumers and settings of a stream are the same after each restart."""
    found = []
    for restart in range(3):
        with (
            kept_in(tmp_path, clock, keep_trimmed=keep_trimmed) as emulator,
            closing(new_client(emulator.endpoint_url)) as client,
        ):
            if restart == 0:
                make_eventful(emulator, client, clock)
            found.append(without_metadata(facts_of(emulator, client)))
    assert found == [found[0]] * 3
    assert found[0][0] == ["orders"]
    assert found[0][1]["StreamStatus"] == "UPDATING"


def test_a_folder_of_version_2_is_read(tmp_path: Path, clock: ManualClock, new_client: NewClient) -> None:
    """The golden file restores the streams that wrote it."""
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        connection.executescript(GOLDEN.read_text())
    clock.advance(25 * 3600)
    with kept_in(tmp_path, clock) as emulator, closing(new_client(emulator.endpoint_url)) as client:
        _, summary, _, consumers, records, shard_ids = facts_of(emulator, client)
        assert client.list_streams()["StreamNames"] == ["orders", "teas"]
    assert shard_ids == ["shardId-000000000002", "shardId-000000000004"]
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


def test_numbers_continue_where_nothing_is_left(
    tmp_path: Path, clock: ManualClock, new_client: NewClient
) -> None:
    """Old positions are valid, new numbers are higher, and a recreated stream has no number or record of the deleted one."""
    with kept_in(tmp_path, clock, keep_trimmed=False) as emulator:
        emulator.create_stream("orders")
        numbers = [int(emulator.put("orders", b"%d" % n).sequence_number) for n in range(3)]
        emulator.trim("orders", SHARD, 3)
        emulator.create_stream("gone")
        gone = emulator.put("gone", b"gone").sequence_number
        emulator.delete_stream("gone")
    with kept_in(tmp_path, clock) as emulator, closing(new_client(emulator.endpoint_url)) as client:
        last = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": str(numbers[-1])}
        iterator = client.get_shard_iterator(StreamName="orders", ShardId=SHARD, **last)["ShardIterator"]
        new = emulator.put("orders", b"new")
        assert int(new.sequence_number) > numbers[-1]
        [record] = client.get_records(ShardIterator=iterator)["Records"]
        assert record["SequenceNumber"] == new.sequence_number
        emulator.create_stream("gone")
        assert int(emulator.put("gone", b"recreated").sequence_number) > int(gone)
    with kept_in(tmp_path, clock) as emulator:
        assert data_of(emulator, "gone") == [b"recreated"]


def test_what_left_retention_does_not_come_back(
    tmp_path: Path, clock: ManualClock, new_client: NewClient
) -> None:
    """Expired records stay away after a restart when the retention was raised meanwhile."""
    with kept_in(tmp_path, clock) as emulator, closing(new_client(emulator.endpoint_url)) as client:
        emulator.create_stream("orders")
        emulator.put("orders", b"1")
        clock.advance(DAY_S + 1)
        emulator.put("orders", b"2")
        client.increase_stream_retention_period(StreamName="orders", RetentionPeriodHours=48)
    with kept_in(tmp_path, clock, keep_trimmed=False) as emulator:
        assert data_of(emulator) == [b"2"]


CHANGES: dict[str, Callable[[Emulator, Any, str], object]] = {
    "put": lambda emulator, _, __: emulator.put("orders", b"1"),
    "PutRecord": lambda _, client, arn: client.put_record(StreamARN=arn, Data=b"1", PartitionKey="a"),
    "PutRecords": lambda _, client, arn: client.put_records(
        StreamARN=arn, Records=[{"Data": b"1", "PartitionKey": key} for key in ("a", "b")]
    ),
    "trim": lambda emulator, _, __: emulator.trim("orders", SHARD, 1),
    "split": lambda emulator, _, __: emulator.split("orders", SHARD),
    "merge": lambda emulator, _, __: emulator.merge("orders", SHARD, "shardId-000000000001"),
    "scale": lambda emulator, _, __: emulator.scale("orders", 3),
    "retention": lambda _, client, arn: client.increase_stream_retention_period(
        StreamARN=arn, RetentionPeriodHours=48
    ),
    "size": lambda _, client, arn: client.update_max_record_size(StreamARN=arn, MaxRecordSizeInKiB=2048),
    "strategy": lambda emulator, _, __: emulator.distribute("orders", "AUTO"),
    "register": lambda emulator, _, __: emulator.register_consumer("orders", "audit"),
    "deregister": lambda _, client, arn: client.deregister_stream_consumer(
        StreamARN=arn, ConsumerName="search"
    ),
    "status": lambda emulator, _, __: emulator.set_status("orders", "UPDATING", 3600),
}


@pytest.mark.parametrize("change", CHANGES)
def test_each_change_is_kept(
    change: str, tmp_path: Path, clock: ManualClock, new_client: NewClient, read_all: Any
) -> None:
    """After a restart a stream is as a single change has left it, also UPDATING."""
    settings = {"stream_updating_s": 3600, "consumer_deleting_s": 3600}
    found = []
    for restart in range(2):
        with (
            kept_in(tmp_path, clock, **settings) as emulator,
            closing(new_client(emulator.endpoint_url)) as client,
        ):
            if restart == 0:
                arn = emulator.create_stream("orders", shards=2, strategy="USER_PARTITION_KEY")
                emulator.put("orders", b"0", explicit_hash_key=0)
                emulator.register_consumer("orders", "search")
                CHANGES[change](emulator, client, arn)
            found.append((*without_metadata(facts_of(emulator, client)), read_all(client)))
    assert found[1] == found[0]


def test_an_acknowledged_deletion_goes_on(tmp_path: Path, clock: ManualClock, new_client: NewClient) -> None:
    """A stream that is DELETING when the emulator ends is DELETING in the next one, and gone when its time has passed."""
    with kept_in(tmp_path, clock) as emulator, closing(new_client(emulator.endpoint_url)) as client:
        emulator.create_stream("orders")
        client.delete_stream(StreamName="orders")
    for wait_s, statuses in ((0, ["DELETING"]), (0.5, []), (0, [])):
        clock.advance(wait_s)
        with kept_in(tmp_path, clock) as emulator, closing(new_client(emulator.endpoint_url)) as client:
            listed = client.list_streams()["StreamSummaries"]
            assert [one["StreamStatus"] for one in listed] == statuses


def test_scalings_are_counted_across_restarts(
    tmp_path: Path, clock: ManualClock, new_client: NewClient
) -> None:
    """The ten calls of UpdateShardCount a day are those of the stream, not of the process."""
    with kept_in(tmp_path, clock) as emulator:
        emulator.create_stream("orders")
    for number in range(11):
        clock.advance(1)
        with kept_in(tmp_path, clock) as emulator, closing(new_client(emulator.endpoint_url)) as client:
            refused = pytest.raises(ClientError, match="LimitExceeded") if number == 10 else nullcontext()
            with refused:
                client.update_shard_count(
                    StreamName="orders", TargetShardCount=2 - number % 2, ScalingType="UNIFORM_SCALING"
                )


def test_mode_changes_are_counted_across_restarts(
    tmp_path: Path, clock: ManualClock, new_client: NewClient
) -> None:
    """The two changes of the capacity mode a day are those of the stream, not of the process."""
    with kept_in(tmp_path, clock) as emulator:
        arn = emulator.create_stream("orders")
    for number in range(3):
        clock.advance(1)
        with kept_in(tmp_path, clock) as emulator, closing(new_client(emulator.endpoint_url)) as client:
            mode = {"StreamMode": ("ON_DEMAND", "PROVISIONED")[number % 2]}
            refused = pytest.raises(ClientError, match="LimitExceeded") if number == 2 else nullcontext()
            with refused:
                client.update_stream_mode(StreamARN=arn, StreamModeDetails=mode)


def test_a_reshard_that_is_due_later_is_kept(
    tmp_path: Path, clock: ManualClock, new_client: NewClient
) -> None:
    """A split that was accepted is done by the next emulator, at its time."""
    with kept_in(tmp_path, clock) as emulator, closing(new_client(emulator.endpoint_url)) as client:
        emulator.create_stream("orders")
        client.split_shard(StreamName="orders", ShardToSplit=SHARD, NewStartingHashKey=str(2**127 + 1))
    with kept_in(tmp_path, clock) as emulator:
        assert emulator.shard_ids("orders") == [SHARD]
        clock.advance(0.5)
        assert emulator.shard_ids("orders") == ["shardId-000000000001", "shardId-000000000002"]
    with kept_in(tmp_path, clock) as emulator:
        assert len(emulator.shard_ids("orders")) == 2


def test_a_write_that_was_cut_short_is_dropped(
    tmp_path: Path, clock: ManualClock, new_client: NewClient
) -> None:
    """A request whose records a kill cut short was never acknowledged. None of them is there, and the file continues."""
    written, copy = tmp_path / "written", tmp_path / "copy"
    log = written / f"{FILE}-wal"
    records = [{"Data": b"x" * 10_000, "PartitionKey": "a"} for _ in range(10)]
    with kept_in(written, clock) as emulator, closing(new_client(emulator.endpoint_url)) as client:
        emulator.create_stream("orders")
        emulator.put("orders", b"1")
        before = log.stat().st_size
        client.put_records(StreamName="orders", Records=records)
        assert log.stat().st_size > before + 100_000
        shutil.copytree(written, copy)
    os.truncate(copy / log.name, before + 50_000)
    with kept_in(copy, clock) as emulator:
        assert data_of(emulator) == [b"1"]
        emulator.put("orders", b"2")
    with kept_in(copy, clock) as emulator:
        assert data_of(emulator) == [b"1", b"2"]


@pytest.mark.parametrize("damage", ["text", "cut", "state"])
def test_a_damaged_file_is_refused(damage: str, tmp_path: Path, clock: ManualClock) -> None:
    """The error names the file and says what to do. The file is not changed."""
    file = tmp_path / FILE
    with kept_in(tmp_path, clock) as emulator:
        emulator.create_stream("orders")
        for _ in range(100):
            emulator.put("orders", b"x" * 1000)
    match damage:
        case "text":
            file.write_text("something else\n" * 100)
        case "cut":
            os.truncate(file, file.stat().st_size // 2)
        case "state":
            with closing(sqlite3.connect(file)) as connection, connection:
                connection.execute("UPDATE streams SET state = '{'")
    before = file.read_bytes()
    with pytest.raises(ValueError, match=f"{FILE} is damaged, .* Remove it to start without streams"):
        Emulator(data=tmp_path)
    assert file.read_bytes() == before


def test_a_file_of_another_version_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The error names the file, of version 1 also what to do."""
    (tmp_path / EARLIER_FILE).write_text("kinesis-emulator 1\n")
    assert main(["--port", "0", "--data", str(tmp_path)]) == 2
    assert f"{EARLIER_FILE} is of an earlier version" in capsys.readouterr().err
    (tmp_path / EARLIER_FILE).unlink()
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        connection.execute("PRAGMA user_version = 3")
    with pytest.raises(ValueError, match=f"{FILE} has version 3") as refused:
        Emulator(data=tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE, timeout=0)) as connection:  # it is free for others
        connection.execute("PRAGMA user_version = 2")
    del refused  # until here its traceback kept the refused emulator alive


def test_a_second_emulator_is_refused(
    tmp_path: Path, clock: ManualClock, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two emulators on one folder would write over each other. The first one continues."""
    with kept_in(tmp_path, clock) as emulator:
        emulator.create_stream("orders")
        assert main(["--port", "0", "--data", str(tmp_path)]) == 2
        assert capsys.readouterr().err == (
            f"kinesis-emulator: cannot keep data in {tmp_path / FILE}: another emulator uses it. "
            "Choose another folder with --data.\n"
        )
        emulator.put("orders", b"1")
        assert data_of(emulator) == [b"1"]


@pytest.mark.tests
def test_acknowledged_records_outlive_a_kill(tmp_path: Path, new_client: NewClient, read_all: Any) -> None:
    """After `kill -9` in the middle of writes, another emulator on the same port and folder has every acknowledged record."""
    acknowledged: set[str] = set()

    def write(endpoint_url: str) -> None:
        records = [{"Data": str(i), "PartitionKey": str(i)} for i in range(100)]
        with closing(new_client(endpoint_url)) as client, suppress(BotoCoreError):
            while True:
                put = client.put_records(StreamName="orders", Records=records)
                acknowledged.update(result["SequenceNumber"] for result in put["Records"])
                is_written.set()

    is_written = threading.Event()
    with EmulatorProcess({"orders": 2}, data=tmp_path) as emulator:
        port = emulator.port
        writers = [threading.Thread(target=write, args=(emulator.endpoint_url,)) for _ in range(2)]
        for writer in writers:
            writer.start()
        is_written.wait()
        os.kill(emulator.pid, signal.SIGKILL)
        for writer in writers:
            writer.join()
    with (
        EmulatorProcess({"orders": 2}, data=tmp_path, port=port) as emulator,
        closing(new_client(emulator.endpoint_url)) as client,
    ):
        shards = client.list_shards(StreamName="orders")["Shards"]
        found = {
            record["SequenceNumber"]
            for shard in shards
            for record in read_all(client, shard_id=shard["ShardId"])
        }
    assert acknowledged
    assert found >= acknowledged


@pytest.mark.tests
def test_the_file_is_bounded(tmp_path: Path, clock: ManualClock, new_client: NewClient) -> None:
    """While old records expire, the file of a running emulator stays within bounds, with concurrent writers."""
    sizes: list[int] = []
    with kept_in(tmp_path, clock, keep_trimmed=False, shard_capacity_records=2) as emulator:
        emulator.create_stream("orders")
        emulator.create_stream("audit")
        writers = [
            threading.Thread(target=put_many, args=(new_client, emulator, stream, tmp_path, sizes))
            for stream in ("orders", "audit")
        ]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        last = {stream: emulator.records(stream) for stream in ("orders", "audit")}
    assert len(sizes) == 60
    assert max(sizes) < 40 * 1024 * 1024
    with kept_in(tmp_path, clock) as emulator:
        assert {stream: emulator.records(stream) for stream in last} == last


def put_many(new_client: NewClient, emulator: Emulator, stream: str, folder: Path, sizes: list[int]) -> None:
    with closing(new_client(emulator.endpoint_url)) as client:
        for _ in range(30):
            client.put_record(StreamName=stream, Data=b"x" * 1_000_000, PartitionKey="a")
            sizes.append(sum(file.stat().st_size for file in folder.iterdir()))
