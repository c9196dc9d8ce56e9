"""Batches that are never committed are warned of: their shards wait for ever."""

from __future__ import annotations

import pytest

from kinesis_consumer.delivery import TakenBatches
from kinesis_consumer.delivery.taken import UNCOMMITTED_S
from kinesis_consumer.settings import GroupSettings
from unit.kinesis_consumer.consumer_parts import OneShard


def test_a_batch_that_is_not_committed_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    """A program that waits for another batch, and has had one for a minute without a commit, is warned once."""
    shard = OneShard.new(GroupSettings(lease_duration_s=600))
    shard.stream.put(shard.shard_id, b"x")
    reader = shard.reader()
    reader.fetch()
    reader.fix_next()
    batch = reader.take()
    assert batch is not None
    taken = TakenBatches(shard.clock)
    taken.note(batch)
    shard.clock.sleep(UNCOMMITTED_S)
    taken.warn()
    assert "batch.uncommitted" not in caplog.text
    shard.clock.sleep(1)
    taken.warn()
    taken.warn()
    assert [record.levelname for record in caplog.records if "batch.uncommitted" in record.message] == [
        "WARNING"
    ]
    assert str(batch.id) in caplog.text
