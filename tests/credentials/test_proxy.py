"""Calls through a proxy: which ones, with which user, and without showing the password."""

from __future__ import annotations

import base64
import logging
import traceback
from collections.abc import Iterator

import pytest

from kinesis_core.aws import Connection, stream_client
from kinesis_core.errors import UnavailableError
from kinesis_core.model import TrimHorizon
from kinesis_core.options import COMMON_OPTIONS, OptionTable, read_connection
from kinesis_emulator import Emulator
from support.key_services import KeyServices
from support.recording_proxy import RecordingProxy

TABLE = OptionTable(COMMON_OPTIONS)
LOGIN = "Basic " + base64.b64encode(b"clerk:s3cr3t/w0rd").decode()


@pytest.fixture
def proxy() -> Iterator[RecordingProxy]:
    with RecordingProxy() as running:
        yield running


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    with Emulator() as running:
        running.create_stream("orders")
        yield running


def connect(proxy_port: int, **given: str) -> Connection:
    keys = {"awsAccessKeyId": "AKIAEXAMPLE", "awsSecretKey": "secret", "maxRetries": "0"}
    proxy = {"proxyUrl": f"http://clerk:s3cr3t%2Fw0rd@127.0.0.1:{proxy_port}"}
    where = {"streamName": "orders", "region": "us-east-1"}
    return read_connection(TABLE.read({**keys, **proxy, **where, **given}))


def test_kinesis_and_sts(proxy: RecordingProxy, emulator: Emulator, services: KeyServices) -> None:
    """Calls to Kinesis and STS go through the proxy, with its user and password."""
    services.name_key = lambda _: "ASIASESSION"
    role = {"stsRoleArn": "arn:aws:iam::210987654321:role/reader", "stsSessionName": "tests"}
    connection = connect(proxy.port, endpointUrl=emulator.endpoint_url, **role, stsEndpointUrl=services.url)
    assert stream_client(connection, connection.streams[0]).describe().name == "orders"
    assert [(asked.method, asked.target) for asked in proxy.asked] == [
        ("POST", f"{services.url}/"),
        ("POST", f"{emulator.endpoint_url}/"),
    ]
    assert {asked.authorization for asked in proxy.asked} == {LOGIN}


def test_repeated_calls(proxy: RecordingProxy, emulator: Emulator) -> None:
    """Calls that bypass botocore's client go through the proxy too, with user and password."""
    connection = connect(proxy.port, endpointUrl=emulator.endpoint_url)
    api = stream_client(connection, connection.streams[0])
    for _ in range(3):
        api.get_iterator("shardId-000000000000", TrimHorizon())
    passed = [(asked.target, asked.authorization) for asked in proxy.asked]
    assert passed == [(f"{emulator.endpoint_url}/", LOGIN)] * 3


def test_https(proxy: RecordingProxy, caplog: pytest.LogCaptureFixture) -> None:
    """Calls to AWS open a tunnel through the proxy. A refused tunnel is an error without the password."""
    connection = connect(proxy.port)
    with caplog.at_level(logging.DEBUG), pytest.raises(UnavailableError) as caught:
        stream_client(connection, connection.streams[0]).describe()
    assert proxy.asked[0].method == "CONNECT"
    assert proxy.asked[0].target == "kinesis.us-east-1.amazonaws.com:443"
    assert proxy.asked[0].authorization == LOGIN
    shown = "".join(traceback.format_exception(caught.value)) + repr(connection) + caplog.text
    for secret in ("s3cr3t", LOGIN.removeprefix("Basic ")):
        assert secret not in shown


def test_no_proxy_there(proxy: RecordingProxy) -> None:
    """When the proxy does not respond, the error names the proxy, and not the password."""
    connection = connect(9, endpointUrl="http://127.0.0.1:8")
    with pytest.raises(UnavailableError, match="Check endpoint_url, region, network and proxy") as caught:
        stream_client(connection, connection.streams[0]).describe()
    assert "s3cr3t" not in "".join(traceback.format_exception(caught.value))
    assert proxy.asked == []
