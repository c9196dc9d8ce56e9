"""Reading over HTTP while ListShards does not show the children of a reshard yet."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kinesis_core import Stream
from kinesis_credentials import StaticKeys
from kinesis_emulator import Emulator, Limits, Settings

HIDDEN_S = 1.0
KEYS = StaticKeys("AKIAEXAMPLE", "example-secret")


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    with Emulator(settings=Settings(limits=Limits.unlimited(), hide_children_s=HIDDEN_S)) as emulator:
        emulator.create_stream("orders", shards=2)
        yield emulator


def put(emulator: Emulator, prefix: str) -> list[bytes]:
    """Put records to all shards, each key in its own order."""
    payloads = [f"{prefix}-{i}".encode() for i in range(40)]
    for i, payload in enumerate(payloads):
        emulator.put("orders", payload, f"key-{i % 8}")
    return payloads


def open_orders(emulator: Emulator) -> Stream:
    return Stream.open("orders", region="us-east-1", endpoint_url=emulator.endpoint_url, credentials=KEYS)


def test_a_batch_right_after_reshards_holds_everything(emulator: Emulator) -> None:
    """A batch read does not end with closed shards whose children are not listed yet: it waits, and keys stay in order."""
    expected = put(emulator, "first")
    shards = emulator.shard_ids("orders")
    emulator.merge("orders", shards[0], shards[1])
    expected += put(emulator, "second")
    emulator.split("orders", emulator.shard_ids("orders")[-1])
    expected += put(emulator, "third")
    records = list(open_orders(emulator).read("TRIM_HORIZON").records())
    assert sorted(record.data for record in records) == sorted(expected)
    for key in {record.partition_key for record in records}:
        mine = [record.data for record in records if record.partition_key == key]
        assert mine == [payload for payload in expected if payload in mine]
