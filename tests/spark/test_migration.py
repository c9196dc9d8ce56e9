"""A query that continues where another connector stopped, by what that one left in its checkpoint directory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.aggregates import aggregate
from support.left_checkpoints import AWSLABS_LOG, BATCH, QUBOLE_LOG, after, leave_checkpoint
from support.spark_harness import Query
from support.streams import Put, StreamUnderTest

MakeStream = Callable[..., StreamUnderTest]
MakeQuery = Callable[..., Query]
SCHEMA = "data binary, shardId string, sequenceNumber string, subSequenceNumber long"


def numbered(name: str, count: int) -> list[bytes]:
    return [f"{name} {place}".encode() for place in range(count)]


def aggregated(*payloads: bytes) -> bytes:
    return aggregate([("a key", None, payload) for payload in payloads])


def pasted(folder: Path, log: str) -> str:
    """Return the files that the documentation names, one after the other."""
    files = [folder / "offsets" / BATCH, *sorted((folder / "sources/0" / log / BATCH).iterdir())]
    return "\n".join(file.read_text() for file in files)


@pytest.fixture
def stream(make_stream: MakeStream) -> StreamUnderTest:
    """Two shards, with an aggregate of five user records between two plain records in each."""
    stream = make_stream(shards=2)
    for shard in stream.open_shards():
        name = shard["ShardId"][-1]
        for data in (f"{name} before".encode(), aggregated(*numbered(name, 5)), f"{name} after".encode()):
            put_into(stream, shard, data)
    return stream


def put_into(stream: StreamUnderTest, shard: dict[str, Any], data: bytes) -> Put:
    response = stream.client.put_record(
        StreamName=stream.name,
        Data=data,
        PartitionKey="a key",
        ExplicitHashKey=shard["HashKeyRange"]["StartingHashKey"],
    )
    stream.sent.append(Put(data, "a key", response["ShardId"], response["SequenceNumber"]))
    return stream.sent[-1]


def awslabs_checkpoint(folder: Path, stream: StreamUnderTest) -> str:
    """Stop after two user records of the first shard's aggregate, and at the end of the second's."""
    first, second = stream.sent[:3], stream.sent[3:]
    started = {
        first[0].shard_id: after(first[0].sequence_number, subSequenceNumber="-1", isLast="true"),
        second[0].shard_id: {
            "iteratorType": "TRIM_HORIZON",
            "iteratorPosition": "",
            "subSequenceNumber": "-1",
            "isLast": "true",
        },
    }
    ended = {
        first[0].shard_id: after(first[1].sequence_number, subSequenceNumber=1, isLast=False),
        second[0].shard_id: after(second[1].sequence_number, subSequenceNumber=4, isLast=True),
    }
    leave_checkpoint(folder, AWSLABS_LOG, stream.name, started, ended)
    return pasted(folder, AWSLABS_LOG)


def qubole_checkpoint(folder: Path, stream: StreamUnderTest) -> str:
    """Stop before the first shard's aggregate and after the second's, of whose user records it knows nothing."""
    first, second = stream.sent[:3], stream.sent[3:]
    started = {put.shard_id: {"iteratorType": "TRIM_HORIZON", "iteratorPosition": ""} for put in stream.sent}
    ended = {
        first[0].shard_id: after(first[0].sequence_number),
        second[0].shard_id: after(second[1].sequence_number),
    }
    leave_checkpoint(folder, QUBOLE_LOG, stream.name, started, ended)
    return pasted(folder, QUBOLE_LOG)


LeaveCheckpoint = Callable[[Path, StreamUnderTest], str]
ORIGINS = pytest.mark.parametrize(
    ("checkpoint", "left"),
    [(awslabs_checkpoint, numbered("0", 5)[2:]), (qubole_checkpoint, numbered("0", 5))],
)


def by_shard(query: Query) -> list[list[bytes]]:
    """Return the payloads of each shard, in the order of arrival."""
    shards = sorted({row.shardId for row in query.rows})
    return [[bytes(row.data) for row in query.rows if row.shardId == shard] for shard in shards]


@pytest.mark.all_sparks
@ORIGINS
def test_continues_where_the_checkpoint_ends(
    stream: StreamUnderTest,
    make_query: MakeQuery,
    tmp_path: Path,
    checkpoint: LeaveCheckpoint,
    left: list[bytes],
) -> None:
    """A pasted checkpoint is where the query continues, in the middle of an aggregate; its own one takes over from there."""
    position = checkpoint(tmp_path / "old", stream)
    options = stream.options(startingPosition=position, maxRecordsPerShard="1")
    query = make_query(options, schema=SCHEMA).start().wait_for_rows(len(left) + 2)
    expected = [[*left, b"0 after"], [b"1 after"]]
    assert by_shard(query) == expected
    query.stop()
    put_into(stream, stream.open_shards()[0], aggregated(*numbered("later", 2)))
    query.start().wait_for_rows(len(left) + 4)
    assert by_shard(query) == [[*expected[0], *numbered("later", 2)], expected[1]]


@pytest.mark.all_sparks
@ORIGINS
def test_first_batch_replays(
    stream: StreamUnderTest,
    make_query: MakeQuery,
    tmp_path: Path,
    checkpoint: LeaveCheckpoint,
    left: list[bytes],
) -> None:
    """The first batch, which begins inside an aggregate, has the same user records when it runs again."""
    position = checkpoint(tmp_path / "old", stream)
    query = make_query(stream.options(startingPosition=position), schema=SCHEMA).start()
    query.wait_for_rows(len(left) + 2).stop()
    put_into(stream, stream.open_shards()[0], b"while it was down")
    lost = query.lose_last_commit()
    query.start().wait_for_rows(len(left) + 3)
    first, second = query.runs[lost]
    assert sorted(first) == sorted(second)
    assert query.payloads.count(b"while it was down") == 1


def test_resharded_since(stream: StreamUnderTest, make_query: MakeQuery, tmp_path: Path) -> None:
    """Shards that were split and merged while nobody read are read to their ends first, then their children."""
    position = awslabs_checkpoint(tmp_path / "old", stream)
    stream.split()
    stream.merge(1)
    for shard in stream.open_shards():
        put_into(stream, shard, f"child {shard['ShardId'][-1]}".encode())
    options = stream.options(startingPosition=position)
    query = make_query(options, schema=SCHEMA).start().wait_for_rows(7)
    children = [row for row in query.payloads if row.startswith(b"child")]
    assert query.payloads[-len(children) :] == children
    assert sorted(query.payloads) == sorted([*numbered("0", 5)[2:], b"0 after", b"1 after", *children])


def test_fan_out(stream: StreamUnderTest, make_query: MakeQuery, tmp_path: Path) -> None:
    """Enhanced fan-out begins in the middle of an aggregate as well."""
    position = awslabs_checkpoint(tmp_path / "old", stream)
    fan_out = {"consumerType": "SubscribeToShard", "consumerName": "tests", "fanOutFallback": "false"}
    query = make_query(stream.options(startingPosition=position, **fan_out), schema=SCHEMA).start()
    query.wait_for_rows(5)
    assert by_shard(query) == [[*numbered("0", 5)[2:], b"0 after"], [b"1 after"]]


def test_batch_read(stream: StreamUnderTest, spark: Any, tmp_path: Path) -> None:
    """A batch read begins there as well: what the old query has left is counted before the new one starts."""
    options = stream.options(startingPosition=awslabs_checkpoint(tmp_path / "old", stream))
    assert spark.read.format("kinesis").options(**options).load().count() == 5


def test_the_streams_name(
    stream: StreamUnderTest, make_stream: MakeStream, tmp_path: Path, spark: Any
) -> None:
    """The checkpoint of another stream is refused at load()."""
    options = make_stream("another").options(startingPosition=awslabs_checkpoint(tmp_path / "old", stream))
    with pytest.raises(
        Exception, match=rf"is the checkpoint of stream '{stream.name}'; the stream to read is 'another'"
    ):
        spark.readStream.format("kinesis").options(**options).load()
