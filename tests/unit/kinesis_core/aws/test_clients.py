"""Clients: which streams and options share one, and which errors opening and calling raise."""

from __future__ import annotations

import os
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kinesis_core.aws import (
    Connection,
    FanOutTransport,
    RetryPolicy,
    StreamRef,
    WireFormat,
    make_client,
    stream_client,
    subscription_client,
)
from kinesis_core.aws.transport import check_http2
from kinesis_core.batch import MERGED_RANGES
from kinesis_core.errors import OptionError, UnavailableError
from kinesis_core.stream import _THREADS
from kinesis_credentials import (
    AssumeRole,
    CredentialsError,
    DefaultChain,
    KinesisError,
    SourceFailedError,
    StaticKeys,
    cached_session,
    forget_sessions,
)
from support.ports import refusing_port

KEYS = StaticKeys("AKIAEXAMPLE", "do-not-tell")
ORDERS = StreamRef("orders")


def connection(port: int = 9, **more: Any) -> Connection:
    return Connection((ORDERS,), "us-east-1", f"http://127.0.0.1:{port}", **{"credentials": KEYS, **more})


def test_opening_a_stream_again_returns_the_same_api() -> None:
    """The same stream with the same options is opened once. Other streams share its client and connections."""
    opened = stream_client(connection(), ORDERS)
    assert stream_client(pickle.loads(pickle.dumps(connection())), StreamRef("orders")) is opened  # noqa: S301 # our own
    other = stream_client(connection(), StreamRef("returns"))
    assert other is not opened
    assert other.client is opened.client
    assert stream_client(connection(port=10), ORDERS).client is not opened.client


def test_many_streams_are_opened_once() -> None:
    """A process that goes through 200 streams in turns opens each of them once."""
    streams = [StreamRef(f"stream-{number}") for number in range(200)]
    opened = [stream_client(connection(), stream) for stream in streams]
    assert all(
        stream_client(connection(), stream) is api for stream, api in zip(streams, opened, strict=True)
    )


def test_sessions_and_clients_are_shared() -> None:
    """A process has one session per credentials, region and proxy, and one client per region called."""
    first = connection()
    sessions = {
        id(cached_session(made.credentials, made.region, made.proxy_url))
        for made in (first, connection(retry=RetryPolicy(1)), connection(stream_region="eu-west-1"))
    }
    assert len(sessions) == 1
    patient = stream_client(connection(retry=RetryPolicy(1)), ORDERS)
    assert patient.client is stream_client(first, ORDERS).client
    assert patient.policy != stream_client(first, ORDERS).policy
    in_cbor = stream_client(connection(wire_format=WireFormat.CBOR), ORDERS)
    assert in_cbor.client is not patient.client, "it parses errors otherwise"
    proxied = connection(proxy_url="http://127.0.0.1:8")
    assert id(cached_session(KEYS, proxied.region, proxied.proxy_url)) not in sessions
    ireland = StreamRef("orders", "arn:aws:kinesis:eu-west-1:123456789012:stream/orders")
    assert stream_client(first, ireland).client is not stream_client(first, ORDERS).client
    assert stream_client(first, ireland).client.meta.region_name == "eu-west-1"
    assert stream_client(connection(stream_region="eu-west-1"), ORDERS).client.meta.region_name == "eu-west-1"


def test_a_wrong_switch_fails_when_a_stream_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake in KINESIS_NATIVE is an error before anything is read, as of any option."""
    monkeypatch.setenv("KINESIS_NATIVE", "off")
    with pytest.raises(OptionError, match=r"KINESIS_NATIVE is 'off'. Use 0 or 1"):
        stream_client(connection(port=11), ORDERS)


def test_the_client_leaves_retries_to_us() -> None:
    """botocore makes one attempt, so each retry is counted and logged here, with the user's waits."""
    config = stream_client(connection(), ORDERS).client.meta.config
    assert config.retries["total_max_attempts"] == 1


def test_connections_are_kept() -> None:
    """Each thread of a merge has its connection, and so has each of the planner. What is above the limit is opened again for each call."""
    config = stream_client(connection(), ORDERS).client.meta.config
    assert config.max_pool_connections >= MERGED_RANGES + _THREADS


def test_an_endpoint_that_nobody_listens_at_is_unavailable() -> None:
    """A refused connection is an error of ours within the retries, and says what to check."""
    with refusing_port() as port:
        api = stream_client(connection(port, retry=RetryPolicy(1, 0.0)), ORDERS)
        with pytest.raises(UnavailableError, match=f"127.0.0.1:{port}.*Check endpoint_url.*stream=orders"):
            api.describe()


def test_without_credentials_nothing_is_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Opening a stream without credentials fails before any call."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    forget_sessions()
    with pytest.raises(CredentialsError):
        stream_client(connection(port=11, credentials=DefaultChain()), ORDERS)
    forget_sessions()


def test_other_keys_in_the_environment_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a notebook sets keys of another account, everything opened later uses them."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "do-not-tell")
    opened = []
    for key_id in ("AKIAFIRST", "AKIAFIRST", "AKIASECOND"):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key_id)
        by_chain = connection(credentials=DefaultChain())
        opened.append(stream_client(by_chain, ORDERS))
        clients = (
            opened[-1].client,
            subscription_client(by_chain, ORDERS, "arn", FanOutTransport.HTTP_2).client,
        )
        for client in clients:
            assert client._request_signer._credentials.access_key == key_id
        assert opened[-1].calls.credentials.access_key == key_id
    assert opened[0] is opened[1] is not opened[2]


def test_http2_has_a_client_of_its_own() -> None:
    """The polling client also makes subscriptions over HTTP/1.1. HTTP/2 has another client, opened once."""
    plain = subscription_client(connection(), ORDERS, "arn")
    over_http2 = [subscription_client(connection(), ORDERS, "arn", FanOutTransport.HTTP_2) for _ in range(2)]
    assert plain.client is stream_client(connection(), ORDERS).client
    assert plain.client is not over_http2[0].client
    assert over_http2[0].client is over_http2[1].client


@pytest.mark.parametrize("missing", ["httpx2", "h2"])
def test_a_missing_http2_package_is_reported(missing: str) -> None:
    """Without the extra, the error says what to install and where, or which option to leave unset."""
    with pytest.raises(OptionError, match=r"pip install 'kinesis-core\[http2\]'.*FanOutTransport.HTTP_1_1"):
        check_http2(lambda name: None if name == missing else "found")
    check_http2()


@pytest.mark.parametrize(
    ("region", "url", "message"),
    [
        ("us_east", None, "'us_east' is not an AWS region. Use a name such as eu-west-1."),
        (
            None,
            "localhost:4567",
            "'endpoint_url' is 'localhost:4567'. Use an http or https URL, such as http://127.0.0.1:4567.",
        ),
        (
            None,
            "http://127.0.0.1:port",
            "'endpoint_url' has a value that is not accepted, and not shown. Use an http or https URL, such as",
        ),
    ],
)
def test_botocores_refusals_are_errors_of_ours(region: str | None, url: str | None, message: str) -> None:
    """What botocore refuses when it makes a client is said in the reader's words, with what to set."""
    with pytest.raises(KinesisError) as refused:
        stream_client(Connection((ORDERS,), region or "us-east-1", url, credentials=KEYS), ORDERS)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("AWS_RETRY_MODE", "wild", '"mode": "wild" must be one of'),
        ("AWS_DEFAULTS_MODE", "wild", "invalid defaults mode: wild"),
        ("AWS_CONFIG_FILE", "[default]\nservices = local\n", '"local" services configuration does not exist'),
        ("AWS_CONFIG_FILE", "[default]\napi_versions = latest\n", "'str' object has no attribute 'get'"),
    ],
)
def test_values_that_botocore_refuses(
    name: str, value: str, reason: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A value in the AWS configuration that has nothing to do with Kinesis may keep botocore from making a client."""
    if name == "AWS_CONFIG_FILE":
        (tmp_path / "config").write_text(value)
        value = str(tmp_path / "config")
    monkeypatch.setenv(name, value)
    forget_sessions()  # the file of another test may have had this name
    with pytest.raises(SourceFailedError, match=f"^The AWS configuration cannot be used: .*{reason}"):
        make_client(Connection((ORDERS,), "us-east-1", credentials=KEYS), "kinesis")


def test_a_missing_bundle_of_certificates_for_http2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", "/missing.pem")
    with pytest.raises(OptionError, match=r"The certificates in /missing\.pem cannot be read: No such file"):
        subscription_client(connection(), ORDERS, "arn", FanOutTransport.HTTP_2)


def test_a_malformed_url_of_sts_is_an_error_of_ours() -> None:
    role = AssumeRole(KEYS, "arn:aws:iam::000000000000:role/reader", "tests", sts_endpoint_url="sts.local")
    with pytest.raises(
        SourceFailedError,
        match=r"reader be assumed: its URL is 'sts\.local'\. Use an http.*4567\. Is sts_end",
    ):
        stream_client(connection(credentials=role), ORDERS)


@pytest.mark.parametrize(
    "url",
    [
        "http://user:s3cr3t@127.0.0.1:4567",
        "http://user:s3cr3t/@127.0.0.1",
        "http://user:s3cr3t\u2100@127.0.0.1",  # urlsplit refuses such a host, and shows it
        "http://127.0.0.1:s3cr3t",
        "http://127.0.0.1/?token=s3cr3t",
        "s3cr3t@nowhere",
    ],
)
@pytest.mark.parametrize("service", ["kinesis", "dynamodb", "sts"])
@pytest.mark.parametrize("is_argument", [True, False], ids=["argument", "environment"])
def test_a_secret_in_a_url_is_refused_and_not_shown(
    service: str, url: str, is_argument: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise an error of botocore shows it as soon as the endpoint does not respond."""
    given = url if is_argument else None
    if given is None:
        monkeypatch.setenv(f"AWS_ENDPOINT_URL_{service.upper()}", url)
    role = AssumeRole(KEYS, "arn:aws:iam::000000000000:role/reader", "tests", sts_endpoint_url=given)
    make: dict[str, Callable[[], object]] = {
        "kinesis": lambda: stream_client(evolve(connection(), endpoint_url=given), ORDERS),
        "dynamodb": lambda: make_client(connection(), "dynamodb", given),
        "sts": lambda: stream_client(connection(credentials=role), ORDERS),
    }
    with pytest.raises(KinesisError) as refused:
        make[service]()
    assert "s3cr3t" not in "".join(traceback.format_exception(refused.value))
    assert "Use an http or https URL" in str(refused.value)
