"""Publishing leases: only changed ones, of all streams, and failures of the table."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from attrs import define, field

from kinesis_core.errors import (
    AccessDeniedError,
    ServiceError,
    TableLayoutError,
    ThrottledError,
    UnavailableError,
)
from kinesis_core.leases import LeasePublisher
from kinesis_core.leases.lease import Lease, LeaseCheckpoint
from kinesis_core.leases.publisher import PAUSE_S
from kinesis_core.leases.table_client import CREATION_S
from kinesis_core.model import (
    After,
    AtTimestamp,
    Cut,
    Offset,
    ShardEnd,
    ShardOffset,
    StreamOffset,
    TrimHorizon,
)
from kinesis_credentials import KinesisError
from support.fake_stream import FakeClock, FakeStream, Mood

CREATED_MS = 1_780_000_000_000
DENIED = AccessDeniedError("Allow the IAM action dynamodb:UpdateItem.", "AccessDeniedException")
THROTTLED = ThrottledError("Rate exceeded.", "ThrottlingException")


@define
class FakeTable:
    """Stores leases, and fails on demand."""

    name: str = "leases"
    written: list[Lease] = field(factory=list)
    error: ServiceError | None = None
    unprepared: KinesisError | None = None
    """The error of each preparation."""
    prepared: list[float] = field(factory=list)
    """The time that each preparation was allowed to wait."""
    owned: set[str] = field(factory=set)
    """Leases of another consumer."""
    present: set[str] = field(factory=set)
    _lock: threading.Lock = field(factory=threading.Lock)

    def prepare(self, patience_s: float) -> None:
        self.prepared.append(patience_s)
        if self.unprepared is not None:
            raise self.unprepared

    def write(self, lease: Lease, *, may_create: bool = True) -> bool:
        with self._lock:
            if self.error is not None:
                raise self.error
            if lease.key in self.owned or not (may_create or lease.key in self.present):
                return False
            self.present.add(lease.key)
            self.written.append(lease)
        return True

    def has(self, key: str) -> bool:
        if self.error is not None:
            raise self.error
        return key in self.owned | self.present

    def take(self) -> dict[str, str]:
        """Return the checkpoints written since the last call, by key."""
        with self._lock:
            found = {lease.key: lease.checkpoint.number for lease in self.written}
            assert len(found) == len(self.written), "a lease was written twice"
            self.written.clear()
        return found


@pytest.fixture
def table() -> FakeTable:
    return FakeTable()


@pytest.fixture
def stream() -> FakeStream:
    return FakeStream(FakeClock(), random.Random(0)).create(2)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def publisher(table: FakeTable, stream: FakeStream, clock: FakeClock) -> Iterator[LeasePublisher]:
    publisher = LeasePublisher(table, {"orders": stream}, clock)  # type: ignore[arg-type] # a fake table
    yield publisher
    publisher.close()


def offset(**cuts: Cut) -> Offset:
    """Return an offset of the stream orders. Shards go by the last digit of their id."""
    shards = {f"shardId-00000000000{name[1:]}": ShardOffset(cut, first=1) for name, cut in cuts.items()}
    return Offset({"orders": StreamOffset(CREATED_MS, shards)})


def test_only_changes(publisher: LeasePublisher, table: FakeTable) -> None:
    """
    The first publication writes every shard, a later one only those that changed. An unchanged offset writes nothing.
    """
    publisher.publish(offset(s0=After(10), s1=After(20)))
    assert table.take() == {"shardId-000000000000": "10", "shardId-000000000001": "20"}
    publisher.publish(offset(s0=After(10), s1=After(21)))
    assert table.take() == {"shardId-000000000001": "21"}
    publisher.publish(offset(s0=After(10), s1=After(21)))
    assert table.take() == {}


def test_when_it_was_committed(publisher: LeasePublisher, table: FakeTable, stream: FakeStream) -> None:
    """A checkpoint that moved has the time of its commit. What was committed before the start has none: it is not known."""
    publisher.publish(offset(s0=After(10), s1=After(20)))
    publisher.publish(offset(s0=After(10), s1=After(21)))
    times = [(lease.checkpoint.number, lease.committed_ms) for lease in table.written]
    assert sorted(times) == [("10", None), ("20", None), ("21", stream.now_ms())]


def test_which_stream(publisher: LeasePublisher, table: FakeTable) -> None:
    """Leases of one stream say which one it is, beside a key that does not: so nobody takes them for those of a later stream."""
    publisher.publish(offset(s0=After(10)))
    [lease] = table.written
    assert (lease.stream_id, lease.stream_identifier) == (None, "000000000000:orders:1780000000")


def test_shards_without_a_record(publisher: LeasePublisher, table: FakeTable, stream: FakeStream) -> None:
    """
    A shard of which nothing was read is published with a checkpoint that every KCL understands. That needs a search, so it is made
    when the shard is unread for the second time.
    """
    old = stream.put("shardId-000000000001", b"old")
    stream.clock.sleep(60)
    unread = AtTimestamp(stream.now_ms())
    publisher.publish(offset(s0=unread, s1=unread))
    assert table.take() == {}
    publisher.publish(offset(s0=unread, s1=unread))
    assert table.take() == {
        "shardId-000000000000": "TRIM_HORIZON",
        "shardId-000000000001": old.sequence_number,
    }
    read = stream.calls["GetRecords"]
    publisher.publish(offset(s0=unread, s1=unread))
    assert table.take() == {}
    assert stream.calls["GetRecords"] == read


def test_children_wait_for_their_parents(
    publisher: LeasePublisher, table: FakeTable, stream: FakeStream
) -> None:
    """A child has no lease before its parent has one: a KCL would read it, and never the parent."""
    stream.split("shardId-000000000000")
    unread = AtTimestamp(stream.now_ms())
    publisher.publish(offset(s0=unread, s1=After(10), s2=TrimHorizon()))
    assert table.take() == {"shardId-000000000001": "10"}
    publisher.publish(offset(s0=unread, s1=After(10), s2=TrimHorizon()))
    assert table.take() == dict.fromkeys(("shardId-000000000000", "shardId-000000000002"), "TRIM_HORIZON")


def test_a_search_that_fails(
    publisher: LeasePublisher, table: FakeTable, stream: FakeStream, caplog: pytest.LogCaptureFixture
) -> None:
    """A search that fails delays the lease of its shard only. It is made again at the next publication."""
    stream.put("shardId-000000000001", b"new")
    stream.mood = Mood(throttles=100)
    unread = AtTimestamp(stream.now_ms())
    for number in ("10", "11"):
        publisher.publish(offset(s0=After(int(number)), s1=unread))
        assert table.take() == {"shardId-000000000000": number}
    [record] = caplog.records
    assert record.getMessage().startswith("lease.delayed lease=shardId-000000000001 code=Provisioned")
    stream.mood = Mood()
    publisher.publish(offset(s0=After(11), s1=unread))
    assert table.take() == {"shardId-000000000001": "TRIM_HORIZON"}


def test_resharding(publisher: LeasePublisher, table: FakeTable, stream: FakeStream) -> None:
    """A finished shard names its children. They have leases at their oldest record before they are read."""
    publisher.publish(offset(s0=After(10)))
    table.take()
    stream.split("shardId-000000000000")
    listed = stream.calls["ListShards"]
    publisher.publish(offset(s0=ShardEnd()))
    assert stream.calls["ListShards"] == listed + 1
    parent = next(lease for lease in table.written if lease.key == "shardId-000000000000")
    assert parent.checkpoint == LeaseCheckpoint("SHARD_END")
    assert len(parent.children) == 2
    children = [lease for lease in table.written if lease.key in parent.children]
    assert [child.checkpoint.number for child in children] == ["TRIM_HORIZON"] * 2
    assert all(child.parents == ("shardId-000000000000",) for child in children)


def test_shards_that_are_gone_are_looked_up_once(
    publisher: LeasePublisher, table: FakeTable, stream: FakeStream
) -> None:
    """A shard that Kinesis no longer lists does not cause a listing for each publication."""
    publisher.publish(offset(s0=After(10), s9=ShardEnd()))
    assert table.take()["shardId-000000000009"] == "SHARD_END"
    listed = stream.calls["ListShards"]
    publisher.publish(offset(s0=After(11), s9=ShardEnd()))
    assert stream.calls["ListShards"] == listed


def test_several_streams(table: FakeTable) -> None:
    """Keys of several streams begin with account, name and creation time."""
    streams: dict[str, Any] = {
        name: FakeStream(FakeClock(), random.Random(0), name=name).create(1) for name in ("orders", "returns")
    }
    publisher = LeasePublisher(table, streams)  # type: ignore[arg-type] # a fake table
    shards = {"shardId-000000000000": ShardOffset(After(10))}
    publisher.publish(Offset({name: StreamOffset(CREATED_MS, shards) for name in streams}))
    publisher.close()
    account = streams["orders"].describe().arn.split(":")[4]
    assert set(table.take()) == {
        f"{account}:{name}:1780000000:shardId-000000000000" for name in ("orders", "returns")
    }


def test_denied_from_the_beginning(publisher: LeasePublisher, table: FakeTable) -> None:
    """An error that is not retryable is raised until the first publication succeeds."""
    table.error = DENIED
    with pytest.raises(AccessDeniedError, match="dynamodb:UpdateItem"):
        publisher.publish(offset(s0=After(10)))


@pytest.mark.parametrize("error", [DENIED, THROTTLED])
def test_failures_later(
    publisher: LeasePublisher,
    table: FakeTable,
    clock: FakeClock,
    error: ServiceError,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A later failure is one log line with code and advice. A publication one minute later writes everything."""
    publisher.publish(offset(s0=After(10), s1=After(20)))
    table.take()
    table.error = error
    with caplog.at_level(logging.WARNING, "kinesis_core"):
        publisher.publish(offset(s0=After(11), s1=After(21)))
        table.error = None
        clock.sleep(PAUSE_S - 1)
        publisher.publish(offset(s0=After(11), s1=After(22)))
    [record] = caplog.records
    assert record.getMessage().startswith("lease.publish_failed table=leases")
    assert error.code in record.getMessage()
    assert str(error) in record.getMessage()
    assert table.take() == {}
    clock.sleep(1)
    publisher.publish(offset(s0=After(11), s1=After(23)))
    assert table.take() == {"shardId-000000000000": "11", "shardId-000000000001": "23"}


def test_throttled_from_the_beginning(publisher: LeasePublisher, table: FakeTable, clock: FakeClock) -> None:
    """A retryable error stops no query, even before the first publication."""
    table.error = THROTTLED
    publisher.publish(offset(s0=After(10)))
    table.error = None
    clock.sleep(PAUSE_S)
    publisher.publish(offset(s0=After(10)))
    assert table.take() == {"shardId-000000000000": "10"}


def test_preparing(publisher: LeasePublisher, table: FakeTable) -> None:
    """The table is prepared once, and a new table is waited for."""
    publisher.prepare()
    publisher.publish(offset(s0=After(10)))
    assert table.prepared == [CREATION_S]


def test_preparing_without_permission(publisher: LeasePublisher, table: FakeTable) -> None:
    """A table that may not be written to is an error when the query starts, also if there is nothing to write yet."""
    table.error = DENIED
    with pytest.raises(AccessDeniedError, match="dynamodb:UpdateItem"):
        publisher.prepare()


def test_denied_after_nothing_was_written(
    publisher: LeasePublisher, table: FakeTable, stream: FakeStream
) -> None:
    """A publication without leases is no success yet."""
    publisher.publish(offset(s0=AtTimestamp(stream.now_ms())))
    table.error = DENIED
    with pytest.raises(AccessDeniedError):
        publisher.publish(offset(s0=After(10)))


def test_unprepared_at_first(publisher: LeasePublisher, table: FakeTable, clock: FakeClock) -> None:
    """A table that is not ready in time is prepared later, between two batches and without waiting."""
    table.unprepared = UnavailableError("DynamoDB is still creating table leases.", "CREATING")
    publisher.prepare()
    publisher.publish(offset(s0=After(10)))
    assert table.take() == {}
    table.unprepared = None
    clock.sleep(PAUSE_S)
    publisher.publish(offset(s0=After(10)))
    assert table.take() == {"shardId-000000000000": "10"}
    assert table.prepared == [CREATION_S, 0]


@pytest.mark.parametrize("error", [DENIED, TableLayoutError("Name another table.", ("orderId",))])
def test_preparing_in_vain(publisher: LeasePublisher, table: FakeTable, error: KinesisError) -> None:
    """A table of another kind is an error when the query starts."""
    table.unprepared = error
    with pytest.raises(type(error), match=str(error)):
        publisher.prepare()


def test_table_of_the_awslabs_connector(
    publisher: LeasePublisher, table: FakeTable, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    """The metadata table of the awslabs connector is never written to, and the log says so once."""
    table.unprepared = TableLayoutError("Name another table.", ("metadataKey", "metadataSortKey"))
    with caplog.at_level(logging.WARNING, "kinesis_core"):
        publisher.prepare()
        clock.sleep(PAUSE_S)
        publisher.publish(offset(s0=After(10)))
    [record] = caplog.records
    assert record.getMessage() == "lease.publish_skipped table=leases reason=Name another table."
    assert table.take() == {}


def test_taken_leases(publisher: LeasePublisher, table: FakeTable, caplog: pytest.LogCaptureFixture) -> None:
    """A lease that another consumer has taken is left alone, and the log says so once."""
    table.owned = {"shardId-000000000000"}
    with caplog.at_level(logging.WARNING, "kinesis_core"):
        publisher.publish(offset(s0=After(10), s1=After(20)))
        publisher.publish(offset(s0=After(11), s1=After(21)))
    [record] = caplog.records
    assert record.getMessage().startswith("lease.taken table=leases lease=shardId-000000000000")
