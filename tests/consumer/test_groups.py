"""Groups over HTTP: what `ConsumerGroup.open` reads, refuses, and hands over."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kinesis_consumer import (
    Batch,
    Callbacks,
    ConsumerGroup,
    GroupSettings,
    GroupStateError,
    MemoryLeases,
    SendTo,
    SqliteLeases,
)
from kinesis_consumer.leases import new_item
from kinesis_consumer.stores import MemoryTable, Update
from kinesis_core import (
    OptionError,
    ServiceError,
    Stream,
    StreamNotFoundError,
    StreamRecreatedError,
    TrimHorizon,
)
from kinesis_core.leases import OLDEST, Item, Lease
from kinesis_credentials import StaticKeys
from kinesis_emulator import Emulator, Fault, ManualClock, Request
from support.aggregates import aggregate
from support.streams import KEY_ID, REGION, SECRET, tags_of_consumer
from support.waiting import PATIENCE_S

KEYS = StaticKeys(KEY_ID, SECRET)
SHARD = "shardId-000000000000"
QUICK = GroupSettings(lease_duration_s=30.0, fetch_interval_s=0.2)
"""No lease expires where a busy machine stands still for some seconds: its batch would be delivered again."""


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    with Emulator() as running:
        running.create_stream("orders", 2)
        yield running


def opened(emulator: Emulator, streams: Any = "orders", **more: Any) -> ConsumerGroup:
    chosen = {"leases": MemoryLeases(), "start": "TRIM_HORIZON", "settings": QUICK, **more}
    return ConsumerGroup.open(
        streams, "billing", region=REGION, endpoint_url=emulator.endpoint_url, credentials=KEYS, **chosen
    )


def read(emulator: Emulator, stream: str) -> list[tuple[bytes, str | None]]:
    """Return the data and keys of all records in a stream."""
    found = Stream.open(stream, region=REGION, endpoint_url=emulator.endpoint_url, credentials=KEYS)
    return [(record.data, record.partition_key) for record in found.read("TRIM_HORIZON").records()]


@pytest.mark.parametrize("each", ["batch", "record"])
def test_failed_records_go_to_another_stream(emulator: Emulator, each: Any) -> None:
    """With `SendTo` the records that a handler fails for are in the other stream, with their keys, before the commit."""
    emulator.create_stream("orders-dead")
    for number in range(10):
        emulator.put("orders", b"%d" % number, f"key-{number}")
    dead = SendTo("orders-dead", region=REGION, endpoint_url=emulator.endpoint_url, credentials=KEYS)
    left = [10]

    with opened(emulator) as group:

        def handler(unit: Any) -> None:
            left[0] -= unit.record_count if isinstance(unit, Batch) else 1
            if not left[0]:
                group.stop()
            raise ZeroDivisionError

        group.run(handler, retries=0, on_failure=dead, each=each)
    wanted = [(b"%d" % number, f"key-{number}") for number in range(10)]
    assert sorted(read(emulator, "orders-dead")) == wanted


def test_odd_keys_go_to_another_stream(emulator: Emulator) -> None:
    """`SendTo` writes user records whose keys Kinesis does not accept: a long key is cut, and an empty one is left out."""
    emulator.create_stream("orders-dead")
    keys: list[str | bytes] = ["k" * 300, "", b"\xff", "good"]
    emulator.put("orders", aggregate([(key, None, b"%d" % number) for number, key in enumerate(keys)]), "a")
    dead = SendTo("orders-dead", region=REGION, endpoint_url=emulator.endpoint_url, credentials=KEYS)
    with opened(emulator) as group:

        def handler(_: Batch) -> None:
            group.stop()
            raise ZeroDivisionError

        group.run(handler, retries=0, on_failure=dead)
    found = dict(read(emulator, "orders-dead"))
    assert [found.pop(b"0"), found.pop(b"2"), found.pop(b"3")] == ["k" * 256, "\ufffd", "good"]
    assert found[b"1"]


def test_several_streams_share_a_table(emulator: Emulator, tmp_path: Path) -> None:
    """A group of two streams reads both, and a second one goes on where it ended."""
    emulator.create_stream("teas")
    leases = SqliteLeases(tmp_path / "leases.db")
    for data in (b"first", b"second"):
        for stream in ("orders", "teas"):
            emulator.put(stream, data, "k")
        found = {}
        with opened(emulator, ["orders", "teas"], leases=leases) as group:
            for batch in group:
                found[batch.stream] = [record.data for record in batch.records()]
                batch.commit()
                if len(found) == 2:
                    group.stop()
        assert found == {"orders": [data], "teas": [data]}


def test_streams_change_between_starts(emulator: Emulator, tmp_path: Path) -> None:
    """A group of two streams may lose one, and goes on in the other. A group of one stream refuses a second one."""
    emulator.create_stream("teas")
    leases = SqliteLeases(tmp_path / "leases.db")
    for streams, data in ((["orders", "teas"], b"first"), (["orders"], b"second")):
        emulator.put("orders", data, "k")
        with opened(emulator, streams, leases=leases) as group:
            batch = next(group)
            assert [record.data for record in batch.records()] == [data]
            batch.commit()
    alone = SqliteLeases(tmp_path / "others.db")
    with opened(emulator, "orders", leases=alone) as group:
        next(group)
    with pytest.raises(GroupStateError, match="opened with several streams"):
        opened(emulator, ["orders", "teas"], leases=alone)


def test_a_stream_is_the_same_by_name_and_by_arn(emulator: Emulator) -> None:
    """A batch has the same id however its stream was given, and a stream that is given in both ways is refused."""
    arn = emulator.create_stream("teas")
    emulator.put("teas", b"x", "k")
    ids = []
    for stream in ("teas", arn):
        with opened(emulator, stream) as group:
            batch = next(group)
            assert batch.stream == "teas"
            ids.append(str(batch.id))
    assert ids[0] == ids[1]
    with pytest.raises(OptionError, match="are the same one"):
        opened(emulator, ["teas", arn])


def test_tags_of_a_registered_consumer(emulator: Emulator) -> None:
    """A consumer that `open` registers has the tags. The next worker finds it, and changes none. A wrong tag is refused first."""
    for tags in ({"team": "orders", "stage": ""}, {"team": "teas"}):
        opened(emulator, consumer="audit", consumer_tags=tags).close()
        found = tags_of_consumer(emulator.endpoint_url, "orders", "audit")
        assert found == {"team": "orders", "stage": ""}
    emulator.calls.clear()
    with pytest.raises(OptionError, match="consumer_tags: The tag 'aws:x' begins with 'aws:'"):
        opened(emulator, consumer="audit", consumer_tags={"aws:x": ""})
    assert not emulator.calls.count()


@pytest.mark.parametrize(("code", "status"), [("InternalFailure", 500), ("LimitExceededException", 400)])
def test_a_worker_calls_once(emulator: Emulator, code: str, status: int) -> None:
    """A failed or throttled call of a worker is one attempt: it repeats the call later, and can be closed in between."""
    api = opened(emulator)._threads.worker.leases.sources[None].api
    seen: list[str] = []

    def fail(request: Request) -> Fault:
        seen.append(request.action)
        return Fault(code=code, status=status)

    emulator.settings.fault = fail
    for call in (api.describe, api.list_shards, lambda: api.get_iterator(SHARD, TrimHorizon())):
        with pytest.raises(ServiceError, match=code):
            call()
    assert seen == ["DescribeStreamSummary", "ListShards", "GetShardIterator"]


@pytest.mark.parametrize("start", ["TRIM_HORIZON", "LATEST"])
@pytest.mark.parametrize("streams", ["orders", ["orders", "teas"]])
def test_a_stream_that_was_created_again(tmp_path: Path, streams: Any, start: str) -> None:
    """
    The leases of an idle stream have no record of it, and seem to be those of the next stream of that name. A part of its shards
    would not be read, or not from their first records.
    """
    clock = ManualClock(1_790_000_000)
    with Emulator(clock=clock) as emulator:
        for stream in ("orders", "teas"):
            emulator.create_stream(stream, 1)
        leases = SqliteLeases(tmp_path / "leases.db")
        created = threading.Event()
        callbacks = Callbacks(lease_gained=lambda *_: created.set())
        with opened(emulator, streams, leases=leases, callbacks=callbacks):
            assert created.wait(PATIENCE_S)
        emulator.delete_stream("orders")
        clock.advance(60)
        emulator.create_stream("orders", 2)
        with pytest.raises(StreamRecreatedError, match=r"deleted and created again\..*created at 2026-09-21"):
            opened(emulator, streams, leases=leases, start=start)


def test_leases_without_their_stream(emulator: Emulator, tmp_path: Path) -> None:
    """A table of a KCL, or of an older version, does not say of which stream it is. A group goes on in it, and writes that."""
    leases = SqliteLeases(tmp_path / "leases.db")
    for data in (b"first", b"second"):
        emulator.put("orders", data, "k")
        with opened(emulator, leases=leases) as group:
            batch = next(group)
            assert [record.data for record in batch.records()] == [data]
            batch.commit()
            table, key = group._threads.worker.leases.table, batch.shard_id
        names = {item.get("streamIdentifier") for item in table.scan() if item["leaseKey"] == key}
        assert {str(name).split(":")[1] for name in names} == {"orders"}
        for shard in (SHARD, "shardId-000000000001"):
            table.update(Update(shard, {}, remove=("streamIdentifier",)))


def test_a_local_kinesis_with_leases_at_aws(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default leases would be a table in an account. The error names both ways to keep them on this machine."""
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(
        OptionError, match=r"AWS_ENDPOINT_URL_DYNAMODB \(or endpoint_url of DynamoLeases\).*SqliteLeases"
    ):
        opened(emulator, leases=None)


@pytest.mark.parametrize("is_running", [True, False])
def test_in_the_table_of_an_older_kcl(emulator: Emulator, is_running: bool) -> None:
    """`open` refuses to work beside its workers, and writes nothing. Where they were stopped, the table says from then on who assigns leases."""

    class ApplicationTable(MemoryTable):
        def scan(self) -> list[Item]:
            if is_running:
                self.update(Update(SHARD, {}, add={"leaseCounter": 1}))
            return super().scan()

    class Leases:
        def open(self, *_: object) -> MemoryTable:
            return table

    table = ApplicationTable("billing")
    table.create(SHARD, {**new_item(Lease(SHARD, OLDEST)), "leaseOwner": "java"})
    quick = GroupSettings(lease_duration_s=1)
    if is_running:
        with pytest.raises(GroupStateError, match=r"\[table=billing seen=java, renewing leases\]"):
            opened(emulator, leases=Leases(), settings=quick)
        assert [item["leaseKey"] for item in table.scan()] == [SHARD]
    else:
        opened(emulator, leases=Leases(), settings=quick)
        assert (table.get("Migration3.0") or {})["cv"] == "CLIENT_VERSION_3X"


def test_a_stream_that_does_not_exist(emulator: Emulator) -> None:
    """`open` verifies that each stream exists."""
    with pytest.raises(StreamNotFoundError, match="teas"):
        opened(emulator, ["orders", "teas"])
