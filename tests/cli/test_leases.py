"""`kinesis leases`: the lease table for people, and changes of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from attrs import define

from kinesis_cli.output import show_time
from kinesis_consumer import ConsumerGroup, DynamoLeases
from kinesis_credentials import StaticKeys
from kinesis_emulator import Emulator, ManualClock
from support.command_line import CommandLine
from support.lease_tables import DynamoDb, dynamodb, kcl_lease
from support.loops import variants
from support.streams import KEY_ID, SECRET, wait_for_the_next_millisecond

Create = Callable[[int], str]
KEYS = StaticKeys(KEY_ID, SECRET)
SHARDS = ("shardId-000000000000", "shardId-000000000001")
NUMBER = "49590338271490256608559692538361571095921575989136588898"
AT_ONCE = "--watch-for=0s"
"""Tests of tables whose workers do not matter need not watch them."""


@pytest.fixture
def tables() -> Iterator[DynamoDb]:
    with dynamodb() as running:
        yield running


@pytest.fixture
def kinesis(kinesis: CommandLine, tables: DynamoDb) -> CommandLine:
    return kinesis.having({"AWS_ENDPOINT_URL_DYNAMODB": tables.endpoint_url})


@pytest.fixture
def table(tables: DynamoDb) -> str:
    """Return a table with two leases, as a stopped KCL leaves them."""
    tables.create_table(leaseKey="HASH")
    owner = {"S": "worker-1"}
    tables.put_item(kcl_lease(SHARDS[0], NUMBER, 3, leaseOwner=owner))
    tables.put_item(kcl_lease(SHARDS[1], "SHARD_END", leaseOwner=owner, parentShardId={"SS": [SHARDS[0]]}))
    return tables.table


def item(tables: DynamoDb, key: str) -> dict[str, Any]:
    found: dict[str, Any] = tables.client.get_item(TableName=tables.table, Key={"leaseKey": {"S": key}})[
        "Item"
    ]
    return found


def test_tables(kinesis: CommandLine, table: str) -> None:
    """Each lease has a line, and so has each worker."""
    lines = [line.split() for line in kinesis("leases", table, "--watch-for", "100ms").lines]
    assert lines == [
        ["SHARD", "OWNER", "CHECKPOINT", "COUNTER", "PARENTS"],
        [SHARDS[0], "worker-1", "AFTER", f"{NUMBER}/3", "7", "-"],
        [SHARDS[1], "worker-1", "SHARD_END", "7", SHARDS[0]],
        [],
        ["WORKER", "LEASES", "STATE"],
        ["worker-1", "1", "not", "watched"],
    ]


def test_json(kinesis: CommandLine, table: str) -> None:
    """For scripts there is one object."""
    found = json.loads(kinesis("leases", table, "-o", "json", AT_ONCE).text)
    assert found["application"] == table
    assert found["leases"][0] == {
        "shard": SHARDS[0],
        "stream": None,
        "owner": "worker-1",
        "nextOwner": None,
        "checkpoint": NUMBER,
        "subSequenceNumber": 3,
        "pendingCheckpoint": None,
        "counter": 7,
        "parents": [],
        "children": [],
    }
    assert found["workers"] == [
        {"name": "worker-1", "leases": 1, "state": "unknown", "reportAgeSeconds": None, "isLeader": False}
    ]


def test_a_missing_table(kinesis: CommandLine) -> None:
    """The error says that the table has the name of the application."""
    ran = kinesis("leases", "biling", status=1)
    assert ran.err.startswith(
        "kinesis leases: DynamoDB in us-east-1 has no table biling. A lease table has the name"
    )


@pytest.mark.parametrize("command", ["leases", "lag"])
def test_a_local_kinesis_with_tables_at_aws(
    kinesis: CommandLine, emulator: Emulator, create: Create, command: str
) -> None:
    """The error names both URLs, and the variable and option for the table."""
    arguments = ("billing",) if command == "leases" else (create(1), "--application", "billing")
    ran = kinesis.having({"AWS_ENDPOINT_URL_DYNAMODB": ""})(command, *arguments, status=None)
    assert ran.status != 0
    assert f"Kinesis is at {emulator.endpoint_url}, and the table would be in DynamoDB at https://" in ran.err
    assert "Set AWS_ENDPOINT_URL_DYNAMODB (or --dynamodb-endpoint-url) to a local DynamoDB" in ran.err


def test_several_streams(kinesis: CommandLine, tables: DynamoDb) -> None:
    """A table of several streams names them, and --stream chooses one."""
    tables.create_table(leaseKey="HASH")
    for stream in ("orders", "teas"):
        tables.put_item(kcl_lease(f"123456789012:{stream}:1700000000:{SHARDS[0]}", "TRIM_HORIZON"))
    assert kinesis("leases", tables.table).lines[0].split()[0] == "STREAM"
    found = json.loads(kinesis("leases", tables.table, "--stream", "teas", "-o", "json").text)
    assert [lease["stream"] for lease in found["leases"]] == ["123456789012:teas:1700000000"]


@pytest.mark.everything
def test_reset(kinesis: CommandLine, tables: DynamoDb, table: str) -> None:
    """A reset shows what it changes and asks. It takes away what belongs to the old position and to its owner."""
    notes = {"pendingCheckpoint": {"S": NUMBER}, "pendingCheckpointSubSequenceNumber": {"N": "9"}}
    ours = {"pendingBatch": {"S": "1 a b c"}, "emptyUntil": {"S": "1 a 5"}, "startingTime": {"N": "5"}}
    owners = {"leaseOwner": {"S": "worker-1"}, "checkpointOwner": {"S": "worker-2"}}
    other = {"throughputKBps": {"N": "1.5"}}
    tables.put_item({**kcl_lease(SHARDS[0], NUMBER, 3), **notes, **ours, **owners, **other})
    for answer, status in (("n", 1), ("y", 0)):
        before = item(tables, SHARDS[0])
        with kinesis.terminal(
            "leases", table, f"--reset={SHARDS[0]}=TRIM_HORIZON", AT_ONCE, "--force"
        ) as terminal:
            terminal.wait_for(f"{SHARDS[0]}: AFTER {NUMBER}/3 -> TRIM_HORIZON")
            terminal.wait_for(f"Reset 1 lease of {table}? [y/N]")
            assert item(tables, SHARDS[0]) == before
            terminal.type(f"{answer}\n")
            assert terminal.rest().status == status
    assert item(tables, SHARDS[0]) == {
        **kcl_lease(SHARDS[0], "TRIM_HORIZON"),
        **other,
        "leaseCounter": {"N": "8"},
    }
    assert item(tables, SHARDS[1])["checkpoint"] == {"S": "SHARD_END"}


def test_release(kinesis: CommandLine, tables: DynamoDb, table: str) -> None:
    """The leases of a worker get free. During a hand-over the next owner has them."""
    tables.put_item(
        {**item(tables, SHARDS[0]), "checkpointOwner": {"S": "worker-1"}, "leaseOwner": {"S": "worker-2"}}
    )
    ran = kinesis("leases", table, "--release", "worker-1", "--yes", AT_ONCE, "--force")
    assert ran.err.splitlines() == [
        f"{SHARDS[0]}: owned by worker-1 -> by worker-2",
        f"{SHARDS[1]}: owned by worker-1 -> by nobody",
        "2 leases changed.",
    ]
    first, second = (item(tables, shard) for shard in SHARDS)
    assert first["leaseOwner"] == {"S": "worker-2"}
    assert "checkpointOwner" not in first
    assert "leaseOwner" not in second
    assert first["leaseCounter"] == second["leaseCounter"] == {"N": "8"}


@pytest.mark.everything
def test_a_lease_that_changes_meanwhile(kinesis: CommandLine, tables: DynamoDb, table: str) -> None:
    """A lease that somebody else has written to since it was read is left alone, and the exit status is 3."""
    with kinesis.terminal("leases", table, "--reset=all=TRIM_HORIZON", AT_ONCE, "--force") as terminal:
        terminal.wait_for("[y/N]")
        tables.put_item({**item(tables, SHARDS[0]), "leaseCounter": {"N": "70"}})
        terminal.type("y\n")
        ran = terminal.rest()
    assert ran.status == 3
    assert f"1 lease changed in the meantime and stayed as they are: {SHARDS[0]}." in ran.text
    assert item(tables, SHARDS[0])["checkpoint"] == {"S": NUMBER}
    assert item(tables, SHARDS[1])["checkpoint"] == {"S": "TRIM_HORIZON"}


@pytest.mark.parametrize("watch_for", variants(["0s", "1s"]))
@pytest.mark.parametrize("change", ["--reset=all=TRIM_HORIZON", "--release=worker-1"])
def test_a_watch_that_is_too_short(
    kinesis: CommandLine, tables: DynamoDb, table: str, watch_for: str, change: str
) -> None:
    """A worker that was not watched for the time of a renewal may run, so its leases are not changed."""
    before = item(tables, SHARDS[0])
    ran = kinesis("leases", table, change, "--yes", "--watch-for", watch_for, status=1)
    assert f"Workers of {table} may run: worker-1. They were not watched long enough" in ran.err
    assert item(tables, SHARDS[0]) == before


@pytest.mark.everything
def test_a_watch_that_is_long_enough(kinesis: CommandLine, tables: DynamoDb, table: str) -> None:
    """A worker that writes nothing for 4 seconds has ended."""
    assert "silent for 4" in kinesis("leases", table).lines[-1]
    kinesis("leases", table, "--reset=all=TRIM_HORIZON", "--yes")
    assert item(tables, SHARDS[0])["checkpoint"] == {"S": "TRIM_HORIZON"}


def test_malformed_leases(kinesis: CommandLine, tables: DynamoDb) -> None:
    """A reset of all leases changes those that are valid, and names the others. The exit status is 3."""
    tables.create_table(leaseKey="HASH")
    tables.put_item(kcl_lease(SHARDS[0], NUMBER))
    broken = {"leaseKey": {"S": SHARDS[1]}, "checkpoint": {"N": "1"}}
    tables.put_item(broken)
    one = kinesis("leases", tables.table, f"--reset={SHARDS[0]}=LATEST", "--yes", AT_ONCE)
    assert one.err.splitlines()[-1] == "1 lease changed."
    ran = kinesis("leases", tables.table, "--reset=all=TRIM_HORIZON", "--yes", AT_ONCE, status=3)
    assert ran.err.splitlines()[-2:] == [
        "1 lease changed.",
        f"kinesis leases: 1 item of {tables.table} is not a valid lease and stayed as it is: {SHARDS[1]}.",
    ]
    assert item(tables, SHARDS[0])["checkpoint"] == {"S": "TRIM_HORIZON"}
    assert item(tables, SHARDS[1]) == broken


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--reset", "all"], "--reset is 'all'. Use SHARD=POSITION."),
        (["--reset", "all=LATEST", "--release", "x"], "--reset and --release exclude each other."),
        (["--watch-for", "soon"], "--watch-for is 'soon'. Use a time such as 4s."),
    ],
)
def test_wrong_options(kinesis: CommandLine, tables: DynamoDb, arguments: list[str], message: str) -> None:
    """Wrong options are refused with status 2, before DynamoDB is called."""
    assert kinesis("leases", "missing", *arguments, status=2).err.startswith(f"kinesis leases: {message}")
    assert not tables.calls


@define
class Billing:
    """An application of our own consumers."""

    emulator: Emulator
    tables: DynamoDb
    stream: str

    def open(self) -> ConsumerGroup:
        return ConsumerGroup.open(
            self.stream,
            application=self.tables.table,
            start="TRIM_HORIZON",
            leases=DynamoLeases(endpoint_url=self.tables.endpoint_url),
            region=self.emulator.settings.region,
            endpoint_url=self.emulator.endpoint_url,
            credentials=KEYS,
        )

    def read(self, count: int) -> list[bytes]:
        """Return the next *count* records that a new worker gets. It commits them."""
        found: list[bytes] = []
        with self.open() as group:
            for batch in group:
                found += [record.data for record in batch.records()]
                batch.commit()
                if len(found) >= count:
                    return found
        raise AssertionError


@pytest.fixture
def billing(emulator: Emulator, tables: DynamoDb, create: Create) -> Billing:
    stream = create(1)
    for number in range(6):
        if number == 4:
            wait_for_the_next_millisecond()
        emulator.put(stream, b"%d" % number)
    return Billing(emulator, tables, stream)


@pytest.mark.everything
def test_workers_that_run(kinesis: CommandLine, tables: DynamoDb, billing: Billing) -> None:
    """While a worker runs it is shown as running, and changes are refused. With --force it reads from the new position."""
    with billing.open() as group:
        first = next(group)
        assert [record.data for record in first.records()] == [b"0", b"1", b"2", b"3", b"4", b"5"]
        first.commit()
        found = json.loads(kinesis("leases", tables.table, "-o", "json").text)
        (worker,) = found["workers"]
        assert (worker["state"], worker["leases"], worker["isLeader"]) == ("running", 1, True)
        before = item(tables, SHARDS[0])["checkpoint"]
        ran = kinesis("leases", tables.table, "--reset", "all=TRIM_HORIZON", "--yes", status=1)
        assert (
            f"Workers of {tables.table} run: {worker['name']} (it renews its leases). Stop them first"
            in ran.err
        )
        assert item(tables, SHARDS[0])["checkpoint"] == before
        while kinesis(
            "leases", tables.table, "--reset", "all=TRIM_HORIZON", "--yes", "--force", status=None
        ).status:
            pass  # the worker renews in between now and then
        assert next(next(group).records()).data == b"0"


@pytest.mark.parametrize(
    ("position", "left"),
    [
        ("TRIM_HORIZON", [0, 1, 2, 3, 4, 5]),
        ("AT {2}", [2, 3, 4, 5]),
        ("{2}", [2, 3, 4, 5]),
        ("AFTER {2}", [3, 4, 5]),
        ("{time of 4}", None),
    ],
)
def test_our_consumer_reads_on_from_there(
    kinesis: CommandLine,
    emulator: Emulator,
    tables: DynamoDb,
    billing: Billing,
    position: str,
    left: list[int] | None,
) -> None:
    """After a reset a worker reads on from the position, also if its predecessor left a batch that was not committed."""
    with billing.open() as group:
        next(group)  # handed out, and never committed
    records = emulator.records(billing.stream)
    position = position.replace("{2}", records[2].sequence_number).replace(
        "{time of 4}", show_time(records[4].arrived_ms)
    )
    kinesis(
        "leases",
        tables.table,
        f"--reset={SHARDS[0]}={position}",
        "--stream",
        billing.stream,
        "--yes",
        AT_ONCE,
        "--force",
    )
    if left is None:
        left = [
            number
            for number, record in enumerate(records)
            if (record.arrived_ms or 0) >= (records[4].arrived_ms or 0)
        ]
    assert billing.read(len(left)) == [b"%d" % number for number in left]


def test_a_time_needs_the_stream(kinesis: CommandLine, table: str) -> None:
    """A table of one stream does not name it, so a time cannot be looked up without --stream."""
    ran = kinesis("leases", table, "--reset=all=10m", "--yes", AT_ONCE, "--force", status=2)
    assert "A time needs --stream" in ran.err


def test_a_time_that_has_expired(kinesis: CommandLine, tables: DynamoDb) -> None:
    """A note says that a reset to it begins at the oldest record left. Nothing is said in a stream that is younger."""
    clock = ManualClock(time.time() - 3 * 24 * 3600)
    with Emulator(clock=clock) as emulator:
        emulator.create_stream("orders", 2)
        clock.advance(3 * 24 * 3600)
        emulator.create_stream("teas", 2)
        tables.create_table(leaseKey="HASH")
        for stream in ("orders", "teas"):
            for shard in SHARDS:
                tables.put_item(kcl_lease(f"123456789012:{stream}:1700000000:{shard}", "LATEST"))
        ran = kinesis.to(emulator)("leases", tables.table, "--reset=all=30h", "--yes", AT_ONCE)
    (line,) = [line for line in ran.err.splitlines() if "have expired" in line]
    assert line.startswith("Records of orders since ")
    assert line.endswith("the retention is 24 h. Its shards are read from the oldest record left.")
    assert ran.err.endswith("4 leases changed.\n")


def test_a_stream_that_was_created_again(kinesis: CommandLine, tables: DynamoDb, create: Create) -> None:
    """Its shards are others, whatever the position: a reset of the old leases would leave shards unread. Nothing is changed."""
    stream = create(1)
    tables.create_table(leaseKey="HASH")
    tables.put_item(kcl_lease(SHARDS[0], NUMBER, streamIdentifier={"S": f"000000000000:{stream}:1700000000"}))
    ran = kinesis("leases", tables.table, "--reset=all=TRIM_HORIZON", "--yes", AT_ONCE, status=1)
    assert f"has leases of 000000000000:{stream}:1700000000, and the stream is now 0" in ran.err
    assert "deleted and created again. Delete these leases, or the table." in ran.err
    assert item(tables, SHARDS[0])["checkpoint"] == {"S": NUMBER}


def test_the_time_of_another_stream(
    kinesis: CommandLine, emulator: Emulator, tables: DynamoDb, create: Create
) -> None:
    """A table of one stream does not name it. If its positions are none of --stream, nothing is changed."""
    mine, other = create(1), create(1)
    number = emulator.put(mine, b"mine", arrived_s=time.time() - 3600).sequence_number
    found = emulator.put(mine, b"found", arrived_s=time.time() - 1800).sequence_number
    emulator.put(other, b"other", arrived_s=time.time() - 1800)
    tables.create_table(leaseKey="HASH")
    tables.put_item(kcl_lease(SHARDS[0], number))
    reset = ("leases", tables.table, "--reset=all=10m", "--yes", AT_ONCE, "--stream")
    ran = kinesis(*reset, other, status=1)
    assert (
        f"Kinesis refuses the position of shard {SHARDS[0]} in stream {other}: it is none of that stream. "
        "Check --stream. ("
    ) in ran.err
    assert item(tables, SHARDS[0])["checkpoint"] == {"S": number}
    kinesis(*reset, mine)
    assert item(tables, SHARDS[0])["checkpoint"] == {"S": found}
