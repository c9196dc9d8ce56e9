"""Where a query continues after a KCL application, as the application's lease table says."""

from __future__ import annotations

import logging
import random
from typing import Any

import pytest
from attrs import define, field

from kinesis_core.errors import AccessDeniedError, OptionError, ServiceError, TableNotFoundError
from kinesis_core.leases import Item, item_to_dynamodb, resume_from_applications
from kinesis_core.model import (
    After,
    At,
    AtTimestamp,
    Cut,
    ForeignCheckpoint,
    KclApplication,
    Latest,
    PerStream,
    ShardEnd,
    StartingPosition,
    TrimHorizon,
)
from support.fake_stream import FakeClock, FakeStream

A, B = "shardId-000000000000", "shardId-000000000001"
NAMED = "'start' names a KCL application, whose table billing"
CREATED_S = 1_780_000_000
ACCOUNT = FakeStream(FakeClock()).describe().arn.split(":")[4]
ORDERS = f"{ACCOUNT}:orders:{CREATED_S}"


def lease(shard_id: str = A, checkpoint: str = "7", sub: int = 0, **more: Any) -> Item:
    return {
        "leaseKey": shard_id,
        "checkpoint": checkpoint,
        "checkpointSubSequenceNumber": sub,
        "leaseCounter": 3,
        "ownerSwitchesSinceCheckpoint": 0,
        **more,
    }


@define
class FakeTables:
    """Tables by name, each with its items."""

    tables: dict[str, list[Item]]
    error: ServiceError | None = None
    opened: list[KclApplication] = field(factory=list)

    def open(self, application: KclApplication) -> FakeTable:
        self.opened.append(application)
        return FakeTable(application.table, self)


@define
class FakeTable:
    name: str
    of: FakeTables

    def scan(self) -> list[dict[str, Any]]:
        if self.of.error is not None:
            raise self.of.error
        return [item_to_dynamodb(item) for item in self.of.tables[self.name]]


@pytest.fixture
def streams() -> dict[str, Any]:
    return {name: make_stream(name) for name in ("orders", "returns")}


def make_stream(name: str) -> FakeStream:
    return FakeStream(FakeClock(), random.Random(0), name=name).create(2)


def resumed(
    items: list[Item], position: StartingPosition | None = None, streams: Any = None
) -> dict[str, dict[str, Cut | Latest]]:
    """Return where the shards of each stream continue."""
    tables = FakeTables({"billing": items})
    apis = streams or {"orders": make_stream("orders")}
    found = resume_from_applications(position or KclApplication("billing"), apis, tables.open)
    assert isinstance(found, PerStream)
    assert len(tables.opened) == 1, "each table is read once"
    return {
        name: dict(each.cuts) for name, each in found.positions.items() if isinstance(each, ForeignCheckpoint)
    }


@pytest.mark.parametrize(
    ("checkpoint", "sub", "cut"),
    [
        ("7", 0, At(7, 1)),
        ("7", 5, At(7, 6)),
        ("7", 2**31 - 1, After(7)),
        ("7", 2**40, After(7)),
        ("7", -1, At(7)),
        ("TRIM_HORIZON", 0, TrimHorizon()),
        ("SHARD_END", 0, ShardEnd()),
    ],
)
def test_checkpoints(checkpoint: str, sub: int, cut: Cut) -> None:
    """A checkpoint names the last user record that was processed. Reading continues after it, inside an aggregate too."""
    assert resumed([lease(A, checkpoint, sub)]) == {"orders": {A: cut}}


def test_pending_checkpoints() -> None:
    """A checkpoint that was prepared and not made does not count."""
    item = lease(A, "7", pendingCheckpoint="9", pendingCheckpointSubSequenceNumber=0)
    assert resumed([item]) == {"orders": {A: At(7, 1)}}


@pytest.mark.parametrize("word", ["LATEST", "AT_TIMESTAMP"])
def test_words_without_a_time(word: str) -> None:
    """LATEST and AT_TIMESTAMP are no points in a shard. The error names the shards, and what to add."""
    items = [lease(B, word), lease(A, "7"), lease("shardId-000000000002", word)]
    with pytest.raises(OptionError) as caught:
        resumed(items)
    text = str(caught.value)
    assert text.startswith(f"{NAMED} has the word {word} for {B}, shardId-000000000002: ")
    assert f'{{"kclApplication": "billing", "{B}": "AT_TIMESTAMP 2026-01-31T09:00:00Z"}}' in text


def test_many_shards_without_a_time() -> None:
    """An error names 20 shards at most."""
    with pytest.raises(OptionError, match=r"shardId-000000000019 and 5 more: "):
        resumed([lease(f"shardId-{i:012d}", "LATEST") for i in range(25)])


@pytest.mark.parametrize("word", ["LATEST", "AT_TIMESTAMP"])
def test_positions_by_hand(word: str) -> None:
    """Positions that the user adds take precedence over the table, and may be of shards that are not in it."""
    by_hand: dict[str, Cut | Latest] = {A: AtTimestamp(5), "shardId-000000000009": ShardEnd()}
    position = KclApplication("billing", cuts=by_hand)
    assert resumed([lease(A, word), lease(B, "7")], position) == {"orders": {**by_hand, B: At(7, 1)}}


def test_a_time_beside_the_word() -> None:
    """A lease that holds the time of its start, as those of kinesis-consumer do, begins at that time."""
    assert resumed([lease(A, "LATEST", startingTime=5)]) == {"orders": {A: AtTimestamp(5)}}


def test_only_leases_count() -> None:
    """The items by which the workers of KCL 3.5 coordinate themselves are passed over."""
    others: list[Item] = [
        {"leaseKey": "Leader", "entityType": "LEADER", "ownerName": "w1"},
        {"leaseKey": "Migration3.0", "entityType": "CLIENT_VERSION_MIGRATION", "cv": "CLIENT_VERSION_3X"},
        {"leaseKey": "w1", "entityType": "WORKER_METRIC_STATS", "lut": 5, "sts": {}},
    ]
    assert resumed([*others, lease(A, entityType="LEASE"), lease(B)]) == {
        "orders": {A: At(7, 1), B: At(7, 1)}
    }


def test_several_streams_in_one_table(streams: dict[str, Any]) -> None:
    """In a table of several streams each stream has its own leases. Those of other streams do not matter."""
    items = [
        lease(f"{ORDERS}:{A}", "7"),
        lease(f"{ACCOUNT}:returns:{CREATED_S}:{A}", "8"),
        lease(f"{ACCOUNT}:teas:{CREATED_S}:{A}", "LATEST"),
    ]
    assert resumed(items, streams=streams) == {"orders": {A: At(7, 1)}, "returns": {A: At(8, 1)}}


def test_a_table_for_each_stream(streams: dict[str, Any]) -> None:
    """Streams of one query may continue from tables of their own, and beside other positions."""
    position = PerStream({"orders": KclApplication("billing"), "returns": Latest()})
    assert resumed([lease(A, "7")], position, streams) == {"orders": {A: At(7, 1)}}


def test_a_table_of_one_stream_for_several(streams: dict[str, Any]) -> None:
    """A table that does not name its stream cannot be that of several."""
    with pytest.raises(
        OptionError, match=r"has the leases of one stream, without its name.*\{\"orders\": \{"
    ):
        resumed([lease(A)], streams=streams)


def test_a_stream_that_was_created_again() -> None:
    """Leases of an older stream of the same name are an error: its records and shards are others."""
    with pytest.raises(
        OptionError,
        match=rf"has leases of {ACCOUNT}:orders:5, and the stream is now {ORDERS}: the stream was deleted",
    ):
        resumed([lease(f"{ACCOUNT}:orders:5:{A}")])


def test_a_table_of_one_stream_that_says_which_one() -> None:
    """Leases of a consumer group do, beside those that a KCL has made. They are not taken for those of another stream."""
    items = [lease(A, "7", streamIdentifier=ORDERS), lease(B, "8")]
    assert resumed(items) == {"orders": {A: At(7, 1), B: At(8, 1)}}
    with pytest.raises(OptionError, match=rf"has leases of {ACCOUNT}:orders:5, and the stream is now"):
        resumed([*items, lease("shardId-000000000002", streamIdentifier=f"{ACCOUNT}:orders:5")])
    with pytest.raises(OptionError, match=rf"no lease of this stream\. It has leases of {ACCOUNT}:teas:5\."):
        resumed([lease(A, streamIdentifier=f"{ACCOUNT}:teas:5")])


def test_leftovers_of_an_older_stream() -> None:
    """Leases of an older stream of the same name do not matter if there are leases of the stream of now."""
    items = [lease(f"{ACCOUNT}:orders:5:{A}", "6"), lease(f"{ORDERS}:{A}", "7")]
    assert resumed(items) == {"orders": {A: At(7, 1)}}


def test_a_table_of_other_streams() -> None:
    """The error names the streams that the table has."""
    with pytest.raises(
        OptionError, match=r"has no lease of this stream. It has leases of 1:teas:5. \[stream=orders\]"
    ):
        resumed([lease(f"1:teas:5:{A}")])


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([], "has no leases"),
        ([{"leaseKey": "Leader", "entityType": "LEADER"}], "has no leases"),
        (
            [{"metadataKey": "7", "metadataSortKey": "x"}],
            r"is not a lease table of the KCL: it has an item without leaseKey \(metadataKey, metadataSortKey\)",
        ),
        (
            [lease(A, "seven")],
            f"is damaged: item '{A}' is not a valid lease: 'checkpoint' is 'seven'",
        ),
        ([{"leaseKey": A}], f"is damaged: item '{A}' is not a valid lease: 'checkpoint'"),
    ],
)
def test_tables_that_are_of_no_use(items: list[Item], said: str) -> None:
    """A table that says nothing is an error that names it and what is wrong."""
    with pytest.raises(OptionError, match=rf"^{NAMED} {said}"):
        resumed(items)


def test_a_malformed_item() -> None:
    """An item that is not DynamoDB's JSON is an error that names the table."""

    class Table:
        name = "billing"

        def scan(self) -> list[dict[str, Any]]:
            return [{"leaseKey": {"S": A}, "leaseCounter": {"N": "many"}}]

    with pytest.raises(OptionError, match="table billing is damaged"):
        resume_from_applications(
            KclApplication("billing"), {"orders": make_stream("orders")}, lambda _: Table()
        )


def test_a_table_that_does_not_exist() -> None:
    """The error says how tables are named, and has what DynamoDB said."""
    tables = FakeTables({}, TableNotFoundError("No such table. [table=billing]", "ResourceNotFoundException"))
    with pytest.raises(
        OptionError, match=r"table billing does not exist.*lease table of its own name.*No such"
    ):
        resume_from_applications(KclApplication("billing"), {"orders": make_stream("orders")}, tables.open)


def test_a_missing_permission() -> None:
    """Other errors of DynamoDB are raised as they are."""
    tables = FakeTables({}, AccessDeniedError("Allow dynamodb:Scan."))
    with pytest.raises(AccessDeniedError, match="dynamodb:Scan"):
        resume_from_applications(KclApplication("billing"), {"orders": make_stream("orders")}, tables.open)


@pytest.mark.parametrize("position", [Latest(), PerStream({"orders": TrimHorizon()})])
def test_other_positions(position: StartingPosition) -> None:
    """Without an application nothing is opened, and the position stays."""
    tables = FakeTables({})
    apis: Any = {"orders": make_stream("orders")}
    assert resume_from_applications(position, apis, tables.open) is position
    assert tables.opened == []


def warnings_about(items: list[Item], caplog: pytest.LogCaptureFixture) -> list[str]:
    with caplog.at_level(logging.WARNING, "kinesis_core"):
        resumed(items)
    return [record.getMessage() for record in caplog.records]


def test_owners(caplog: pytest.LogCaptureFixture) -> None:
    """Owners of leases are named, since they may still run. Those of finished shards do not matter."""
    items = [
        lease(A, leaseOwner="w2", checkpointOwner="w1"),
        lease(B, leaseOwner="w3"),
        lease("shardId-000000000002", "SHARD_END", leaseOwner="w4"),
    ]
    [line] = warnings_about(items, caplog)
    assert line.startswith("lease.owned table=billing workers=w1, w3 reason=they own leases")


@pytest.mark.parametrize(("age_s", "lines"), [(20, 1), (600, 0)])
def test_signs_of_life(age_s: int, lines: int, caplog: pytest.LogCaptureFixture) -> None:
    """A worker of KCL 3.5 that reported lately runs. One that reported long ago was stopped, whatever it owns."""
    now_s = int(FakeClock().now_s())
    worker: Item = {"leaseKey": "w1", "entityType": "WORKER_METRIC_STATS", "lut": now_s - age_s}
    found = warnings_about([worker, lease(A, leaseOwner="w1")], caplog)
    assert [line.split(" reason=")[0] for line in found] == ["lease.owned table=billing workers=w1"] * lines


def test_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """Leases without owners cause no warning."""
    assert warnings_about([lease(A)], caplog) == []
