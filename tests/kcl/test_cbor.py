"""AWS's SDK for Java and the KCL speak CBOR and HTTP/2 to the emulator, which are their defaults."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from kinesis_emulator import Emulator
from support.java_programs import KCL_3
from support.kcl.application import KclApplication
from support.kcl.dynamodb_local import DynamoDbLocal
from support.kcl.java_process import start_java
from support.kcl.worker import VERSIONS, Version
from support.streams import REGION
from support.witness import WitnessUnavailableError, require
from support.witnesses.claims import check_claim

pytestmark = pytest.mark.witness


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    with Emulator() as started:
        yield started


def test_calls_of_the_sdk(emulator: Emulator, tmp_path: Path) -> None:
    """The SDK puts, reads, lists and reshards, and gets AWS's errors, all of it in CBOR and by HTTP/2."""
    emulator.create_stream("orders")
    try:
        installed = KCL_3.install()
    except WitnessUnavailableError as error:
        require(error)
    with start_java(
        installed, "SdkCalls", (emulator.endpoint_url, REGION, "orders"), tmp_path / "log"
    ) as sdk:
        sdk.wait_for("done")
        spoken = emulator.calls.count(wire_format="cbor", http_version="2")
        assert spoken == emulator.calls.count() >= 14
        [put] = sdk.events("put")
        assert (put["failed"], put["results"]) == (0, ["shardId-000000000000"] * 2)
        got = [
            (event["data"], event["key"], event["arrivedMs"], event["number"])
            for event in sdk.events("record")
        ]
        assert got == [
            (
                base64.b64encode(record.data).decode(),
                record.partition_key,
                record.arrived_ms,
                record.sequence_number,
            )
            for record in emulator.records("orders")
        ]
        assert got[0][0] == base64.b64encode(bytes(range(256))).decode()
        [read] = sdk.events("read")
        assert 1 <= read["atTime"] <= 3
        assert read["afterTwo"] == 1
        [described] = sdk.events("described")
        assert described["streams"] == ["orders"]
        assert abs(described["createdMs"] - got[0][2]) < 3_600_000
        assert [(event["code"], event["status"], event["kind"]) for event in sdk.events("refused")] == [
            ("ResourceNotFoundException", 400, "ResourceNotFoundException"),
            ("InvalidArgumentException", 400, "InvalidArgumentException"),
            ("ValidationException", 400, "ValidationException"),
        ]
        assert all(event["message"] for event in sdk.events("refused"))
        [resharded] = sdk.events("resharded")
        parent = "shardId-000000000000"
        assert resharded["shards"] == ["0 of null from 0", f"1 of {parent} from 0", f"2 of {parent} from 5"]


@pytest.mark.parametrize(
    ("retrieval", "formats"),
    [
        ("polling", {"GetShardIterator": "cbor", "GetRecords": "cbor"}),
        ("fanOut", {"RegisterStreamConsumer": "cbor", "SubscribeToShard": "json"}),
    ],
)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_kcl_over_a_reshard(
    dynamodb_local: DynamoDbLocal,
    emulator: Emulator,
    tmp_path: Path,
    version: Version,
    retrieval: str,
    formats: dict[str, str],
) -> None:
    """
    The KCL reads all user records over a split and a merge, polling or by fan-out: each of them once.

    It speaks HTTP/2, and CBOR except when it subscribes.
    """
    with KclApplication(dynamodb_local, emulator.endpoint_url, tmp_path) as application:
        application.create_table()
        application.put(100)
        worker = application.start(version, retrieval=retrieval)
        worker.wait_records(100)
        application.stream.split()
        application.put(100)
        application.stream.merge(1)
        application.put(100)
        delivered = application.wait_all_delivered()
        what = f"{'polls' if retrieval == 'polling' else 'reads by fan-out'} over a split and a merge"
        check_claim(f"KCL {version}", what, application.sent, [record.data for record in delivered])
        for action, wire_format in formats.items():
            spoken = emulator.calls.count(action, wire_format=wire_format, http_version="2")
            assert spoken == emulator.calls.count(action) >= 1
