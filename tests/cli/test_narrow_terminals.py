"""On a terminal that is too narrow, what people copy stays whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

from kinesis_emulator import Emulator
from support.command_line import CommandLine
from support.lease_tables import DynamoDb, dynamodb, kcl_lease
from support.lineages import name

pytestmark = pytest.mark.everything
OWNER = "worker-1.orders.a-long-name.internal.example"
CONSUMER = "a-consumer-with-a-name-that-is-long"


@pytest.fixture
def tables() -> Iterator[DynamoDb]:
    with dynamodb() as running:
        running.create_table(leaseKey="HASH")
        yield running


SHARDS = {name(0), name(1), "RECORDS/S", "BYTES/S", "LOAD"}


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_no_word_is_cut(
    kinesis: CommandLine,
    emulator: Emulator,
    create: Callable[[int], str],
    tables: DynamoDb,
    columns: int,
) -> None:
    """Ids, names, positions and headings of all tables are whole. The bars of shards go first."""
    stream, table = create(2), tables.table
    number = str(emulator.put(stream, b"x", "k", 0).sequence_number)
    tables.put_item(kcl_lease(name(0), number, leaseOwner={"S": OWNER}))
    arn = emulator.register_consumer(stream, CONSUMER).rpartition("/consumer/")[0]
    with_tables = kinesis.having({"AWS_ENDPOINT_URL_DYNAMODB": tables.endpoint_url})

    def words(*arguments: str) -> set[str]:
        shown = with_tables.on_terminal(*arguments, size=(columns, 24)).text
        assert "…" not in shown.replace(f"…{number[-12:]}", "")  # lag shortens numbers everywhere
        return set(re.sub(r"\x1b\[[0-9;]*m", "", shown).split())

    shards = words("shards", stream)
    assert {*SHARDS, arn, "STATE"} <= shards
    assert ("HASH" in shards) is (columns == 80)
    assert "HASH" in words("shards", stream, "--no-sample")
    assert words("advise", stream) >= SHARDS
    assert {CONSUMER, "STATUS", "CREATED", "AGE"} <= words("consumers", stream)
    assert {name(0), OWNER, number, "COUNTER", "PARENTS"} <= words("leases", table, "--watch-for", "0s")
    assert {name(0), OWNER, table, "lag", "state", "position", "progress"} <= words(
        "lag", stream, "--application", table
    )
