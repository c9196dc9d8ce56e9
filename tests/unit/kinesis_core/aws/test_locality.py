"""A local Kinesis with DynamoDB at AWS: an error before the first call, unless somebody has said so."""

from __future__ import annotations

import pytest

from kinesis_core import OptionError
from kinesis_core.aws import Connection, tables_client
from kinesis_core.aws.clients import is_local
from kinesis_credentials import StaticKeys

KEYS = StaticKeys("AKIAEXAMPLE", "do-not-tell")
LOCAL, AT_AWS = "http://127.0.0.1:4567", "https://dynamodb.us-east-1.amazonaws.com"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_KINESIS", "AWS_ENDPOINT_URL_DYNAMODB"):
        monkeypatch.delenv(name, raising=False)


def url_of_tables(kinesis: str | None, given: str | None = None) -> str:
    connection = Connection((), "us-east-1", kinesis, KEYS)
    return str(tables_client(connection, given, 5).meta.endpoint_url)


@pytest.mark.parametrize(
    "url",
    [
        LOCAL,
        "http://localhost:4566",
        "https://[::1]:4567",
        "http://kinesis.localhost:4566",
        "http://emulator:4567",
        "http://host.docker.internal:4567",
    ],
)
def test_local_servers(url: str) -> None:
    """They are on this machine, or in a network of containers."""
    assert is_local(url)


@pytest.mark.parametrize(
    "url",
    ["https://kinesis.eu-west-1.amazonaws.com", "https://kinesis.example.com", "http://10.0.0.7:4567"],
)
def test_servers_elsewhere(url: str) -> None:
    """A server of a company is not local: it may well lead to AWS."""
    assert not is_local(url)


def test_a_local_kinesis_with_tables_at_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an error that names both URLs, and what to set, however the endpoint of Kinesis is given."""
    message = rf"Kinesis is at {LOCAL}, .* DynamoDB at {AT_AWS}\. Set AWS_ENDPOINT_URL_DYNAMODB \(or dynamodb_endpoint_url\)"
    with pytest.raises(OptionError, match=message):
        url_of_tables(LOCAL)
    monkeypatch.setenv("AWS_ENDPOINT_URL_KINESIS", LOCAL)
    with pytest.raises(OptionError, match=message):
        url_of_tables(None)


def test_tables_at_aws_that_are_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who gives the URL means it: a tunnel may lead to Kinesis. A Kinesis elsewhere says nothing of the tables."""
    assert url_of_tables(LOCAL, AT_AWS) == AT_AWS
    assert url_of_tables(None) == url_of_tables("https://kinesis.example.com") == AT_AWS
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", AT_AWS)
    assert url_of_tables(LOCAL) == AT_AWS


def test_both_are_local(monkeypatch: pytest.MonkeyPatch) -> None:
    """One variable may lead to both, or one for each."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", LOCAL)
    assert url_of_tables(None) == LOCAL
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:8000")
    assert url_of_tables(None) == "http://127.0.0.1:8000"
