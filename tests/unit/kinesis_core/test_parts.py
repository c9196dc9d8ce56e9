"""The parts of a batch, for engines that read in several processes."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, strategies as st

from kinesis_core import Batch, OptionError, PlanSettings, ReadSettings, Stream
from kinesis_core.aws import Connection
from kinesis_core.model import After, At, RangeGroup, ShardRange
from kinesis_core.stream import _again
from kinesis_credentials import DefaultChain, StaticKeys

OFFSET = {"version": 1, "streams": {}}


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    """Return batches of shards, some of them related."""
    sizes = draw(st.lists(st.integers(1, 3), max_size=12))
    groups: list[RangeGroup] = []
    for size in sizes:
        first = sum(map(len, groups))
        ids = [f"shardId-{first + index:012}" for index in range(size)]
        groups.append(tuple(ShardRange("orders", shard_id, At(1), After(9)) for shard_id in ids))
    return Batch(OFFSET, "orders", groups, lambda *_: iter(()), dict)


@given(batches(), st.integers(1, 20))
def test_each_shard_is_in_one_part(batch: Batch, parts: int) -> None:
    """The parts have the shards of the batch, each once. They are what `of_shards` returns, and have the batch's offset."""
    found = batch.split(parts)
    assert sorted(shard for part in found for shard in part.shard_ids) == sorted(batch.shard_ids)
    assert found == [batch.of_shards(part.shard_ids) for part in found]
    assert all(part.offset == OFFSET for part in found)


@given(batches(), st.integers(1, 20))
def test_parts_are_few_and_equal(batch: Batch, parts: int) -> None:
    """There are as many parts as asked for, if there are as many groups of related shards. They have about as many groups each."""
    counts = [len(part._groups) for part in batch.split(parts)]
    assert len(counts) == min(parts, len(batch._groups))
    assert not counts or min(counts) >= max(1, max(counts) - 1)


@given(batches(), st.integers(1, 20))
def test_related_shards_stay_together(batch: Batch, parts: int) -> None:
    """A parent and its children are in one part, in the order in which to read them."""
    kept = [group for part in batch.split(parts) for group in part._groups]
    assert sorted(kept, key=repr) == sorted(batch._groups, key=repr)


def test_a_batch_without_records_has_no_parts() -> None:
    """There is nothing to read."""
    assert Batch(OFFSET, "orders", [], lambda *_: iter(()), dict).split(3) == []


def test_less_than_one_part() -> None:
    """It is refused."""
    batch = Batch(OFFSET, "orders", [], lambda *_: iter(()), dict)
    with pytest.raises(OptionError, match=r"^parts is 0\. Use 1 or more\."):
        batch.split(0)


def connection(credentials: DefaultChain | StaticKeys) -> Connection:
    return Connection.to_stream(
        "orders", region="eu-west-1", endpoint_url="http://127.0.0.1:1", credentials=credentials
    )


def test_a_pickled_batch_reads_as_the_first_one() -> None:
    """A copy has the ranges and the offset, and a stream with the same connection and settings. To make it takes no call."""
    settings = ReadSettings(threads=3, fail_on_data_loss=False)
    stream = _again(Stream, connection(StaticKeys("AKIA", "key")), PlanSettings(), settings, None)
    groups = [(ShardRange("orders", "shardId-000000000000", At(1), After(9)),)]
    copy = pickle.loads(pickle.dumps(Batch(OFFSET, "orders", groups, stream._pages, stream._listing, 5)))  # noqa: S301 # our own
    assert (copy.offset, copy.shard_ids, repr(copy)) == (
        OFFSET,
        ("shardId-000000000000",),
        "<Batch of orders: 1 shard, ends 1970-01-01 00:00:00.005 UTC>",
    )
    again = copy._read.__self__
    assert (again._connection, again._read_settings) == (stream._connection, settings)
    assert repr(again) == "<Stream orders in eu-west-1, polling>"


def test_a_pickle_has_no_keys_that_were_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of the environment stay in their process: the other one finds its own. Keys that were given are in the pickle."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAFOUND")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "found-secret")

    def pickled(credentials: DefaultChain | StaticKeys) -> bytes:
        stream = _again(Stream, connection(credentials), PlanSettings(), ReadSettings(), None)
        return pickle.dumps(Batch(OFFSET, "orders", [], stream._pages, stream._listing))

    found = pickled(DefaultChain())
    assert b"found-secret" not in found
    assert b"AKIAFOUND" not in found
    assert b"given-secret" in pickled(StaticKeys("AKIAGIVEN", "given-secret"))
