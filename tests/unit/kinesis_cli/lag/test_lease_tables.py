"""Positions in lease tables, from the items of golden files and of a KCL."""

from __future__ import annotations

from typing import Any

import pytest

from kinesis_cli.ending import CommandError
from kinesis_cli.lag.lease_tables import leases_of, reading_of
from kinesis_cli.lag.readings import Position, Reading
from kinesis_core import After, At, AtTimestamp, ShardEnd, TrimHorizon
from kinesis_core.model import StreamSummary
from support.lease_tables import kcl_lease

ARN = "arn:aws:kinesis:eu-west-1:000000000000:stream/orders"
ORDERS = StreamSummary("orders", ARN, "ACTIVE", 1_780_000_000_123, 24)
EARLIER = "000000000000:orders:1770000000"
S = [f"shardId-{number:012d}" for number in range(7)]


def read(*items: dict[str, Any]) -> Reading:
    return reading_of("billing", leases_of("billing", items), ORDERS)


def test_positions() -> None:
    """Each lease says where its reader continues, or that it does not say it, and who reads."""
    owner: dict[str, Any] = {"leaseOwner": {"S": "worker-1"}}
    reading = read(
        kcl_lease(S[0], "SHARD_END"),
        kcl_lease(S[1], "4966", 3, **owner),
        kcl_lease(S[2], "4967", 2**31 - 1, **owner, checkpointOwner={"S": "worker-2"}),
        kcl_lease(S[3], "TRIM_HORIZON"),
        kcl_lease(S[4], "LATEST", **owner),
        kcl_lease(S[5], "AT_TIMESTAMP", startingTime={"N": "1790000000000"}),
        {"leaseKey": {"S": "Leader"}, "entityType": {"S": "LEADER"}},
    )
    assert reading.positions == {
        S[0]: Position(ShardEnd(), "SHARD_END"),
        S[1]: Position(At(4966, 4), "AFTER 4966/3", owner="worker-1"),
        S[2]: Position(After(4967), f"AFTER 4967/{2**31 - 1}", owner="worker-2"),
        S[3]: Position(TrimHorizon(), "TRIM_HORIZON"),
        S[4]: Position(None, "LATEST", owner="worker-1"),
        S[5]: Position(AtTimestamp(1790000000000), "AT_TIMESTAMP"),
    }
    assert (reading.reader, reading.kind) == ("billing", "application")


def test_the_last_commit() -> None:
    """A group committed last when one of its leases says so. A lease whose checkpoint a KCL has moved says nothing."""
    times = ("5 1790000000000", "6 1790000007000", "4 1790000009000")
    items = [
        kcl_lease(S[number], checkpoint, committedAt={"S": time})
        for number, (checkpoint, time) in enumerate(zip("567", times, strict=True))
    ]
    assert read(*items, kcl_lease(S[3], "8")).committed_ms == 1_790_000_007_000
    assert read(kcl_lease(S[3], "8")).committed_ms is None


def test_several_streams() -> None:
    """Of a table with several streams, the leases of this one count: its account, name and creation time."""
    reading = read(
        kcl_lease(f"000000000000:orders:1780000000:{S[0]}", "5"),
        kcl_lease(f"000000000000:clicks:1780000000:{S[0]}", "6"),
        kcl_lease(f"000000000000:orders:1770000000:{S[1]}", "7"),
    )
    assert [(shard, position.shown) for shard, position in reading.positions.items()] == [(S[0], "AFTER 5")]


@pytest.mark.parametrize(
    ("items", "what"),
    [
        ([], "has no leases"),
        ([{"leaseKey": {"S": "Leader"}, "entityType": {"S": "LEADER"}}], "has no leases"),
        ([{"id": {"S": "x"}}], "is not a lease table: it has an item without leaseKey"),
        ([kcl_lease(S[0], "NOWHERE")], "is damaged: item 'shardId-000000000000' is not a valid lease"),
        ([kcl_lease(f"000000000000:orders:1770000000:{S[1]}", "7")], "deleted and created again"),
        ([kcl_lease(S[1], "7", streamIdentifier={"S": EARLIER}), kcl_lease(S[0], "5")], "created again"),
        (
            [kcl_lease(S[1], "7", streamIdentifier={"S": "000000000000:clicks:1780000000"})],
            "no lease of orders. It has leases of 000000000000:clicks:1780000000",
        ),
        (
            [kcl_lease(f"000000000000:clicks:1780000000:{S[1]}", "7")],
            "no lease of orders. It has leases of 000000000000:clicks:1780000000",
        ),
    ],
)
def test_no_position(items: list[dict[str, Any]], what: str) -> None:
    """What is no lease table of this stream is refused with the reason."""
    with pytest.raises(CommandError, match=what):
        read(*items)
