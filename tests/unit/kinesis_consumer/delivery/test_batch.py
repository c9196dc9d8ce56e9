"""A batch as records, Arrow or pandas."""

from __future__ import annotations

import pytest

from kinesis_consumer.delivery import Batch
from support.aggregates import aggregate
from unit.kinesis_consumer.consumer_parts import OneShard, data


@pytest.fixture
def batch() -> Batch:
    """Return a batch of an aggregate and a plain record."""
    shard = OneShard.new()
    for value in (aggregate(("key", None, each) for each in (b"a", b"b")), b"1"):
        shard.stream.put(shard.shard_id, value)
    reader = shard.reader()
    reader.fetch()
    assert reader.fix_next()
    batch = reader.take()
    assert batch is not None
    return batch


def test_the_forms_of_a_batch_agree(batch: Batch) -> None:
    """Each has the same records, as often as one asks."""
    pytest.importorskip("pyarrow")
    columns = ["data", "shardId", "streamName"]
    rows = [{"data": each, "shardId": batch.shard_id, "streamName": "orders"} for each in data(batch)]
    assert batch.to_arrow(columns).to_pylist() == rows
    assert [row for each in batch.record_batches(columns) for row in each.to_pylist()] == rows
    assert [each["data"] for each in batch.to_arrow(deaggregate=False).to_pylist()][1:] == [b"1"]


def test_a_batch_becomes_a_data_frame(batch: Batch) -> None:
    """With pandas."""
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    assert list(batch.to_pandas(["data"])["data"]) == data(batch)


def test_a_missing_package_is_named(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command is that of this package."""
    monkeypatch.setattr("kinesis_core.batch.find_spec", lambda _: None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'kinesis-consumer\[arrow\]'"):
        batch.record_batches()
