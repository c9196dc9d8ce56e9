"""The hosts on the page about accounts and networks are those that calls go to. No call is sent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kinesis_core.aws import Connection, StreamRef
from kinesis_credentials import StaticKeys, find_arn_region
from support.resolved import calls_on, host_of, without_settings

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "accounts-and-networks.md"
KEYS = StaticKeys("AKIAEXAMPLE", "do-not-tell")
SETTINGS = (None, "AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT")
DATA = {"GetShardIterator", "GetRecords", "PutRecords"}


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from without_settings(monkeypatch)


def table(heading: str) -> list[list[str]]:
    """Return the rows of the first table under *heading*, without its head."""
    _, _, text = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    lines = text.partition("\n## ")[0].splitlines()
    rows = [line for line in lines if line.startswith("|")][2:]
    return [[cell.strip().strip("`") for cell in row.strip("|").split("|")] for row in rows]


@pytest.mark.parametrize("column", range(3))
def test_hosts(column: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of hosts has the host of each service, without settings, with FIPS and with dual-stack."""
    if SETTINGS[column]:
        monkeypatch.setenv(str(SETTINGS[column]), "true")
    region, arn = "eu-west-1", "arn:aws:kinesis:eu-west-1:111111111111:stream/orders"
    connection = Connection((), region, credentials=KEYS)
    by_arn = calls_on(connection, StreamRef.parse(arn))
    groups = [
        {call.host for call in calls_on(connection, StreamRef("orders"))},
        {call.host for call in by_arn if call.action in DATA},
        {call.host for call in by_arn if call.action not in DATA},
        {host_of(connection, "sts")},
        {host_of(connection, "dynamodb")},
    ]
    assert [{row[1 + column]} for row in table("Hosts")] == groups


def test_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of partitions has the region, the ARN and the hosts of each."""
    for _, region, arn, host, dual_stack_host in table("Other partitions"):
        assert find_arn_region(arn) == region
        for setting, expected in (("false", host), ("true", dual_stack_host)):
            monkeypatch.setenv("AWS_USE_DUALSTACK_ENDPOINT", setting)
            calls = calls_on(Connection((), region, credentials=KEYS), StreamRef("orders"))
            assert {(call.host, call.region) for call in calls} == {(expected, region)}


@pytest.mark.parametrize(
    ("service", "host"),
    [("kinesis", "kinesis.us-gov-west-1.amazonaws.com"), ("sts", "sts.us-gov-west-1.amazonaws.com")],
)
def test_fips_in_gov_cloud(service: str, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In GovCloud, FIPS does not change the hosts of Kinesis by name and of STS."""
    monkeypatch.setenv("AWS_USE_FIPS_ENDPOINT", "true")
    connection = Connection((), "us-gov-west-1", credentials=KEYS)
    found = (
        {call.host for call in calls_on(connection, StreamRef("orders"))}
        if service == "kinesis"
        else {host_of(connection, service)}
    )
    assert found == {host}
    assert f"`{host}`" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("mode", ["preferred", "disabled"])
def test_the_account_of_the_keys(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`AWS_ACCOUNT_ID` puts the account into the hosts of a stream by name, unless its mode is `disabled`."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "do-not-tell")
    monkeypatch.setenv("AWS_ACCOUNT_ID", "222222222222")
    monkeypatch.setenv("AWS_ACCOUNT_ID_ENDPOINT_MODE", mode)
    calls = calls_on(Connection((), "eu-west-1"), StreamRef("orders"))
    has_account = {call.host.startswith("222222222222.") for call in calls}
    assert has_account == {mode == "preferred"}
