"""On a terminal that is too narrow, what people copy stays whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import boto3  # type: ignore[import-untyped]
import pytest
from attrs import frozen

from kinesis_emulator import Emulator
from kinesis_emulator.client_settings import environment
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


@frozen
class Narrow:
    """A terminal of so many columns, with a stream, a lease table and a consumer."""

    kinesis: CommandLine
    columns: int
    stream: str
    arn: str
    table: str
    number: str
    """The position in the lease of the first shard."""

    def words(self, *arguments: str) -> list[str]:
        """Return the words that a command shows. None of them is cut."""
        shown = self.kinesis.on_terminal(*arguments, size=(self.columns, 24)).text
        assert "…" not in shown.replace(f"…{self.number[-12:]}", "")  # lag shortens numbers everywhere
        return re.sub(r"\x1b\[[0-9;]*m", "", shown).split()


@pytest.fixture(params=[40, 60, 80])
def narrow(
    request: pytest.FixtureRequest,
    kinesis: CommandLine,
    emulator: Emulator,
    create: Callable[[int], str],
    tables: DynamoDb,
) -> Narrow:
    stream = create(2)
    number = str(emulator.put(stream, b"x", "k", 0).sequence_number)
    tables.put_item(kcl_lease(name(0), number, leaseOwner={"S": OWNER}))
    settings = environment(emulator.endpoint_url, "us-east-1")
    client = boto3.client(
        "kinesis",
        "us-east-1",
        endpoint_url=emulator.endpoint_url,
        aws_access_key_id=settings["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=settings["AWS_SECRET_ACCESS_KEY"],
    )
    arn = client.describe_stream_summary(StreamName=stream)["StreamDescriptionSummary"]["StreamARN"]
    client.register_stream_consumer(StreamARN=arn, ConsumerName=CONSUMER)
    with_tables = kinesis.having({"AWS_ENDPOINT_URL_DYNAMODB": tables.endpoint_url})
    return Narrow(with_tables, request.param, stream, arn, tables.table, number)


def test_shards(narrow: Narrow) -> None:
    """The bars go first."""
    words = narrow.words("shards", narrow.stream)
    assert {name(0), name(1), narrow.arn, "STATE", "RECORDS/S", "BYTES/S", "LOAD"} <= set(words)
    assert ("HASH" in words) is (narrow.columns == 80)
    assert "HASH" in narrow.words("shards", narrow.stream, "--no-sample")


def test_advise(narrow: Narrow) -> None:
    """Shards and keys are whole."""
    assert {name(0), name(1), "RECORDS/S", "BYTES/S", "LOAD"} <= set(narrow.words("advise", narrow.stream))


def test_consumers(narrow: Narrow) -> None:
    """Names are whole."""
    assert {CONSUMER, "STATUS", "CREATED", "AGE"} <= set(narrow.words("consumers", narrow.stream))


def test_leases(narrow: Narrow) -> None:
    """Owners and checkpoints are whole."""
    words = narrow.words("leases", narrow.table, "--watch-for", "0s")
    assert {name(0), OWNER, narrow.number, "COUNTER", "PARENTS"} <= set(words)


def test_lag(narrow: Narrow) -> None:
    """Readers and owners are whole."""
    words = narrow.words("lag", narrow.stream, "--application", narrow.table)
    assert {name(0), OWNER, narrow.table, "lag", "state", "position", "progress"} <= set(words)
