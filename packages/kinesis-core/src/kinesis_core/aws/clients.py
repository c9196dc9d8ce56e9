"""Makes clients of AWS services. A process has one session and client for all that connects alike."""

from __future__ import annotations

import os
import platform
import random
import threading
from collections.abc import Mapping
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import botocore
import msgspec
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import BotoCoreError, InvalidRegionError
from botocore.session import Session

from kinesis_core.aws.calls import BotoCaller, read_text
from kinesis_core.aws.client import BotoStreamApi
from kinesis_core.aws.connection import Connection, StreamRef
from kinesis_core.aws.fast import FastPath, install_raw_bodies, install_raw_listing, install_whole_summary
from kinesis_core.aws.retry import RetryPolicy, log_retry
from kinesis_core.aws.transport import FanOutTransport, check_http2, choose_transport
from kinesis_core.aws.wire_choice import WireFormat
from kinesis_core.clock import SystemClock
from kinesis_core.errors import OptionError
from kinesis_core.native import check_switch
from kinesis_core.version import __version__
from kinesis_credentials import (
    Advice,
    RegionError,
    Setting,
    cached_session,
    ensure_credentials,
    get_credentials,
    renew_expired,
)
from kinesis_credentials.endpoints import BadUrlError, create_client, is_aws_endpoint
from kinesis_credentials.failures import unusable

if TYPE_CHECKING:
    from botocore.awsrequest import AWSResponse
    from botocore.model import OperationModel

    from kinesis_core.aws.subscriptions import BotoConsumerApi, BotoSubscribeApi

CONNECT_TIMEOUT_S = 5
READ_TIMEOUT_S = 30
"""Kinesis responds in milliseconds, but a page of 10 MiB over a slow line takes seconds."""
CONNECTIONS = 320
"""As many as planner and reader threads together may use, so that none opens and drops connections all the time."""
STREAMS = 1024
"""Clients that a process keeps: more streams than one task reads or writes. A new client makes its first calls again."""

_TABLES_URL = "AWS_ENDPOINT_URL_DYNAMODB"
_lock = threading.Lock()


def stream_client(connection: Connection, stream: StreamRef) -> BotoStreamApi:
    """
    Return this process's client of *stream*. A second call returns the same client, which is safe in threads.

    It makes no call to Kinesis, but it may fetch credentials from their source.

    Raises:
        CredentialsError: There are no credentials.
        OptionError: The connection uses CBOR, and its package is not installed, or KINESIS_NATIVE is neither 0 nor 1.
    """
    return _open(connection, stream, find_session(connection))


def find_session(connection: Connection) -> Session:
    """
    Return this process's session for *connection*. It is a new one after AWS_ variables of the environment have changed.

    Callers use it in the keys of their caches, because a new session may belong to another account.
    """
    return cached_session(connection.credentials, connection.region, connection.proxy_url)


@lru_cache(maxsize=STREAMS)
def _open(connection: Connection, stream: StreamRef, session: Session) -> BotoStreamApi:
    check_switch()  # not only when the first page comes
    client, credentials = _client(
        connection.endpoint_url, connection.region_of(stream), connection.wire_format, session
    )
    calls = FastPath(client, credentials, choose_transport(connection.transport), connection.wire_format)
    return BotoStreamApi(client, stream.name, stream.arn, connection.retry, SystemClock(), _new_rng(), calls)


@lru_cache(maxsize=16)
def _client(
    endpoint_url: str | None, region: str, wire_format: WireFormat, session: Session
) -> tuple[Any, Credentials]:
    """Return the client for all streams of a region, whatever the retries are: to make one takes 15 ms of CPU."""
    client, credentials = _make_client(session, "kinesis", endpoint_url, READ_TIMEOUT_S, region)
    install_raw_bodies(client, wire_format)
    install_raw_listing(client)
    install_whole_summary(client)
    return client, credentials


def make_client(
    connection: Connection,
    service: str,
    endpoint_url: str | None = None,
    read_timeout_s: float = READ_TIMEOUT_S,
    *,
    region: str | None = None,
) -> Any:
    """
    Return a new botocore client of *service* with the credentials of *connection*, by default in its region.

    It makes one attempt per call, and a second one with new credentials if AWS reports that the old ones have expired.

    Raises:
        CredentialsError: There are no credentials.
    """
    session = find_session(connection)
    return _make_client(session, service, endpoint_url, read_timeout_s, region or connection.region)[0]


def tables_client(
    connection: Connection, endpoint_url: str | None, read_timeout_s: float, *, region: str | None = None
) -> Any:
    """
    Return a new client of DynamoDB, as `make_client` does.

    Raises:
        CredentialsError: There are no credentials.
        OptionError: Kinesis is on this machine, but DynamoDB would be at AWS, and no setting says so. A local test would create a
            table in an account, or would wait for a missing network.
    """
    client = make_client(connection, "dynamodb", endpoint_url, read_timeout_s, region=region)
    is_chosen = endpoint_url is not None or os.environ.get(_TABLES_URL)
    if not is_chosen and is_aws_endpoint(client.meta.endpoint_url):
        kinesis_url = _kinesis_url(connection)
        if is_local(kinesis_url):
            raise OptionError(
                f"Kinesis is at {kinesis_url}, and the table would be in DynamoDB at {client.meta.endpoint_url}.",
                advice=Advice.CHOOSE_TABLES_ENDPOINT,
            )
    return client


def _kinesis_url(connection: Connection) -> str:
    session = find_session(connection)
    client, _ = _client(connection.endpoint_url, connection.region, connection.wire_format, session)
    return str(client.meta.endpoint_url)


ONE_ATTEMPT = RetryPolicy(max_retries=0)
"""For subscribing: `SubscriptionReader` retries by rules of its own."""


def subscription_client(
    connection: Connection,
    stream: StreamRef,
    consumer: str,
    transport: FanOutTransport = FanOutTransport.HTTP_1_1,
) -> BotoSubscribeApi:
    """
    Return this process's client for subscriptions of *consumer*, an ARN. It is safe in threads, and makes no call.

    Raises:
        CredentialsError: There are no credentials.
        OptionError: HTTP/2 is wanted, and its packages are not installed.
    """
    from kinesis_core.aws.subscriptions import BotoSubscribeApi, take_connection

    api = stream_client(connection, stream)
    client = api.client
    if transport is FanOutTransport.HTTP_2:
        client = _http2_client(connection, connection.region_of(stream), find_session(connection))
    take_connection(client)
    return BotoSubscribeApi(
        client, api.name, api.arn, ONE_ATTEMPT, api.clock, api.rng, consumer, budget=api.budget
    )


@lru_cache(maxsize=16)
def _http2_client(connection: Connection, region: str, session: Session) -> Any:
    """Return a separate client: others in this process may subscribe over HTTP/1.1."""
    check_http2()
    from kinesis_core.aws.http2 import use_http2  # an extra

    client = make_client(connection, "kinesis", connection.endpoint_url, region=region)
    use_http2(client, session.get_config_variable("ca_bundle"))
    return client


def consumer_client(connection: Connection, stream: StreamRef) -> BotoConsumerApi:
    """
    Return the client for the consumers of *stream*. It makes one DescribeStreamSummary if the ARN is unknown.

    Raises:
        CredentialsError: There are no credentials.
        ServiceError: The stream cannot be described.
    """
    from kinesis_core.aws.subscriptions import BotoConsumerApi

    api = stream_client(connection, stream)
    arn = api.arn or api.describe().arn
    return BotoConsumerApi(api.client, api.name, arn, api.policy, api.clock, api.rng, budget=api.budget)


def list_streams(connection: Connection, streams_a_page: int = 1000) -> list[str]:
    """
    Return the names of all streams in the region of *connection*, sorted. Limit: 5 calls/s per account.

    Raises:
        CredentialsError: There are no credentials.
        ServiceError: Kinesis cannot be reached, or access is denied.
    """

    def read(response: Mapping[str, Any]) -> tuple[list[str], bool]:
        found = [read_text({"StreamName": name}, "StreamName") for name in response["StreamNames"]]
        return found, bool(response["HasMoreStreams"])

    client = make_client(connection, "kinesis", connection.endpoint_url)
    lister = BotoCaller(client, "*", None, connection.retry, SystemClock(), _new_rng())
    names: list[str]
    names, has_more = lister.ask("ListStreams", read, Limit=streams_a_page)
    while has_more and names:
        after = names[-1]  # names come sorted
        more, has_more = lister.ask("ListStreams", read, Limit=streams_a_page, ExclusiveStartStreamName=after)
        names += more
    return names


def _make_client(
    session: Session, service: str, endpoint_url: str | None, read_timeout_s: float, region: str
) -> tuple[Any, Credentials]:
    """Return a new client and the credentials that it signs with."""
    ensure_credentials(session)
    config = Config(
        connect_timeout=CONNECT_TIMEOUT_S,
        read_timeout=read_timeout_s,
        retries={"total_max_attempts": 1},  # retries are ours, with the user's options and one log line each
        max_pool_connections=CONNECTIONS,
        tcp_keepalive=True,
        user_agent=_user_agent(),
    )
    try:
        with _lock:  # a botocore session makes clients in one thread at a time
            client = create_client(session, service, endpoint_url, region_name=region, config=config)
    except InvalidRegionError:
        raise RegionError(
            f"'{region}' is not an AWS region.", advice="Use a name such as eu-west-1."
        ) from None
    except BadUrlError as error:
        setting = Setting.ENDPOINT if service == "kinesis" else Setting.TABLES_ENDPOINT
        raise OptionError(str(error), about=setting) from None
    except (BotoCoreError, ValueError, AttributeError) as error:
        # An AttributeError comes of a text in place of a section.
        raise unusable(error) from None
    if client.meta.service_model.metadata["protocol"] == "json":  # that of STS is XML
        client.meta.events.register("after-call", _verify_empty_result)
    credentials = get_credentials(session)
    renew_expired(client, credentials, _log_renewal)
    return client, credentials


def _verify_empty_result(
    http_response: AWSResponse, parsed: Mapping[str, Any], model: OperationModel, **_: Any
) -> None:
    """
    Verify that a response without members has none in its body either.

    botocore takes any body for the result of a PutItem or a DeregisterStreamConsumer, such as a proxy's page. So the call would seem to be
    done. Only DynamoDB's empty result has a body: `{}`.

    Raises:
        msgspec.DecodeError: The body is no object of JSON.
    """
    if parsed.keys() == {"ResponseMetadata"} and (
        http_response.content or model.service_model.service_name == "dynamodb"
    ):
        msgspec.json.decode(http_response.content, type=dict)


def _new_rng() -> random.Random:
    return random.Random()  # noqa: S311 # jitter, not a secret


def _log_renewal(action: str, code: str, attempt: int) -> None:
    log_retry(action, code, attempt, 0.0)


@lru_cache(maxsize=1)
def _user_agent() -> str:
    """Return the user agent. botocore builds its own twice per call, which takes a tenth of the call's time."""
    python = platform.python_version()
    return f"kinesis-core/{__version__} Botocore/{botocore.__version__} Python/{python} {platform.system()}"


_HERE = ("localhost", "host.docker.internal")


def is_local(url: str) -> bool:
    """Return whether *url* is that of a local server: on this machine, or in a network of containers, whose names have no dot."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host in _HERE or host.endswith(".localhost") or "." not in host
