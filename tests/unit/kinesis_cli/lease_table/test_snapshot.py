"""What a lease table holds."""

from __future__ import annotations

from kinesis_cli.lease_table.snapshot import Snapshot

ORDERS, TEAS = "123456789012:orders:1700000000", "123456789012:teas:1700000000"


def malformed(*keys: str, stream: str | None) -> list[str]:
    """Return the keys that are no valid leases, in a table with such items."""
    items = [{"leaseKey": {"S": key}, "checkpoint": {"N": "1"}} for key in keys]
    return list(Snapshot.read(items).of_stream(stream).malformed)


def test_malformed_leases_of_another_stream() -> None:
    """They do not count if their key names another stream. A key that names none is of any."""
    keys = (f"{ORDERS}:shardId-0", f"{TEAS}:shardId-0", "shardId-0", "a:b")
    assert malformed(*keys, stream=None) == sorted(keys)
    assert malformed(*keys, stream="orders") == [f"{ORDERS}:shardId-0", "a:b", "shardId-0"]
    assert malformed(*keys, stream=TEAS) == [f"{TEAS}:shardId-0", "a:b", "shardId-0"]
