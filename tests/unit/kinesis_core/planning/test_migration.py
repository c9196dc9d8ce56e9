"""Taking over from another connector: what its checkpoint means for the shards that are there now."""

from __future__ import annotations

import pytest

from kinesis_core.errors import DataLossError, InvalidRequestError, OptionError
from kinesis_core.model import (
    After,
    At,
    AtTimestamp,
    Cut,
    ForeignCheckpoint,
    Latest,
    Offset,
    PerStream,
    ShardEnd,
    StartingPosition,
    TrimHorizon,
)
from kinesis_core.planning import PlanSettings
from support.aggregates import aggregate
from support.planned import Planned, everything
from support.scripted_stream import ScriptedStream, scripted_stream

A, B, C, D, E = (f"shardId-{i:012d}" for i in range(5))
Cuts = dict[str, Cut | Latest]


def cuts_of(offset: Offset, stream: str = "orders") -> dict[str, Cut]:
    return {s: p.cut for s, p in offset.streams[stream].shards.items()}


def number(stream: ScriptedStream, shard_id: str, index: int) -> int:
    return stream.shards[shard_id].records[index].number


def resharded() -> ScriptedStream:
    """A was split into C and D; B stays open. Each has four records."""
    stream = scripted_stream(2)
    for shard_id in (A, B):
        stream.put_many(shard_id, 4)
    for shard_id in stream.split(A):
        stream.put_many(shard_id, 4)
    return stream


def test_every_position() -> None:
    """Whatever its kind, a position of the checkpoint is where its shard begins."""
    stream = scripted_stream(5)
    stream.put_many(A, 3)
    stream.put_many(B, 3, data=aggregate([("k", None, b"tea")] * 3))
    stream.split(E)
    after, inside = After(number(stream, A, 0)), At(number(stream, B, 1), skip=2)
    then = AtTimestamp(stream.now_ms())
    cuts: Cuts = {A: after, B: inside, C: TrimHorizon(), D: then, E: ShardEnd()}
    started = cuts_of(Planned([stream], ForeignCheckpoint(cuts)).start)
    assert {s: started[s] for s in cuts} == cuts


@pytest.mark.parametrize(("size", "skip"), [(0, 1), (0, 9), (3, 3), (3, 2**31 - 1)])
def test_no_user_record_left(size: int, skip: int) -> None:
    """A start after all user records of a record, or after more than it has, is the start after that record."""
    stream = scripted_stream(1)
    first, *_ = stream.put_many(A, 3, data=aggregate([("k", None, b"tea")] * size) if size else b"x")
    query = Planned([stream], ForeignCheckpoint({A: At(first.number, skip)}))
    assert cuts_of(query.start) == {A: After(first.number)}


@pytest.mark.parametrize("gap", [0, 3])
def test_arrival_times(gap: int, caplog: pytest.LogCaptureFixture) -> None:
    """The arrival time of the record at which a shard begins is kept, also after a gap, for telling later whether it left retention."""
    stream = scripted_stream(1)
    stream.put_many(A, 3, 1.0)
    stream.gaps[A, 1] = gap
    query = Planned([stream], ForeignCheckpoint({A: After(number(stream, A, 1))}))
    [position] = query.start.streams["orders"].shards.values()
    assert position.arrived_ms == stream.shards[A].records[1].arrived_ms
    assert "start.ahead" not in caplog.text


def test_a_shard_split_since() -> None:
    """A shard that was closed since is read to its end first, then its children from their oldest records."""
    stream = resharded()
    query = Planned(
        [stream], ForeignCheckpoint({A: After(number(stream, A, 1)), B: After(number(stream, B, 3))})
    )
    expected = everything(stream, A)[2:] + everything(stream, C) + everything(stream, D)
    assert query.batches(4) == expected


def test_a_finished_shard_without_its_children() -> None:
    """Children of a finished shard that the checkpoint does not know yet begin with their oldest records."""
    stream = resharded()
    query = Planned([stream], ForeignCheckpoint({A: ShardEnd(), B: After(number(stream, B, 3))}))
    assert query.batches(3) == everything(stream, C) + everything(stream, D)


def test_children_without_their_finished_parent() -> None:
    """The ancestors of a shard that the checkpoint names were read; a sibling that it does not name was not."""
    stream = resharded()
    query = Planned(
        [stream], ForeignCheckpoint({C: After(number(stream, C, 1)), A: ShardEnd(), B: ShardEnd()})
    )
    assert query.batches(3) == everything(stream, C)[2:] + everything(stream, D)


def test_grandchildren() -> None:
    """A shard that was split twice since is followed through all generations."""
    stream = resharded()
    grandchildren = stream.split(C)
    for shard_id in grandchildren:
        stream.put_many(shard_id, 2)
    query = Planned([stream], ForeignCheckpoint({A: ShardEnd(), B: ShardEnd()}))
    assert sorted(query.batches(4)) == sorted(everything(stream, C, D, *grandchildren))


def test_parent_and_child_half_read() -> None:
    """A connector that reads a child beside its parent leaves both half read: each continues, the parent first."""
    stream = resharded()
    cuts: Cuts = {A: After(number(stream, A, 2)), B: ShardEnd(), C: After(number(stream, C, 0))}
    query = Planned([stream], ForeignCheckpoint(cuts))
    assert query.batches(3) == everything(stream, A)[3:] + everything(stream, C)[1:] + everything(stream, D)


def forgotten(stream: ScriptedStream, shard_id: str) -> None:
    """Let a closed shard leave retention."""
    del stream.shards[shard_id]


def test_a_finished_shard_that_is_gone() -> None:
    """A shard that was read to its end may have left the stream; its children begin with their oldest records."""
    stream = resharded()
    forgotten(stream, A)
    query = Planned([stream], ForeignCheckpoint({A: ShardEnd(), B: After(number(stream, B, 3))}))
    assert query.batches(2) == everything(stream, C, D)


@pytest.mark.parametrize("cut", [After(5), At(5, skip=2), TrimHorizon(), AtTimestamp(5), Latest()])
def test_an_unfinished_shard_that_is_gone(cut: Cut | Latest, caplog: pytest.LogCaptureFixture) -> None:
    """A shard that left the stream before it was read to its end is a loss, which the user may accept."""
    stream = resharded()
    forgotten(stream, A)
    start = ForeignCheckpoint({A: cut, B: After(number(stream, B, 3))})
    with pytest.raises(DataLossError, match=f"no longer lists.*fail_on_data_loss=False.*shard={A}"):
        Planned([stream], start)
    query = Planned([stream], start, PlanSettings(fail_on_data_loss=False))
    assert query.batches(2) == everything(stream, C, D)
    assert caplog.text.count("data.lost") == 1


def test_a_shard_that_the_checkpoint_does_not_know() -> None:
    """Of a shard without relatives in the checkpoint nobody knows whether it was read: the user is asked."""
    stream = resharded()
    with pytest.raises(
        OptionError, match=rf'names neither {B} nor .* Add {{"{B}": "SHARD_END"}}.*stream=orders'
    ):
        Planned([stream], ForeignCheckpoint({A: ShardEnd()}))


def test_a_record_of_another_shard() -> None:
    """A number that the shard cannot have is refused with the shard, the number and what Kinesis says."""
    stream = scripted_stream(1)
    stream.fail(
        "GetShardIterator", A, [InvalidRequestError("It encodes shardId-9", "InvalidArgumentException")]
    )
    with pytest.raises(OptionError, match=rf"{A} cannot have: It encodes .*shard={A} sequence=5"):
        Planned([stream], ForeignCheckpoint({A: After(5)}))


def two_streams() -> list[ScriptedStream]:
    streams = [scripted_stream(1), scripted_stream(1)]
    streams[0].name, streams[1].name = "orders", "arn:aws:kinesis:eu-west-1:000000000000:stream/returns"
    for stream in streams:
        stream.put_many(A, 4)
    return streams


@pytest.mark.parametrize("name", ["returns", "arn:aws:kinesis:eu-west-1:000000000000:stream/returns"])
def test_positions_by_stream(name: str) -> None:
    """Each of several streams begins at its own position, under its name or ARN."""
    orders, returns = two_streams()
    start = PerStream({"orders": ForeignCheckpoint({A: After(number(orders, A, 1))}), name: Latest()})
    started = Planned([orders, returns], start).start
    assert cuts_of(started) == {A: After(number(orders, A, 1))}
    assert cuts_of(started, returns.name) == {A: After(number(returns, A, 3))}


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (PerStream({"orders": Latest()}), "by stream, but no position for 'arn:aws:.*:stream/returns'"),
        (
            PerStream({"orders": Latest(), "sales": Latest()}),
            "are not read: sales. Those to read are arn:.*, orders.",
        ),
        (ForeignCheckpoint({A: ShardEnd()}), "by shard for one stream only; got 2 streams"),
        (
            PerStream({"orders": ForeignCheckpoint({A: ShardEnd()}, "returns"), "returns": Latest()}),
            "'start' is the checkpoint of stream 'returns'; the stream to read is 'orders'",
        ),
    ],
)
def test_positions_that_do_not_fit_the_streams(start: StartingPosition, message: str) -> None:
    """Positions that leave a stream out, name a strange one, or are another's are refused."""
    with pytest.raises(OptionError, match=message):
        Planned([*two_streams()], start)
